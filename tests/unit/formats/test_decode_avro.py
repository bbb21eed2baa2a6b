"""Messages written by fastavro, with one writer's schema or another, read by Spark as the reader's columns."""

from __future__ import annotations

import io
import json
import uuid
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from tailrace.errors import NotSupported, SqlError
from tailrace.formats.decode_avro import AvroDecoder
from tailrace.formats.registry import RegistryConnection
from tailrace.types.core import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    JSONB,
    NUMERIC,
    REAL,
    TEXT,
    TIME,
    UUID,
    Column,
    ListOf,
    MapOf,
    Numeric,
    Record,
    Timestamp,
)
from tailrace.types.spark import spark_type

WHEN = datetime(2024, 7, 3, 18, 43, 5, 312456, UTC)
SOME_UUID = uuid.UUID("0d8a8b0e-0f0c-4f3c-8f10-8f4f2b1c7a10")
POINT = {"type": "record", "name": "point", "fields": [{"name": "x", "type": "int"}, {"name": "Y", "type": "string"}]}
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 39, "scale": 2}
UNSCALED = {"type": "bytes", "logicalType": "decimal", "precision": 81, "scale": 39}
AMOUNT = Record((Column("at", Timestamp(3), nullable=False), Column("n", Numeric(2))))
NESTED = {
    "type": "record",
    "name": "amount",
    "fields": [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "n", "type": ["null", DECIMAL]},
    ],
}
AT = datetime(1969, 12, 31, 23, 59, 59, 999000, UTC)
NAIVE = WHEN.replace(tzinfo=None)

# Avro type, what is written, the SQL type, what is read.
CASES: list[tuple[Any, Any, Any, Any]] = [
    ("boolean", True, BOOLEAN, True),
    ("int", -5, INTEGER, -5),
    ("long", 2**40, BIGINT, 2**40),
    ("float", 1.5, REAL, 1.5),
    ("double", -2.5, DOUBLE, -2.5),
    ("bytes", b"\0\xff", BYTEA, b"\0\xff"),
    ({"type": "fixed", "name": "two", "size": 2}, b"ab", BYTEA, b"ab"),
    ("string", "é", TEXT, "é"),
    ({"type": "enum", "name": "suit", "symbols": ["HEARTS", "SPADES"]}, "SPADES", TEXT, "SPADES"),
    ({"type": "int", "logicalType": "date"}, date(1500, 1, 1), DATE, date(1500, 1, 1)),
    ({"type": "long", "logicalType": "time-micros"}, time(0, 0, 1), TIME, 1_000_000),
    ({"type": "long", "logicalType": "timestamp-micros"}, WHEN, Timestamp(6), NAIVE),
    ({"type": "long", "logicalType": "timestamp-millis"}, AT, Timestamp(3), AT.replace(tzinfo=None)),
    (DECIMAL, Decimal("-12.50"), Numeric(2), Decimal("-12.50")),
    (UNSCALED, Decimal("0.1"), NUMERIC, Decimal("0.1")),
    ({"type": "string", "logicalType": "uuid"}, SOME_UUID, UUID, str(SOME_UUID)),
    ({"type": "string", "connect.name": "io.debezium.data.Json"}, '{"a":1}', JSONB, '{"a":1}'),
    ({"type": "array", "items": "int"}, [1, 2], ListOf(INTEGER), [1, 2]),
    ({"type": "array", "items": {"type": "array", "items": ["null", DECIMAL]}}, [[None, Decimal("1.25")]],
     ListOf(ListOf(Numeric(2))), [[None, Decimal("1.25")]]),
    ({"type": "map", "values": {"type": "int", "logicalType": "date"}}, {"a": date(2020, 1, 1)},
     MapOf(DATE), {"a": date(2020, 1, 1)}),
    (POINT, {"x": 1, "Y": "p"}, Record((Column("x", INTEGER, nullable=False), Column("Y", TEXT, nullable=False))),
     {"f0": 1, "f1": "p"}),
    ({"type": "array", "items": NESTED}, [{"at": AT, "n": None}], ListOf(AMOUNT),
     [{"f0": AT.replace(tzinfo=None), "f1": None}]),
]  # fmt: skip


def schema(fields: list[dict[str, Any]], name: str = "row") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": fields}


def written(writer: dict[str, Any], row: dict[str, Any], id: int | None = 7) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(writer), row)
    return (b"" if id is None else b"\0" + id.to_bytes(4, "big")) + out.getvalue()


def read(spark, decoder: AvroDecoder, *messages: bytes) -> list[dict[str, Any]]:
    parts = decoder.decoded("value")
    columns = ", ".join(f"CAST({text} AS {spark_type(c.type)}) AS c{i}" for i, (text, c) in
                        enumerate(zip(parts.columns, decoder.schema, strict=True)))  # fmt: skip
    rows = ", ".join(f"({i}, X'{message.hex()}')" for i, message in enumerate(messages))
    [(name, once)] = parts.once
    raw = f"SELECT *, {once} AS {name} FROM VALUES {rows} AS t(place, value)"
    absent = parts.absent or "false"
    sql = f"SELECT {columns}, {parts.error} AS error, {absent} AS absent FROM ({raw}) ORDER BY place"
    return spark.sql(sql).toArrow().to_pylist()


def decoder_of(reader: dict[str, Any], *writers: dict[str, Any], **more: Any) -> AvroDecoder:
    """The writers have the ids 7, 8, …"""
    known = tuple((7 + i, json.dumps(writer)) for i, writer in enumerate(writers or (reader,)))
    connection = RegistryConnection(name="csr", url="http://nowhere")
    return AvroDecoder(reader=json.dumps(reader), connection=connection, writers=known, **more)


EVERYTHING = schema([{"name": f"a{i}", "type": type} for i, (type, _, _, _) in enumerate(CASES)])
NULLABLE = {"type": "record", "name": "row", "fields": [
    {"name": f"a{i}", "type": ["null", type]} for i, (type, _, _, _) in enumerate(CASES)
]}  # fmt: skip


def test_every_type_is_read_as_its_sql_type(spark):
    decoder = decoder_of(EVERYTHING)
    assert decoder.schema == tuple(
        Column(f"a{i}", type, nullable=False) for i, (_, _, type, _) in enumerate(CASES)
    )
    [row] = read(spark, decoder, written(EVERYTHING, {f"a{i}": case[1] for i, case in enumerate(CASES)}))
    assert row["error"] is None
    for i, (_, _, _, expected) in enumerate(CASES):
        found = dict(row[f"c{i}"]) if isinstance(expected, dict) and isinstance(row[f"c{i}"], list) else row[f"c{i}"]
        assert found == expected, CASES[i]


def test_null_is_null_in_every_type(spark):
    decoder = decoder_of(NULLABLE)
    assert all(column.nullable for column in decoder.schema)
    [row] = read(spark, decoder, written(NULLABLE, dict.fromkeys(f"a{i}" for i in range(len(CASES)))))
    assert set(row.values()) == {None, False}


def test_several_writers_are_resolved_to_one_reader(spark):
    reader = schema([{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}])
    older = schema([{"name": "id", "type": "int"}, {"name": "gone", "type": "string"}])
    decoder = decoder_of(reader, older, reader)
    found = read(
        spark,
        decoder,
        written(older, {"id": 1, "gone": "x"}, 7),
        written(reader, {"id": 2, "note": "n"}, 8),
    )
    assert [(row["c0"], row["c1"], row["error"]) for row in found] == [(1, None, None), (2, "n", None)]


def test_a_field_of_several_types_is_as_many_columns(spark):
    """Whichever was written is in its own column; also of records, inside of records, and of numbers alike."""
    other = schema([{"name": "z", "type": ["boolean", DECIMAL]}], "other")
    reader = schema(
        [
            {"name": "a", "type": ["null", "int", "string"], "default": None},
            {"name": "b", "type": ["long", "int"]},
            {"name": "c", "type": ["float", "null", "double"]},
            {"name": "d", "type": [POINT, other, {"type": "array", "items": "int"}]},
            {"name": "e", "type": "other"},
        ]
    )
    older = schema([{**field, "type": field["type"][::-1]} for field in reader["fields"][1:4]] + reader["fields"][4:])
    decoder = decoder_of(reader, reader, older)
    assert [column.name for column in decoder.schema] == ["a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "d3", "e"]
    assert [column.nullable for column in decoder.schema] == [True] * 9 + [False]
    assert [field.name for field in decoder.schema[7].type.fields] == ["z1", "z2"]
    yes, price = {"z": True}, {"z": Decimal("1.25")}
    rows = [
        {"a": 1, "b": ("int", 2), "c": ("float", 1.5), "d": ("point", {"x": 1, "Y": "p"}), "e": yes},
        {"a": "x", "b": ("long", 2), "c": ("double", 1.5), "d": ("other", price), "e": price},
        {"a": None, "b": ("long", 3), "c": None, "d": [1, 2], "e": yes},
    ]
    right = {"f0": True, "f1": None}
    paid = {"f0": None, "f1": Decimal("1.25")}
    expected = [
        [1, None, None, 2, 1.5, None, {"f0": 1, "f1": "p"}, None, None, right],
        [None, "x", 2, None, None, 1.5, None, paid, None, paid],
        [None, None, 3, None, None, None, None, None, [1, 2], right],
    ]
    found = read(spark, decoder, *(written(reader, row) for row in rows))
    assert [list(row.values())[:10] for row in found] == expected
    # Another writer has the types in another order, and no `a`.
    found = read(spark, decoder, *(written(older, row, 8) for row in rows))
    assert [list(row.values())[:10] for row in found] == [[None, None, *each[2:]] for each in expected]
    assert {row["error"] for row in found} == {None}


def test_what_cannot_be_read_has_a_reason(spark):
    reader = schema([{"name": "id", "type": "string"}, {"name": "n", "type": {**DECIMAL, "precision": 39}}])
    other = schema([{"name": "id", "type": "boolean"}])
    good = {"id": "abc", "n": Decimal("1.00")}
    decoder = decoder_of(reader, reader, other)
    huge = written(schema([{"name": "id", "type": "string"}, {"name": "n", "type": "bytes"}]),
                   {"id": "x", "n": b"\x7f" + b"\xff" * 30})  # fmt: skip
    messages = [b"", b"{}", written(reader, good)[:7], written(reader, good, 99), written(other, {"id": True}, 8), huge]
    found = read(spark, decoder, *messages, written(reader, good))
    reasons = [row["error"] for row in found]
    for reason, expected in zip(
        reasons,
        ("schema id", "schema id", "does not fit", "no schema with id 99", "does not fit", "a decimal is out of range"),
        strict=False,
    ):
        assert reason.startswith("Decode error: Avro: ") or "decimal" in reason
        assert expected in reason
    assert reasons[-1] is None


def test_a_schema_of_ones_own_needs_no_registry_and_perhaps_no_frame(spark):
    reader = schema([{"name": "id", "type": "int"}])
    for framed in (True, False):
        decoder = AvroDecoder(reader=json.dumps(reader), framed=framed)
        assert (decoder.head, decoder.learned([b"\0\0\0\0\x07"])) == (0, decoder)
        [row] = read(spark, decoder, written(reader, {"id": 5}, 3 if framed else None))
        assert (row["c0"], row["error"]) == (5, None)


def test_a_change_is_its_after_or_absent(spark):
    row = schema([{"name": "id", "type": "int"}, {"name": "v", "type": DECIMAL}])
    change = schema(
        [
            {"name": "before", "type": ["null", row]},
            {"name": "after", "type": ["null", "row"]},
            {"name": "op", "type": "string"},
        ],
        "envelope",
    )
    decoder = decoder_of(change, changes=True)
    assert [column.name for column in decoder.schema] == ["id", "v"]
    after = {"id": 1, "v": Decimal("2.50")}
    found = read(
        spark,
        decoder,
        written(change, {"before": None, "after": after, "op": "c"}),
        written(change, {"before": after, "after": None, "op": "d"}),
    )
    assert [(r["c0"], r["c1"], r["absent"], r["error"]) for r in found] == [
        (1, Decimal("2.50"), False, None),
        (None, None, True, None),
    ]


@pytest.mark.parametrize(
    ("reader", "message"),
    [
        ({"type": "record", "name": "r", "fields": [{"name": "next", "type": ["null", "r"]}]}, "Recursive types"),
        (schema([{"name": "u", "type": {"type": "array", "items": ["int", "string"]}}]), "unions with several types"),
        (schema([{"name": "u", "type": "null"}]), "null alone"),
        (schema([{"name": "d", "type": {**DECIMAL, "precision": 50}}]), "decimals of 50 digits"),
        ("string", "top is no record"),
        (schema([{"name": "x", "type": "nothing"}]), "invalid Avro schema"),
    ],
)
def test_a_schema_without_sql_form_is_refused(reader, message):
    with pytest.raises((NotSupported, SqlError), match=message):
        _ = decoder_of(reader).schema


@pytest.mark.parametrize("row", [schema([{"name": "id", "type": "int"}])])
def test_debezium_needs_after(row):
    with pytest.raises(SqlError, match="'after' column missing from debezium input"):
        _ = decoder_of(row, changes=True).schema


def test_decimals_are_read_whatever_their_number_of_bytes(spark):
    reader = schema([{"name": "n", "type": DECIMAL}])
    numbers = [Decimal(n).scaleb(-2) for n in (0, 1, -1, 127, 128, -128, -129, 10**30, -(10**30))]
    messages = [written(reader, {"n": number}) for number in numbers]
    messages.append(b"\0\0\0\0\x07" + bytes([17 * 2]) + b"\xff" * 15 + b"\xfb\x1e")  # as our sinks write −12.5
    assert [row["c0"] for row in read(spark, decoder_of(reader), *messages)] == [*numbers, Decimal("-12.50")]
