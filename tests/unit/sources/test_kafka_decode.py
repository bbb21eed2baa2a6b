"""Each message is a row, or a dead letter with a reason, or a null value that means nothing."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from tailrace.formats.decode_csv import CsvDecoder
from tailrace.formats.decode_json import JsonDecoder
from tailrace.formats.decode_text import TextDecoder
from tailrace.jvm.functions import install
from tailrace.kafka.connection import KafkaConnection
from tailrace.plan.data_errors import translate
from tailrace.sources.kafka_decode import (
    NO_KEY,
    NO_VALUE,
    dead_letters_sql,
    decoded_sql,
    last_messages_sql,
    no_messages_sql,
    raw_ddl,
    rows_sql,
)
from tailrace.sources.kafka_definition import (
    BadMessages,
    Envelope,
    IncludeHeader,
    IncludeHeaders,
    IncludeKey,
    IncludeOffset,
    IncludePartition,
    IncludeTimestamp,
    KafkaSourceDefinition,
    source_schema,
)
from tailrace.types.spark import spark_type

NOON = datetime(2024, 7, 3, 12)  # noqa: DTZ001  a timestamp without time zone

PLAIN = KafkaSourceDefinition(
    id="u7",
    name="orders",
    connection=KafkaConnection(
        id="u1", name="kafka", brokers=("x:1",), security_protocol="PLAINTEXT", progress_topic="p"
    ),
    region_id="local",
    topic="orders",
    value_format=TextDecoder(),
)
KEYED = replace(PLAIN, key_format=TextDecoder(), include=(IncludeKey(),))
UPSERT = replace(KEYED, envelope=Envelope.UPSERT)

Pair = tuple[bytes | None, bytes | None]


@pytest.fixture
def raw(spark: SparkSession) -> Any:
    """Messages (key, value[, headers]) as a raw view: partition 0, offsets from 0."""
    install(spark)

    def view(messages: Iterable[tuple[Any, ...]]) -> str:
        rows = [
            (key, value, 0, offset, NOON, headers[0] if headers else None)
            for offset, (key, value, *headers) in enumerate(messages)
        ]
        spark.createDataFrame(rows, raw_ddl(["headers"])).createOrReplaceTempView("raw_messages")
        return "raw_messages"

    return view


def collect(spark: SparkSession, sql: str) -> list[Row]:
    return spark.sql(sql).collect()


def rows(spark: SparkSession, sql: str) -> set[tuple[Any, ...]]:
    collected = spark.sql(sql).collect()
    return {tuple(bytes(v) if isinstance(v, bytearray) else v for v in row) for row in collected}


def errors(spark: SparkSession, definition: KafkaSourceDefinition, view: str) -> dict[int, str]:
    return {row.c1: row.c5 for row in collect(spark, dead_letters_sql(definition, view))}


def test_every_message_is_a_row_and_repeats_itself(spark: SparkSession, raw: Any) -> None:
    view = raw([(None, b"a"), (b"k", b"a"), (None, b"")])
    assert sorted(map(tuple, collect(spark, rows_sql(PLAIN, view)))) == [("", 1), ("a", 1), ("a", 1)]
    assert errors(spark, PLAIN, view) == {}


def test_null_values_mean_nothing_unless_the_key_is_asked_for(spark: SparkSession, raw: Any) -> None:
    view = raw([(b"k", None), (b"k", b"v"), (None, b"w")])
    assert rows(spark, rows_sql(PLAIN, view)) == {("v", 1), ("w", 1)}
    assert errors(spark, PLAIN, view) == {}
    assert rows(spark, rows_sql(KEYED, view)) == {("k", "v", 1), (None, "w", 1)}
    assert errors(spark, KEYED, view) == {0: NO_VALUE}


def test_what_cannot_be_decoded_is_a_dead_letter(spark: SparkSession, raw: Any) -> None:
    view = raw([(b"\xff", b"v"), (b"k", b"\xff"), (b"k", b"v")])
    assert rows(spark, rows_sql(KEYED, view)) == {("k", "v", 1)}
    assert errors(spark, KEYED, view) == {
        0: "Decode error: Text: invalid UTF-8 (original bytes: ff)",
        1: "Decode error: Text: invalid UTF-8 (original bytes: ff)",
    }
    [letter] = collect(spark, dead_letters_sql(PLAIN, view))  # here the key is not looked at
    assert (letter.c0, letter.c1, letter.c2, letter.c3, letter.c4, letter.weight) == (
        0,
        1,
        NOON,
        b"k",
        b"\xff",
        1,
    )


def test_stop_fails_at_the_first_broken_message(spark: SparkSession, raw: Any) -> None:
    strict = replace(PLAIN, bad_messages=BadMessages.STOP)
    assert rows(spark, rows_sql(strict, raw([(None, b"a")]))) == {("a", 1)}
    with pytest.raises(Exception, match="source orders") as raised:
        collect(spark, rows_sql(strict, raw([(None, b"a"), (None, b"\xff")])))
    told = translate(str(raised.value))
    assert told is not None
    assert told.message == (
        "source orders: partition 0 offset 1: Decode error: Text: invalid UTF-8 (original bytes: ff)"
    )


def test_metadata_columns(spark: SparkSession, raw: Any) -> None:
    include = (IncludePartition(), IncludeOffset(), IncludeTimestamp(), IncludeHeaders())
    headers = [("h", b"1"), ("n", None), ("h", b"\xff")]
    view = raw([(None, b"a", headers), (None, b"b")])
    first, second = collect(spark, rows_sql(replace(PLAIN, include=include), view))
    assert (first.c1, first.c2, first.c3) == (0, 0, NOON)
    assert [tuple(header) for header in first.c4] == headers
    assert (second.c2, second.c4) == (1, [])


def test_the_last_header_of_a_name_counts(spark: SparkSession, raw: Any) -> None:
    include = (IncludeHeader("it's", "c"), IncludeHeader("b", "d", as_bytes=True))
    view = raw(
        [
            (None, b"a", [("it's", b"1"), ("b", b"\xff"), ("it's", b"2")]),
            (None, b"b", [("it's", None), ("b", None)]),
            (None, b"c", [("it's", b"\xff"), ("b", b"")]),
            (None, b"d", [("b", b"")]),
            (None, b"e"),
            (None, None),
        ]
    )
    definition = replace(PLAIN, include=include)
    assert rows(spark, rows_sql(definition, view)) == {("a", "2", b"\xff", 1), ("b", None, None, 1)}
    missing = "A header with key 'it's' was not found in the message headers"
    assert errors(spark, definition, view) == {
        2: "The header with key 'it's' is not valid UTF-8",
        3: missing,
        4: missing,
    }


def test_upsert_keeps_the_last_message_of_each_key(spark: SparkSession, raw: Any) -> None:
    view = raw([(b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"b", None), (b"c", None), (b"c", b"4")])
    assert rows(spark, last_messages_sql(UPSERT, view)) == {
        ("a", "3", False),
        ("b", None, True),
        ("c", "4", False),
    }


def test_upsert_leaves_broken_messages_out(spark: SparkSession, raw: Any) -> None:
    view = raw([(b"a", b"1"), (b"a", b"\xff"), (None, b"2"), (None, None), (b"\xff", b"3"), (b"\xff", None)])
    assert rows(spark, last_messages_sql(UPSERT, view)) == {("a", "1", False)}
    assert errors(spark, UPSERT, view) == {
        1: "Decode error: Text: invalid UTF-8 (original bytes: ff)",
        2: NO_KEY,
        4: "Decode error: Text: invalid UTF-8 (original bytes: ff)",
        5: "Decode error: Text: invalid UTF-8 (original bytes: ff)",
    }


def test_upsert_has_metadata_of_the_last_message(spark: SparkSession, raw: Any) -> None:
    definition = replace(UPSERT, include=(IncludeOffset(),))
    view = raw([(b"a", b"1"), (b"a", b"2"), (b"b", b"3")])
    assert rows(spark, last_messages_sql(definition, view)) == {("a", "2", 1, False), ("b", "3", 2, False)}


def test_json_keys_that_mean_the_same_are_the_same(spark: SparkSession, raw: Any) -> None:
    definition = replace(UPSERT, key_format=JsonDecoder())
    view = raw(
        [
            (b'{"b":1,"a":"x"}', b"1"),
            (b'{ "a": "\\u0078", "b": 1 }', b"2"),
            (b'{"a":12345678901234567890123456789012345678901}', b"3"),
            (b'{"a":12345678901234567890123456789012345678902}', b"4"),
            (b"9007199254740993", b"5"),
            (b"9007199254740992", b"6"),
            (b'{"a":1,"a":2}', b"7"),
        ]
    )
    assert rows(spark, last_messages_sql(definition, view)) == {
        ('{"a":"x","b":1}', "2", False),
        ('{"a":12345678901234567890123456789012345678901}', "3", False),
        ('{"a":12345678901234567890123456789012345678902}', "4", False),
        ("9007199254740993", "5", False),
        ("9007199254740992", "6", False),
        ('{"a":2}', "7", False),
    }


def test_a_key_of_several_fields(spark: SparkSession, raw: Any) -> None:
    fields = replace(UPSERT, include=(), key_format=CsvDecoder(("a", "b")))
    view = raw([(b"1,2", b"x"), (b"1,3", b"y"), (b"1,2", b"z")])
    assert rows(spark, last_messages_sql(fields, view)) == {("1", "2", "z", False), ("1", "3", "y", False)}
    append = replace(fields, envelope=Envelope.NONE, include=(IncludeKey(),))
    assert rows(spark, rows_sql(append, raw([(None, b"x"), (b"1,2", b"y")]))) == {
        (None, None, "x", 1),
        ("1", "2", "y", 1),
    }
    view = raw([(b"1,2", b"x"), (b"1,3", b"y"), (b"1,2", b"z")])
    record = replace(fields, include=(IncludeKey("k"),))
    found = rows(spark, last_messages_sql(record, view))
    assert found == {(Row(f0="1", f1="2"), "z", False), (Row(f0="1", f1="3"), "y", False)}


@pytest.mark.parametrize("definition", [PLAIN, KEYED, UPSERT, replace(KEYED, include=(IncludeHeaders(),))])
def test_columns_have_the_types_of_the_schema(
    spark: SparkSession, raw: Any, definition: KafkaSourceDefinition
) -> None:
    types = [spark_type(column.type) for column in source_schema(definition)]
    decoded = spark.sql(decoded_sql(definition, raw([(b"k", b"v")]))).schema
    assert [field.dataType.simpleString() for field in decoded][: len(types)] == types
    nothing = spark.sql(no_messages_sql(definition))
    assert [field.dataType.simpleString() for field in nothing.schema] == [*types, "boolean"]
