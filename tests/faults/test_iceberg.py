"""Sinks into Iceberg: the engine dies around a commit, and every change is in the table exactly once.

MODE APPEND keeps every change with its tick, so a table tells as much as a topic.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from faults.pipeline import KEYS, Pipeline
from tailrace.testing.broker import Broker
from tailrace.testing.crash import CRASH_POINTS
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.topics import Message

POINTS = [point for point in CRASH_POINTS if point.startswith("iceberg.")]
TURNS = {"iceberg.progress_read": 1}
_STATEMENTS = """
CREATE CONNECTION IF NOT EXISTS lake TO ICEBERG CATALOG (CATALOG TYPE 'sql', URL '{url}', WAREHOUSE '{warehouse}');
CREATE SINK IF NOT EXISTS {name}_out FROM {name} INTO ICEBERG CATALOG CONNECTION lake (NAMESPACE 'n', TABLE '{name}')
MODE APPEND WITH (COMMIT INTERVAL '1s')
"""


@dataclass(frozen=True, slots=True)
class Lake:
    """One sink into a catalog in SQLite."""

    directory: Path
    name: str

    def __post_init__(self) -> None:
        (self.directory / "warehouse").mkdir(parents=True)
        self._catalog().create_namespace("n")

    @property
    def names(self) -> list[str]:
        return [self.name]

    def _catalog(self) -> SqlCatalog:
        return SqlCatalog("default", uri=self._url, warehouse=self._warehouse)

    @property
    def _url(self) -> str:
        return f"sqlite:///{self.directory}/catalog.db"

    @property
    def _warehouse(self) -> str:
        return f"file://{self.directory}/warehouse"

    def statements(self) -> list[str]:
        return _STATEMENTS.format(url=self._url, warehouse=self._warehouse, name=self.name).split(";")

    def told(self, name: str) -> list[Message]:
        """Of each key and tick, the row that came, or that one left."""
        rows = self._catalog().load_table(f"n.{name}").scan().to_arrow().to_pylist()
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


@pytest.fixture
def lake(tmp_path: Path, broker: Broker, topic: TopicFactory) -> Iterator[Pipeline]:
    with ExitStack() as running:
        topics = {"orders": topic("orders", partitions=2)}
        outlet = Lake(tmp_path / "lake", "prices")
        yield running.enter_context(Pipeline(tmp_path, broker.bootstrap, topics, outlet=outlet))


@pytest.mark.parametrize("point", POINTS)
def test_a_table_holds_every_change_once_after_dying_at(point: str, lake: Pipeline) -> None:
    lake.run_until_killed_at(f"{point}:{TURNS.get(point, 3)}")
    lake.run_until_caught_up()
    lake.check(fused=True)
