"""Changelog formats of Flink's tables: what Debezium, Canal and Maxwell say of rows, read and written."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka.flink_tables import options, rows, send
from tailrace.engine.engine import Engine
from tailrace.errors import TailraceError
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.topics import read_committed
from tailrace.ticks.loop import Pace

MOMENT = datetime(2024, 7, 3, 18, 43, 5, tzinfo=UTC)
MILLIS = 1720032185000


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02)) as opened:
        yield opened


def row(id: int, name: str | None) -> dict[str, Any]:
    return {"id": id, "name": name}


def debezium(op: str, before: Any, after: Any) -> dict[str, Any]:
    source = {"ts_ms": MILLIS, "db": "shop", "table": "products"}
    return {"before": before, "after": after, "op": op, "ts_ms": MILLIS, "source": source}


def test_debezium_says_what_was_and_what_is(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("products")
    send(
        broker,
        name,
        debezium("r", None, row(1, "tea")),
        debezium("c", None, row(2, "cup")),
        debezium("u", row(1, "tea"), row(1, "green tea")),
        debezium("d", row(2, "cup"), None),
        None,
        b"",
        debezium("c", None, row(3, None)),
    )
    engine.sql(
        f"""CREATE TABLE products (
              at TIMESTAMP_LTZ(3) METADATA FROM 'value.source.timestamp' VIRTUAL,
              origin STRING METADATA FROM 'value.source.table' VIRTUAL,
              told TIMESTAMP_LTZ(3) METADATA FROM 'value.ingestion-timestamp' VIRTUAL,
              id BIGINT, name STRING
            ) {options(broker, name, **{"value.format": "debezium-json"})}"""
    )
    found = rows(engine, "SELECT * FROM products")
    assert found == [(MOMENT, "products", MOMENT, 1, "green tea"), (MOMENT, "products", MOMENT, 3, None)]
    engine.sql("CREATE MATERIALIZED VIEW named AS SELECT count(name) AS n FROM products")
    assert rows(engine, "SELECT n FROM named") == [(1,)]


def test_debezium_may_come_with_its_schema(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("wrapped")
    send(broker, name, {"schema": {"type": "struct"}, "payload": debezium("c", None, row(1, "tea"))})
    more = {"format": "debezium-json", "debezium-json.schema-include": "true"}
    engine.sql(
        "CREATE TABLE wrapped (id BIGINT, name STRING, s STRING METADATA FROM 'value.schema' VIRTUAL,"
        f" PRIMARY KEY (id) NOT ENFORCED) {options(broker, name, **more)}"
    )
    assert rows(engine, "SELECT * FROM wrapped") == [(1, "tea", '{"type":"struct"}')]


CORRUPT = [
    (debezium("u", None, row(1, "x")), 'The "before" field of UPDATE message is null'),
    (debezium("x", None, row(1, "x")), 'Unknown "op" value "x"'),
    (debezium("c", None, {"id": "x"}), "Corrupt Debezium JSON message"),
    ({"id": 1}, "Corrupt Debezium JSON message"),
]


def test_what_debezium_cannot_mean_stops_or_is_put_aside(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    for number, (message, reason) in enumerate(CORRUPT):
        name = topic("corrupt")
        send(broker, name, message)
        with_options = options(broker, name, format="debezium-json")
        engine.sql(f"CREATE TABLE corrupt_{number} (id INT, name STRING) {with_options}")
        with pytest.raises(TailraceError) as caught:
            engine.sql(f"SELECT * FROM corrupt_{number}")
        assert reason in caught.value.message
    name = topic("ignored")
    send(broker, name, *(message for message, _ in CORRUPT), debezium("c", None, row(1, "tea")))
    more = {"format": "debezium-json", "debezium-json.ignore-parse-errors": "true"}
    engine.sql(f"CREATE TABLE ignored (id INT, name STRING) {options(broker, name, **more)}")
    assert rows(engine, "SELECT * FROM ignored") == [(1, "tea"), (None, None)]
    assert rows(engine, "SELECT count(*) FROM ignored_dead_letters") == [(3,)]


def canal(type: str, data: Any, old: Any = None, table: str = "products") -> dict[str, Any]:
    more = {"database": "shop", "table": table, "ts": MILLIS, "es": MILLIS, "pkNames": ["id"], "sqlType": {"id": 5}}
    return {"type": type, "data": data, "old": old, **more}


def test_canal_tells_several_rows_and_what_was_different(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("canal")
    send(
        broker,
        name,
        canal("INSERT", [row(1, "tea"), row(2, None)]),
        canal("UPDATE", [row(1, "green tea"), row(2, "cup")], [{"name": "tea"}, {"name": None}]),
        canal("INSERT", [row(9, "other")], table="users"),
        canal("CREATE", None),
        canal("DELETE", [row(2, "cup")]),
    )
    more = {
        "format": "canal-json",
        "canal-json.database.include": "sh.p",
        "canal-json.table.include": "products",
        "canal-json.ignore-parse-errors": "false",
        "canal-json.timestamp-format.standard": "SQL",
    }
    engine.sql(
        f"""CREATE TABLE canal (
              id BIGINT, name STRING, db STRING METADATA FROM 'value.database' VIRTUAL,
              keys ARRAY<STRING> METADATA FROM 'value.pk-names' VIRTUAL,
              types MAP<STRING, INT> METADATA FROM 'value.sql-type' VIRTUAL,
              at TIMESTAMP_LTZ(3) METADATA FROM 'value.event-timestamp' VIRTUAL
            ) {options(broker, name, **more)}"""
    )
    assert rows(engine, "SELECT * FROM canal") == [(1, "green tea", "shop", ["id"], [("id", 5)], MOMENT)]


def test_maxwell_counts_seconds(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("maxwell")
    about = {"database": "shop", "table": "products", "ts": MILLIS // 1000, "primary_key_columns": ["id"]}
    send(
        broker,
        name,
        {"type": "insert", "data": row(1, "tea"), **about},
        {"type": "update", "data": row(1, "green tea"), "old": {"name": "tea"}, **about},
        {"type": "insert", "data": row(2, "cup"), **about},
        {"type": "delete", "data": row(2, "cup"), **about},
    )
    more = {
        "format": "maxwell-json",
        "maxwell-json.ignore-parse-errors": "true",
        "maxwell-json.timestamp-format.standard": "ISO-8601",
    }
    engine.sql(
        f"""CREATE TABLE maxwell (
              id BIGINT, name STRING, at TIMESTAMP_LTZ(3) METADATA FROM 'value.ingestion-timestamp' VIRTUAL,
              keys ARRAY<STRING> METADATA FROM 'value.primary-key-columns' VIRTUAL
            ) {options(broker, name, **more)}"""
    )
    assert rows(engine, "SELECT * FROM maxwell") == [(1, "green tea", MOMENT, ["id"])]


FRAMES = {
    "debezium-json": ('{"before":null,"after":%s,"op":"c"}', '{"before":%s,"after":null,"op":"d"}'),
    "canal-json": ('{"data":[%s],"type":"INSERT"}', '{"data":[%s],"type":"DELETE"}'),
    "maxwell-json": ('{"data":%s,"type":"insert"}', '{"data":%s,"type":"delete"}'),
}
MORE = {
    "debezium-json": {
        "debezium-json.timestamp-format.standard": "SQL",
        "debezium-json.map-null-key.mode": "FAIL",
        "debezium-json.map-null-key.literal": "null",
        "debezium-json.encode.decimal-as-plain-number": "true",
        "debezium-json.encode.ignore-null-fields": "false",
    },
    "canal-json": {
        "canal-json.map-null-key.mode": "FAIL",
        "canal-json.map-null-key.literal": "null",
        "canal-json.encode.decimal-as-plain-number": "true",
        "canal-json.encode.ignore-null-fields": "false",
    },
    "maxwell-json": {
        "maxwell-json.map-null-key.mode": "FAIL",
        "maxwell-json.map-null-key.literal": "null",
        "maxwell-json.encode.decimal-as-plain-number": "true",
        "maxwell-json.encode.ignore-null-fields": "false",
    },
}


@pytest.mark.parametrize("format", FRAMES)
def test_an_update_is_written_as_a_row_that_left_and_one_that_came(
    engine: Engine, broker: Broker, topic: TopicFactory, format: str
) -> None:
    name, short = topic("changes"), format.removesuffix("-json")
    engine.sql(f"CREATE TABLE {short}_items (k text, n int)")
    engine.sql(f"INSERT INTO {short}_items VALUES ('a', 1)")
    keyed = {"key.format": "json", "key.fields": "k", "value.format": format}
    more = {f"value.{option}": value for option, value in MORE[format].items()}
    engine.sql(f"CREATE TABLE {short}_totals (k STRING, n BIGINT) {options(broker, name, **keyed, **more)}")
    engine.sql(f"INSERT INTO {short}_totals SELECT k, sum(n) FROM {short}_items GROUP BY k")
    until(broker, name, 1)
    engine.sql(f"INSERT INTO {short}_items VALUES ('a', 2)")
    came, left = FRAMES[format]
    one, three = '{"k":"a","n":1}', '{"k":"a","n":3}'
    found = [(each.key, (each.value or b"").decode()) for each in until(broker, name, 3)]
    assert found == [(b'{"k":"a"}', text) for text in (came % one, left % one, came % three)]
    assert json.loads(found[0][1])
    assert rows(engine, f"SELECT * FROM {short}_totals") == [("a", 3)]


def until(broker: Broker, topic: str, count: int) -> list[Any]:
    deadline = time.monotonic() + 60
    while len(found := read_committed(broker.bootstrap, topic)) < count:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found
