"""Sinks into Iceberg: the engine dies around a commit, and every change is in the table exactly once.

MODE APPEND keeps every change with its tick, so a table tells as much as a topic.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

from faults.pipeline import KEYS, Pipeline
from faults.test_zombies import REFUSAL
from tailrace.testing.broker import Broker
from tailrace.testing.crash import CRASH_POINTS
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.iceberg_rest import IcebergRest
from tailrace.testing.topics import Message

AT = "iceberg.written_not_committed:2"  # its files are written, and not committed

POINTS = [point for point in CRASH_POINTS if point.startswith("iceberg.")]
TURNS = {"iceberg.progress_read": 1}
_STATEMENTS = """
CREATE CONNECTION IF NOT EXISTS lake TO ICEBERG CATALOG (CATALOG TYPE 'rest', URL '{url}');
CREATE SINK IF NOT EXISTS {name}_out FROM {name} INTO ICEBERG CATALOG CONNECTION lake (NAMESPACE 'n', TABLE '{table}')
MODE APPEND WITH (COMMIT INTERVAL '1s')
"""


@dataclass(frozen=True, slots=True)
class Lake:
    """One sink into a table of its own."""

    server: IcebergRest
    name: str
    table: str = field(default_factory=lambda: f"t{uuid.uuid4().hex[:8]}")

    def __post_init__(self) -> None:
        self.server.catalog.create_namespace_if_not_exists("n")

    @property
    def names(self) -> list[str]:
        return [self.name]

    def statements(self) -> list[str]:
        return _STATEMENTS.format(url=self.server.url, name=self.name, table=self.table).split(";")

    def told(self, name: str) -> list[Message]:
        """Of each key and tick, the row that came, or that one left."""
        rows = self.server.catalog.load_table(f"n.{self.table}").scan().to_arrow().to_pylist()
        told: dict[tuple[int, str], list[dict[str, Any]]] = {}
        for row in rows:
            told.setdefault((row["_mz_timestamp"], json.dumps({KEYS[name]: row[KEYS[name]]})), []).append(row)
        return [
            Message(
                partition=0,
                offset=0,
                key=key.encode(),
                value=_value(changes),
                headers={"materialize-timestamp": str(tick).encode()},
                timestamp=0,
            )
            for (tick, key), changes in sorted(told.items(), key=lambda each: each[0])
        ]


def _value(changes: list[dict[str, Any]]) -> bytes | None:
    came = [row for row in changes if row["_mz_diff"] > 0]
    assert len(came) <= 1
    assert len(changes) - len(came) <= 1
    assert all(abs(row["_mz_diff"]) == 1 for row in changes)
    values = [{name: row[name] for name in row if not name.startswith("_mz_")} for row in came]
    return json.dumps(values[0]).encode() if values else None


class LakeFactory(Protocol):
    def __call__(self, server: IcebergRest | None = None) -> Pipeline: ...


@pytest.fixture
def lake(tmp_path: Path, broker: Broker, iceberg_rest: IcebergRest, topic: TopicFactory) -> Iterator[LakeFactory]:
    with ExitStack() as running:

        def make(server: IcebergRest | None = None) -> Pipeline:
            topics = {"orders": topic("orders", partitions=2)}
            outlet = Lake(server or iceberg_rest, "prices")
            return running.enter_context(Pipeline(tmp_path, broker.bootstrap, topics, outlet=outlet))

        yield make


@pytest.mark.parametrize("point", POINTS)
def test_a_table_holds_every_change_once_after_dying_at(point: str, lake: LakeFactory) -> None:
    die_and_recover(lake(), f"{point}:{TURNS.get(point, 3)}")


def die_and_recover(pipeline: Pipeline, point: str) -> None:
    pipeline.run_until_killed_at(point)
    pipeline.run_until_caught_up()
    pipeline.check(fused=True)


def test_sinks_go_on_when_the_catalog_was_killed(lake: LakeFactory) -> None:
    with IcebergRest() as server:
        pipeline = lake(server)
        pipeline.start()
        pipeline.run_for(ticks=3)
        server.kill()
        pipeline.run_for(ticks=2)
        server.start()
        pipeline.run_until_caught_up()
        pipeline.check(fused=True)


def test_a_zombie_cannot_commit_what_it_has_written(lake: LakeFactory) -> None:
    zombie = lake()
    with zombie.outlived(AT, 6) as successor:
        zombie.wait_until_refused(REFUSAL)
        successor.run_until_caught_up()
        successor.check(fused=True)


def test_without_the_condition_it_can(lake: LakeFactory) -> None:
    zombie, off = lake(), {"TAILRACE_TEST_DEFENCES": "-conditional_commit"}
    with zombie.outlived(AT, 6, **off) as successor:
        zombie.run_until_told()
        zombie.engine.kill()
        successor.run_until_caught_up(**off)
        with pytest.raises(AssertionError):
            successor.check(fused=True)
