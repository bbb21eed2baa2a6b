"""Every test here runs real engines against a real broker, and kills them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from faults.pipeline import SINKS, Pipeline
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory

# What `make test` runs; `make faults` runs all of them, which takes most of half an hour on two cores.
_QUICK = ("dying_at[tick.after_log]", "directory_that_is_in_use", "dying_at[postgres.committed_not_seen]")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.faults)
            if not any(part in item.name for part in _QUICK):
                item.add_marker(pytest.mark.slow)


class PipelineFactory(Protocol):
    """Makes a pipeline with topics and a data directory of its own."""

    def __call__(self, *options: str, sinks: tuple[str, ...] = SINKS, apart: bool = False) -> Pipeline: ...


@pytest.fixture
def pipelines(tmp_path: Path, broker: Broker, topic: TopicFactory) -> Iterator[PipelineFactory]:
    with ExitStack() as running:

        def make(*options: str, sinks: tuple[str, ...] = SINKS, apart: bool = False) -> Pipeline:
            topics = {name: topic(name, partitions=2) for name in ("orders", *sinks)}
            return running.enter_context(Pipeline(tmp_path, broker.bootstrap, topics, *options, apart=apart))

        yield make
