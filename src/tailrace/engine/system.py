"""System tables: the catalog, statuses and statistics as relations one can SELECT from.

Each is a name, its columns, and a function from the engine to rows; one entry here is all that a new one needs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tailrace.catalog.items import DEFAULT_DATABASE, FullName, Item
from tailrace.errors import SqlError
from tailrace.ivm.views import arrow_schema
from tailrace.plan.nodes import Scan
from tailrace.types.core import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    JSONB,
    MZ_TIMESTAMP,
    TEXT,
    TIMESTAMPTZ,
    ArrayOf,
    Column,
    SqlType,
)
from tailrace.types.spark import ddl

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine

Rows = Iterable[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class SystemTable:
    schema: str
    name: str
    columns: tuple[tuple[str, SqlType], ...]
    rows: Callable[[Engine], Rows]

    @property
    def spark_ddl(self) -> str:
        return ddl(tuple(Column(name, type) for name, type in self.columns))


def items() -> list[Item]:
    """System tables as catalog items, with ids s1, s2 …"""
    return [
        Item(
            id=f"s{number}",
            kind="system table",
            name=FullName(DEFAULT_DATABASE, table.schema, table.name),
            statement=None,
            create_sql="",
            schema=tuple(Column(name, type) for name, type in table.columns),
        )
        for number, table in enumerate(TABLES, start=1)
    ]


def view_of(engine: Engine, scan: Scan) -> str:
    """The rows of a system table right now, as a temporary view.  No Spark job."""
    table = TABLES[int(scan.relation[1:]) - 1]
    schema = arrow_schema(table.spark_ddl)
    columns = list(zip(*table.rows(engine), strict=True)) or [()] * len(table.columns)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return engine.views.add_arrow(pa.Table.from_arrays(arrays, schema=schema), table.spark_ddl)


def _items(*kinds: str) -> Callable[[Engine], list[Item]]:
    return lambda engine: list(engine.catalog.of_kind(*kinds))


_DATABASE_OBJECTS = ("table", "source", "view", "materialized view", "sink", "connection", "secret")
_SCHEMA_ID = "u1"


def _objects(engine: Engine) -> Rows:
    for item in engine.catalog.of_kind(*_DATABASE_OBJECTS):
        yield item.id, 20000 + item.number, _SCHEMA_ID, item.name.item, item.kind.replace(" ", "-"), item.cluster


def _columns(engine: Engine) -> Rows:
    for item in engine.catalog.of_kind("table", "source", "view", "materialized view"):
        for position, column in enumerate(item.schema or (), start=1):
            yield item.id, column.name, position, column.nullable, str(column.type)


def _named(*kinds: str) -> Callable[[Engine], Rows]:
    def rows(engine: Engine) -> Rows:
        for item in engine.catalog.of_kind(*kinds):
            yield item.id, 20000 + item.number, _SCHEMA_ID, item.name.item, item.cluster, item.create_sql

    return rows


def _connections(engine: Engine) -> Rows:
    for item in engine.catalog.of_kind("connection"):
        kind = item.statement.type.name.lower().replace(" ", "-")
        yield item.id, 20000 + item.number, _SCHEMA_ID, item.name.item, kind, item.create_sql


def _kafka_connections(engine: Engine) -> Rows:
    for item in engine.catalog.of_kind("connection"):
        details = item.statement.details
        if item.statement.type.name == "KAFKA":
            topic = details.progress_topic or f"_materialize-progress-{engine.region}-{item.id}"
            yield item.id, [broker.address for broker in details.brokers], topic


def _secrets(engine: Engine) -> Rows:
    for item in engine.catalog.of_kind("secret"):
        yield item.id, 20000 + item.number, _SCHEMA_ID, item.name.item


def _kafka_sinks(engine: Engine) -> Rows:
    for item in engine.catalog.of_kind("sink"):
        yield item.id, item.statement.target.topic


def _kafka_sources(engine: Engine) -> Rows:
    for item in engine.catalog.of_kind("source"):
        if "dead_letters_of" not in item.facts:
            yield item.id, item.statement.origin.topic


def _statuses(*kinds: str) -> Callable[[Engine], Rows]:
    def rows(engine: Engine) -> Rows:
        for item in engine.catalog.of_kind(*kinds):
            if "dead_letters_of" in item.facts:
                continue
            status = engine.statuses.of(item.id)
            details = None if status.hint is None else json.dumps({"hints": [status.hint]})
            changed = datetime.fromtimestamp(status.changed_at, UTC) if status.changed_at else None
            yield item.id, item.name.item, item.kind, changed, status.status, status.error, details, status.error

    return rows


def _history(engine: Engine) -> Rows:
    for id, status in engine.statuses.history():
        yield datetime.fromtimestamp(status.changed_at, UTC), id, status.status, status.error


def _sink_statistics(engine: Engine) -> Rows:
    for delivery in list(engine.cluster.deliveries.values()):
        counts = delivery.counts
        if delivery.id.startswith("u"):
            yield delivery.id, counts.messages, counts.messages, counts.bytes, counts.bytes


def _frontiers(engine: Engine) -> Rows:
    cluster = engine.cluster
    for view in list(cluster.maintained.values()):
        yield view.id, view.frontier
    for delivery in list(cluster.deliveries.values()):
        yield delivery.id, delivery.frontier


def _ticks(engine: Engine) -> Rows:
    for effort in list(engine.cluster.efforts):
        yield effort.tick, effort.jobs, effort.seconds


_ITEM = (("id", TEXT), ("oid", BIGINT), ("schema_id", TEXT), ("name", TEXT))
_STATUS = (
    *(("id", TEXT), ("name", TEXT), ("type", TEXT), ("last_status_change_at", TIMESTAMPTZ)),
    *(("status", TEXT), ("error", TEXT), ("details", JSONB), ("reason", TEXT)),
)
_WITH_SQL = (*_ITEM, ("cluster", TEXT), ("create_sql", TEXT))

TABLES: tuple[SystemTable, ...] = (
    SystemTable("mz_catalog", "mz_objects", (*_ITEM, ("type", TEXT), ("cluster", TEXT)), _objects),
    SystemTable(
        "mz_catalog",
        "mz_columns",
        (("id", TEXT), ("name", TEXT), ("position", BIGINT), ("nullable", BOOLEAN), ("type", TEXT)),
        _columns,
    ),
    SystemTable("mz_catalog", "mz_tables", _WITH_SQL, _named("table")),
    SystemTable("mz_catalog", "mz_views", _WITH_SQL, _named("view")),
    SystemTable("mz_catalog", "mz_materialized_views", _WITH_SQL, _named("materialized view")),
    SystemTable("mz_catalog", "mz_sources", _WITH_SQL, _named("source")),
    SystemTable("mz_catalog", "mz_sinks", _WITH_SQL, _named("sink")),
    SystemTable("mz_catalog", "mz_connections", (*_ITEM, ("type", TEXT), ("create_sql", TEXT)), _connections),
    SystemTable(
        "mz_catalog",
        "mz_kafka_connections",
        (("id", TEXT), ("brokers", ArrayOf(TEXT)), ("sink_progress_topic", TEXT)),
        _kafka_connections,
    ),
    SystemTable("mz_catalog", "mz_secrets", _ITEM, _secrets),
    SystemTable("mz_catalog", "mz_kafka_sinks", (("id", TEXT), ("topic", TEXT)), _kafka_sinks),
    SystemTable("mz_catalog", "mz_kafka_sources", (("id", TEXT), ("topic", TEXT)), _kafka_sources),
    SystemTable("mz_internal", "mz_sink_statuses", _STATUS, _statuses("sink")),
    SystemTable("mz_internal", "mz_source_statuses", _STATUS, _statuses("source")),
    SystemTable("mz_internal", "mz_materialized_view_statuses", _STATUS, _statuses("materialized view")),
    SystemTable(
        "mz_internal",
        "mz_status_history",
        (("occurred_at", TIMESTAMPTZ), ("id", TEXT), ("status", TEXT), ("error", TEXT)),
        _history,
    ),
    SystemTable(
        "mz_internal",
        "mz_sink_statistics",
        (
            *(("id", TEXT), ("messages_staged", BIGINT), ("messages_committed", BIGINT)),
            *(("bytes_staged", BIGINT), ("bytes_committed", BIGINT)),
        ),
        _sink_statistics,
    ),
    SystemTable(
        "mz_internal", "mz_frontiers", (("object_id", TEXT), ("write_frontier", MZ_TIMESTAMP)), _frontiers
    ),
    SystemTable("mz_internal", "mz_ticks", (("tick", MZ_TIMESTAMP), ("jobs", BIGINT), ("seconds", DOUBLE)), _ticks),
)
"""`mz_ticks` is our own: what each of the last thousand ticks cost."""


def refuse_sink(item: Item) -> SqlError:
    return SqlError("creating a sink directly on a catalog object not yet supported", sqlstate="0A000")
