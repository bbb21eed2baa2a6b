"""The relation that CREATE SOURCE makes: columns, types, keys, and the errors of definitions that make
none."""

from dataclasses import replace

import pytest

from tailrace.errors import DuplicateColumn, SqlError
from tailrace.formats.decode_bytes import BytesDecoder
from tailrace.formats.decode_csv import CsvDecoder
from tailrace.formats.decode_json import JsonDecoder
from tailrace.formats.decode_text import TextDecoder
from tailrace.kafka.connection import KafkaConnection
from tailrace.sources.kafka_definition import (
    HEADERS,
    Envelope,
    IncludeHeader,
    IncludeHeaders,
    IncludeKey,
    IncludeOffset,
    IncludePartition,
    IncludeTimestamp,
    KafkaSourceDefinition,
    source_keys,
    source_schema,
)
from tailrace.types.core import BYTEA, INTEGER, JSONB, TEXT, TIMESTAMP, UINT8, Column, Record

CONNECTION = KafkaConnection(
    id="u1",
    name="kafka",
    brokers=("127.0.0.1:9092",),
    security_protocol="PLAINTEXT",
    progress_topic="progress",
)

PLAIN = KafkaSourceDefinition(
    id="u7",
    name="materialize.public.orders",
    connection=CONNECTION,
    region_id="local",
    topic="orders",
    value_format=JsonDecoder(),
)

KEYED = replace(PLAIN, key_format=TextDecoder())


def names(definition: KafkaSourceDefinition) -> list[str]:
    return [column.name for column in source_schema(definition)]


def test_a_bare_format_makes_its_own_columns() -> None:
    assert source_schema(PLAIN) == (Column("data", JSONB, nullable=False),)
    assert source_keys(PLAIN) == frozenset()
    csv = replace(PLAIN, value_format=CsvDecoder.with_columns(3))
    assert names(csv) == ["column1", "column2", "column3"]


def test_columns_are_key_value_metadata_in_the_order_of_include() -> None:
    include = (
        IncludeTimestamp(),
        IncludeKey(),
        IncludeOffset(),
        IncludePartition("p"),
        IncludeHeader("trace", "trace_id"),
        IncludeHeader("blob", "blob", as_bytes=True),
        IncludeHeaders(),
    )
    assert source_schema(replace(KEYED, include=include)) == (
        Column("key", TEXT),
        Column("data", JSONB, nullable=False),
        Column("timestamp", TIMESTAMP, nullable=False),
        Column("offset", UINT8, nullable=False),
        Column("p", INTEGER, nullable=False),
        Column("trace_id", TEXT),
        Column("blob", BYTEA),
        Column("headers", HEADERS, nullable=False),
    )


def test_a_key_that_is_not_included_makes_no_column() -> None:
    assert names(KEYED) == ["data"]


def test_upsert_has_the_key_first_and_not_null() -> None:
    upsert = replace(KEYED, envelope=Envelope.UPSERT)
    assert source_schema(upsert)[0] == Column("key", TEXT, nullable=False)
    assert source_keys(upsert) == {frozenset({0})}
    assert names(replace(upsert, include=(IncludeKey("id"),))) == ["id", "data"]


def test_a_key_with_fields_gives_them_all() -> None:
    key = CsvDecoder(("a", "b"))
    upsert = replace(PLAIN, key_format=key, envelope=Envelope.UPSERT)
    assert names(upsert) == ["a", "b", "data"]
    assert source_keys(upsert) == {frozenset({0, 1})}


def test_a_named_key_with_fields_is_one_record() -> None:
    key = CsvDecoder(("a", "b"))
    upsert = replace(PLAIN, key_format=key, envelope=Envelope.UPSERT, include=(IncludeKey("k"),))
    assert source_schema(upsert)[0] == Column("k", Record(key.schema), nullable=False)
    assert source_keys(upsert) == {frozenset({0})}


def test_column_names_rename_the_first_columns() -> None:
    both = replace(KEYED, include=(IncludeKey(), IncludeOffset()))
    assert names(replace(both, column_names=("k", "v"))) == ["k", "v", "offset"]
    with pytest.raises(SqlError) as raised:
        source_schema(replace(PLAIN, column_names=("a", "b")))
    source = "source materialize.public.orders"
    assert raised.value.message == f"{source} definition names 2 columns, but {source} has 1 column"


def test_a_name_that_is_there_twice_is_an_error() -> None:
    twice = replace(
        PLAIN, key_format=BytesDecoder(), include=(IncludeKey("data"),), value_format=BytesDecoder()
    )
    with pytest.raises(DuplicateColumn, match='column "data" specified more than once'):
        source_schema(twice)
    assert names(replace(twice, column_names=("k",))) == ["k", "data"]


def test_a_key_needs_a_format() -> None:
    with pytest.raises(SqlError, match=r"ENVELOPE \[DEBEZIUM\] UPSERT requires that KEY FORMAT be specified"):
        source_schema(replace(PLAIN, envelope=Envelope.UPSERT))
    with pytest.raises(SqlError, match="INCLUDE KEY requires specifying KEY FORMAT"):
        source_schema(replace(PLAIN, include=(IncludeKey(),)))


def test_the_group_id_is_the_prefix_and_the_sources_id() -> None:
    assert PLAIN.group_id == "materialize-local-u1-u7"
    assert replace(PLAIN, group_id_prefix="team-").group_id == "team-u7"
