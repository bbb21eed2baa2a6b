"""Flink tables for tests: options filled in for the test broker, rows as plain Python."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tailrace.engine.engine import Engine
from tailrace.testing.broker import Broker
from tailrace.testing.topics import produce

Rows = list[tuple[Any, ...]]


def options(broker: Broker, topic: str | None = None, **more: str) -> str:
    """`WITH (…)`: names with `_` for `.` would be ambiguous, so they come as in Flink, e.g. `**{"scan.…": "…"}`."""
    pairs = {"connector": "kafka", "properties.bootstrap.servers": broker.bootstrap}
    pairs |= {} if topic is None else {"topic": topic}
    pairs |= {"scan.startup.mode": "earliest-offset"} if more.get("connector", "kafka") == "kafka" else {}
    return "WITH (" + ", ".join(f"'{name}' = '{value}'" for name, value in (pairs | more).items()) + ")"


def rows(engine: Engine, query: str) -> Rows:
    """What a query answers, sorted."""
    table = engine.sql(query)
    assert table is not None
    return sorted((tuple(map(_plain, row.values())) for row in table.to_pylist()), key=repr)


def send(broker: Broker, topic: str, *values: Any, keys: Sequence[Any] = (), partition: int | None = None) -> None:
    """Messages as JSON, or as they are if they are bytes or None."""
    pairs = [(_bytes(keys[i]) if keys else None, _bytes(value), {}, partition) for i, value in enumerate(values)]
    produce(broker.bootstrap, topic, pairs if partition is not None else [pair[:2] for pair in pairs])


def _bytes(value: Any) -> bytes | None:
    return value if value is None or isinstance(value, bytes) else json.dumps(value).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(_plain(each) for each in value.values())
    return [_plain(each) for each in value] if isinstance(value, list) else value
