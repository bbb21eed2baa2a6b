"""An engine of one's own for each test module: in this process, on an empty directory, with an idle loop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.server.listener import Server
from tailrace.ticks.loop import Pace


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02)) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(engine: Engine) -> Iterator[Server]:
    listening = Server(host="127.0.0.1", port=0, open_session=engine.open_session)
    listening.start()
    yield listening
    listening.stop(5.0)
