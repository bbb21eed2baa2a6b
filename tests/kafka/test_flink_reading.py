"""Flink's Kafka tables, read: formats, keys, metadata, computed columns, and what happens to broken messages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from kafka.flink_tables import options, rows, send
from tailrace.engine.engine import Engine
from tailrace.errors import SqlError, TailraceError
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.topics import produce
from tailrace.ticks.loop import Pace


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02)) as opened:
        yield opened


def test_json_fields_become_typed_columns(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    orders = topic("orders")
    send(
        broker,
        orders,
        {
            "id": 1,
            "price": "12.50",
            "at": "2024-07-03 18:43:05.312",
            "seen": "2024-07-03 18:43:05Z",
            "day": "2024-07-03",
            "raw": "aGk=",
            "tags": ["a", "b"],
            "who": {"name": "Ann", "age": 7},
            "more": {"x": 1},
            "ok": True,
            "unknown": 5,
        },
        {"id": "2", "ok": "false"},
    )
    engine.sql(
        f"""CREATE TABLE Orders (
              id BIGINT, price DECIMAL(10, 2), `at` TIMESTAMP(3), seen TIMESTAMP_LTZ(3), `day` DATE, raw BYTES,
              tags ARRAY<STRING>, who ROW<name STRING, age INT>, more MAP<STRING, INT>, ok BOOLEAN
            ) {options(broker, orders, format="json")}"""
    )
    first = (
        1,
        Decimal("12.50"),
        datetime(2024, 7, 3, 18, 43, 5, 312000),  # noqa: DTZ001
        datetime(2024, 7, 3, 18, 43, 5, tzinfo=UTC),
        date(2024, 7, 3),
        b"hi",
        ["a", "b"],
        ("Ann", 7),
        [("x", 1)],
        True,
    )
    assert rows(engine, "SELECT * FROM Orders") == [first, (2, *[None] * 8, False)]


def test_csv_fields_go_by_their_place(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    behaviour = topic("behaviour")
    send(broker, behaviour, b'1,2,"buy, now"', b"3,,", b"4")
    engine.sql(
        f"CREATE TABLE behaviour (user_id BIGINT, item_id BIGINT, behavior STRING) "
        f"{options(broker, behaviour, format='csv')}"
    )
    assert rows(engine, "SELECT * FROM behaviour") == [(1, 2, "buy, now"), (3, None, ""), (4, None, None)]


@pytest.mark.parametrize(
    ("type", "message", "expected", "more"),
    [
        ("STRING", b"tea", "tea", {}),
        ("STRING", "thé".encode("latin-1"), "thé", {"raw.charset": "ISO-8859-1"}),
        ("BYTES", b"\x00\xff", b"\x00\xff", {}),
        ("INT", b"\xff\xff\xff\xfe", -2, {}),
        ("BIGINT", b"\x02\0\0\0\0\0\0\0", 2, {"raw.endianness": "little-endian"}),
        ("DOUBLE", b"\xc0\x04\0\0\0\0\0\0", -2.5, {}),
        ("FLOAT", b"\x3f\xc0\0\0", 1.5, {}),
        ("BOOLEAN", b"\x01", True, {}),
    ],
)
def test_raw_is_one_column(
    engine: Engine, broker: Broker, topic: TopicFactory, type: str, message: bytes, expected: object, more: dict
) -> None:
    name = topic("raw")
    send(broker, name, message)
    engine.sql(f"CREATE TABLE raw_messages (x {type}) {options(broker, name, format='raw', **more)}")
    try:
        assert rows(engine, "SELECT x FROM raw_messages") == [(expected,)]
    finally:
        engine.sql("DROP TABLE raw_messages")


def test_key_and_value_may_have_fields_of_the_same_name(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("versions")
    keys = [{"version": 1, "user_id": 7, "item_id": 8}]
    send(broker, name, {"version": 2, "behavior": "buy"}, keys=keys)
    more = {
        "key.format": "json",
        "key.fields-prefix": "k_",
        "key.fields": "k_version;k_user_id;k_item_id",
        "value.format": "json",
        "value.fields-include": "EXCEPT_KEY",
    }
    engine.sql(
        "CREATE TABLE versions (k_version INT, k_user_id BIGINT, k_item_id BIGINT, version INT, behavior STRING) "
        + options(broker, name, **more)
    )
    assert rows(engine, "SELECT * FROM versions") == [(1, 7, 8, 2, "buy")]


def test_metadata_and_computed_columns_stand_where_they_are_declared(
    engine: Engine, broker: Broker, topic: TopicFactory
) -> None:
    name = topic("metadata")
    produce(broker.bootstrap, name, [(None, b'{"amount": 4}', {"h": b"1", "g": None})])
    engine.sql(
        f"""CREATE TABLE metadata (
              `offset` BIGINT METADATA VIRTUAL,
              doubled AS amount * 2,
              `partition` BIGINT METADATA VIRTUAL,
              amount INT,
              `topic` STRING METADATA VIRTUAL,
              kind STRING METADATA FROM 'timestamp-type' VIRTUAL,
              headers MAP<STRING, BYTES> METADATA,
              texts MAP<STRING, STRING> METADATA FROM 'headers' VIRTUAL,
              listed ARRAY<ROW<name STRING, text VARCHAR(9)>> METADATA FROM 'header-list' VIRTUAL,
              epoch INT METADATA FROM 'leader-epoch' VIRTUAL,
              ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'
            ) {options(broker, name, format="json")}"""
    )
    [row] = rows(engine, "SELECT * FROM metadata")
    texts = [("h", "1"), ("g", None)]
    assert row[:-1] == (0, 8, 0, 4, name, "CreateTime", [("h", b"1"), ("g", None)], texts, texts, None)
    assert isinstance(row[-1], datetime)


def test_a_message_without_a_value_is_skipped_unless_its_key_is_asked_for(
    engine: Engine, broker: Broker, topic: TopicFactory
) -> None:
    name = topic("valueless")
    send(broker, name, None, {"n": 1}, keys=[{"k": 1}, {"k": 2}])
    engine.sql(f"CREATE TABLE valueless (n INT) {options(broker, name, format='json')}")
    assert rows(engine, "SELECT * FROM valueless") == [(1,)]
    keyed = {"key.format": "json", "key.fields": "k", "value.format": "json", "value.fields-include": "EXCEPT_KEY"}
    engine.sql(f"CREATE TABLE keyed_valueless (k INT, n INT) {options(broker, name, **keyed)}")
    with pytest.raises(TailraceError, match="offset 0: Invalid null value received in non-upsert mode"):
        engine.sql("SELECT * FROM keyed_valueless")


def test_a_message_that_does_not_fit_stops_the_table(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("strict")
    send(broker, name, {"a": 1}, {"a": "x"})
    engine.sql(f"CREATE TABLE strict (a INT) {options(broker, name, format='json')}")
    with pytest.raises(TailraceError, match=r"offset 1: Failed to deserialize JSON '.*x.*'"):
        engine.sql("SELECT * FROM strict")


def test_with_ignore_parse_errors_fields_are_null_and_broken_messages_dead_letters(
    engine: Engine, broker: Broker, topic: TopicFactory
) -> None:
    name = topic("lenient")
    send(broker, name, {"a": 1, "b": "x"}, {"a": "x", "b": "y"}, b"{broken", {"b": "z"})
    more = {"format": "json", "json.ignore-parse-errors": "true"}
    engine.sql(f"CREATE TABLE lenient (a INT, b STRING) {options(broker, name, **more)}")
    assert rows(engine, "SELECT * FROM lenient") == [(1, "x"), (None, "y"), (None, "z")]
    assert rows(engine, 'SELECT "offset", value FROM lenient_dead_letters') == [(2, b"{broken")]


def test_a_missing_field_can_be_an_error(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("missing")
    send(broker, name, {"a": None}, {"b": 1})
    more = {"format": "json", "json.fail-on-missing-field": "true"}
    engine.sql(f"CREATE TABLE missing (a INT) {options(broker, name, **more)}")
    with pytest.raises(TailraceError, match=r"offset 1: .*Could not find field with name 'a'"):
        engine.sql("SELECT * FROM missing")


def test_timestamps_can_be_iso(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("iso")
    send(broker, name, {"at": "2024-07-03T18:43:05.5"})
    more = {"format": "json", "json.timestamp-format.standard": "ISO-8601"}
    engine.sql(f"CREATE TABLE iso (`at` TIMESTAMP(3)) {options(broker, name, **more)}")
    assert rows(engine, "SELECT * FROM iso") == [(datetime(2024, 7, 3, 18, 43, 5, 500000),)]  # noqa: DTZ001


def test_upsert_tables_keep_the_last_row_of_each_key(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("totals")
    more = {"connector": "upsert-kafka", "key.format": "json", "value.format": "json"}
    send(broker, name, {"k": "a", "n": 1}, {"k": "b", "n": 2}, {"k": "a", "n": 3}, keys=[{"k": x} for x in "aba"])
    engine.sql(
        f"CREATE TABLE totals (n BIGINT, twice AS n * 2, k STRING, PRIMARY KEY (k) NOT ENFORCED) "
        f"{options(broker, name, **more)}"
    )
    engine.sql("CREATE MATERIALIZED VIEW summed AS SELECT sum(n) AS n FROM totals")
    assert rows(engine, "SELECT * FROM totals") == [(2, 4, "b"), (3, 6, "a")]
    send(broker, name, None, keys=[{"k": "b"}])
    engine.settle()
    while rows(engine, "SELECT * FROM totals") != [(3, 6, "a")]:
        engine.settle()
    assert rows(engine, "SELECT n FROM summed") == [(3,)]


def test_names_are_found_in_whatever_case_they_are_written(
    engine: Engine, broker: Broker, topic: TopicFactory
) -> None:
    name = topic("cases")
    send(broker, name, {"userId": 1})
    engine.sql(f"CREATE TABLE MixedCase (userId INT) {options(broker, name, format='json')}")
    assert rows(engine, "SELECT userId FROM MixedCase WHERE MixedCase.USERID = 1") == [(1,)]
    assert rows(engine, "SELECT `userId` FROM `MixedCase`") == [(1,)]
    assert [name for name, *_ in rows(engine, "DESCRIBE MixedCase")] == ["userId"]
    with pytest.raises(SqlError, match="differs from"):
        engine.sql(f"CREATE TABLE mixedcase (a INT) {options(broker, name, format='json')}")


def test_a_table_joins_what_is_not_flinks(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("clicks")
    send(broker, name, {"item": 1}, {"item": 1}, {"item": 2})
    engine.sql(f"CREATE TABLE clicks (item INT) {options(broker, name, format='json')}")
    engine.sql("CREATE TABLE items (item int, name text)")
    engine.sql("INSERT INTO items VALUES (1, 'tea'), (2, 'cup')")
    engine.sql(
        "CREATE MATERIALIZED VIEW clicked AS"
        " SELECT name, count(*) AS n FROM clicks JOIN items ON clicks.item = items.item GROUP BY name"
    )
    assert rows(engine, "SELECT * FROM clicked") == [("cup", 1), ("tea", 2)]
