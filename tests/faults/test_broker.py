"""The broker goes away and comes back: the engine waits, and goes on by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.input import Orders
from faults.pipeline import SINKS, Pipeline
from tailrace.testing.broker import Broker
from tailrace.testing.topics import create_topic


@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
def test_sinks_go_on_when_the_broker_has_been(killed: bool, tmp_path: Path) -> None:
    with Broker() as broker:
        topics = {name: create_topic(broker.bootstrap, name, partitions=2) for name in ("orders", *SINKS)}
        orders = Orders(broker.bootstrap, topics["orders"], in_transactions=False)
        with Pipeline(tmp_path, broker.bootstrap, topics, orders=orders) as pipeline:
            pipeline.start()
            pipeline.run_for(ticks=3)
            if killed:
                broker.kill()
                broker.start()
            else:
                broker.restart()
            pipeline.run_until_caught_up()
            pipeline.check(fused=True)
