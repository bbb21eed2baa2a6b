"""Every type, null and not, written by Spark and read by an independent Avro reader with the published schema."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal

import fastavro
import pytest

from tailrace.formats.avro_schema import Naming, avro_names, change_schema, row_schema
from tailrace.formats.encode_avro import AvroEncoder
from tailrace.formats.registry import RegistryConnection, Subject
from tailrace.types.core import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    JSONB,
    MZ_TIMESTAMP,
    NUMERIC,
    OID,
    RANGES,
    REAL,
    SMALLINT,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UINT2,
    UINT4,
    UINT8,
    UUID,
    ArrayOf,
    Char,
    Column,
    ListOf,
    MapOf,
    Numeric,
    Record,
    SqlType,
    Timestamp,
    TimestampTz,
    Varchar,
)
from tailrace.types.spark import spark_type

ENCODER = AvroEncoder(
    naming=Naming(fullname="envelope"),
    subject=Subject(connection=RegistryConnection(name="csr", url="http://nowhere"), name="t-value"),
)
POINT = Record((Column("x", INTEGER), Column("y-1", TEXT, nullable=False)))
RANGE_SQL = "struct(true AS holds, 1 AS lower, false AS after, false AS endless, 5 AS upper, false AS until)"
INTERVAL_SQL = "named_struct('months', 14, 'days', 3, 'micros', 14706700000L)"
UUID_TEXT = "0d8a8b0e-0f0c-4f3c-8f10-8f4f2b1c7a10"
WHEN = datetime(2024, 7, 3, 18, 43, 5, 312456, UTC)
BEFORE_1970 = datetime(1969, 12, 31, 23, 59, 59, 999500, UTC)

# Type, a value as Spark text, what the reader must find, and the bytes of the column if they are published.
CASES: list[tuple[SqlType, str, object, str | None]] = [
    (BOOLEAN, "true", True, "01"),
    (SMALLINT, "-5", -5, "09"),
    (INTEGER, "42", 42, "54"),
    (BIGINT, "42", 42, "54"),
    (BIGINT, "-9223372036854775808", -(2**63), None),
    (UINT2, "65535", b"\xff\xff", None),
    (UINT4, "4294967295", b"\xff" * 4, None),
    (UINT8, "42", bytes(7) + b"\x2a", "000000000000002a"),
    (UINT8, "18446744073709551615", b"\xff" * 8, None),
    (OID, "7", b"\0\0\0\x07", None),
    (REAL, "1.5", 1.5, None),
    (DOUBLE, "double('-Infinity')", float("-inf"), None),
    (Numeric(2), "12.5", Decimal("12.50"), "22" + "00" * 15 + "04e2"),
    (Numeric(2), "-12.5", Decimal("-12.50"), "22" + "ff" * 15 + "fb1e"),
    (Numeric(0), "99999999999999999999999999999999999999", Decimal("9" * 38), None),
    (NUMERIC, "12.5", Decimal("12.5"), None),
    (NUMERIC, "-99999999999999999999.999999999999999999", Decimal("-99999999999999999999.999999999999999999"), None),
    (DATE, "'2024-07-03'", date(2024, 7, 3), None),
    (DATE, "'1500-01-01'", date(1500, 1, 1), None),
    (TIME, "67385312456", time(18, 43, 5, 312456), None),
    (TIMESTAMP, "'2024-07-03 18:43:05.312456'", WHEN, None),
    (TIMESTAMP, "'1969-12-31 23:59:59.9995'", BEFORE_1970, None),
    (Timestamp(3), "'2024-07-03 18:43:05.312'", WHEN.replace(microsecond=312000), None),
    (Timestamp(3), "'1969-12-31 23:59:59.999'", BEFORE_1970.replace(microsecond=999000), "01"),
    (Timestamp(6), "'2024-07-03 18:43:05.312456'", WHEN, None),
    (TIMESTAMPTZ, "'2024-07-03 18:43:05.312456+00:00'", WHEN, None),
    (TimestampTz(0), "'2024-07-03 18:43:05+00:00'", WHEN.replace(microsecond=0), None),
    (INTERVAL, INTERVAL_SQL, bytes.fromhex("0e00000003000000e06e966c03000000"), "0e00000003000000e06e966c03000000"),
    (TEXT, "'emea'", "emea", "08656d6561"),
    (Varchar(9), "'héllo'", "héllo", None),
    (Char(3), "'a'", "a  ", None),
    (BYTEA, "X'00FF'", b"\0\xff", None),
    (JSONB, "'{\"a\":1}'", '{"a":1}', None),
    (UUID, f"'{UUID_TEXT}'", UUID_TEXT, None),
    (MZ_TIMESTAMP, "1720032185312", "1720032185312", None),
    (RANGES["int4range"], RANGE_SQL, "[1,5)", "0a" + b"[1,5)".hex()),
    (ListOf(INTEGER), "array(1, NULL, 3)", [1, None, 3], None),
    (ListOf(INTEGER), "array()", [], "00"),
    (ListOf(ListOf(UINT2)), "array(array(1), NULL)", [[b"\0\x01"], None], None),
    (ArrayOf(ArrayOf(TEXT)), "array(array('a', 'b'), array('c', NULL))", ["a", "b", "c", None], None),
    (MapOf(NUMERIC), "map('b', 1, 'a', NULL)", {"a": None, "b": Decimal(1)}, None),
    (MapOf(TEXT), "map('b', 'x', 'a', 'y')", {"a": "y", "b": "x"}, "04" "0261" "02" "0279" "0262" "02" "0278" "00"),
    (MapOf(MapOf(INTEGER)), "map('a', map('z', 1, 'b', 2))", {"a": {"b": 2, "z": 1}}, None),
    (POINT, "struct(1 AS f0, 'p' AS f1)", {"x": 1, "y_1": "p"}, "02" "02" "0270"),
    (ListOf(POINT), "array(struct(NULL AS f0, 'p' AS f1), NULL)", [{"x": None, "y_1": "p"}, None], None),
    (ListOf(INTERVAL), f"array({INTERVAL_SQL})", [bytes.fromhex("0e00000003000000e06e966c03000000")], None),
]
COLUMNS = tuple(Column(f"c{i}", type) for i, (type, _, _, _) in enumerate(CASES))
PRESENT = tuple(Column(f"c{i}", type, nullable=False) for i, (type, _, _, _) in enumerate(CASES))
VALUES = ", ".join(f"CAST({value} AS {spark_type(type)}) AS c{i}" for i, (type, value, _, _) in enumerate(CASES))
NULLS = ", ".join(f"CAST(NULL AS {spark_type(type)}) AS c{i}" for i, (type, _, _, _) in enumerate(CASES))


def read(columns: tuple[Column, ...], data: bytes) -> dict[str, object]:
    schema = fastavro.parse_schema(json.loads(ENCODER.schema(columns, change=False)))
    stream = io.BytesIO(data)
    row = fastavro.schemaless_reader(stream, schema, None)
    assert stream.read() == b""
    return row


def encoded(spark, columns, rows):
    sql = ENCODER.record(columns, [f"c{i}" for i in range(len(columns))])
    return [bytes(row.r) for row in spark.sql(f"SELECT {sql} AS r FROM ({rows})").collect()]


@pytest.fixture(scope="module")
def rows(spark):
    """The row of all values, as nullable and as not nullable columns, and the row of NULLs."""
    nullable, nulls = encoded(spark, COLUMNS, f"SELECT {VALUES} UNION ALL SELECT {NULLS}")
    [present] = encoded(spark, PRESENT, f"SELECT {VALUES}")
    return {"nullable": read(COLUMNS, nullable), "null": read(COLUMNS, nulls), "present": read(PRESENT, present)}


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda i: f"{CASES[i][0]}-{CASES[i][1]}"[:60])
def test_a_value_is_read_as_what_it_is_and_null_as_null(rows, case):
    expected = CASES[case][2]
    name = f"c{case}"
    for row in (rows["nullable"], rows["present"]):
        found = row[name]
        assert (str(found) if expected == UUID_TEXT else found) == expected
    assert rows["null"][name] is None


GOLDEN = [i for i, case in enumerate(CASES) if case[3] is not None]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda i: f"{CASES[i][0]}-{CASES[i][1]}"[:60])
def test_published_bytes(spark, case):
    type, value, _, golden = CASES[case]
    [found] = encoded(spark, (Column("a", type, nullable=False),), f"SELECT CAST({value} AS {spark_type(type)}) AS c0")
    assert found.hex() == golden


def test_a_nullable_column_says_first_whether_it_is_there(spark):
    rows = "VALUES ('emea'), (NULL) AS t(c0)"
    assert [each.hex() for each in encoded(spark, (Column("region", TEXT),), rows)] == ["0208656d6561", "00"]


def test_a_numeric_without_scale_has_33_bytes_of_39_places(spark):
    [found] = encoded(spark, (Column("n", NUMERIC, nullable=False),), "SELECT CAST(-1.5 AS decimal(38,18)) AS c0")
    assert found[0] == 33 * 2
    assert int.from_bytes(found[1:], "big", signed=True) == -15 * 10**38


def test_a_change_has_both_rows_behind_the_number_of_their_branch(spark):
    schema = fastavro.parse_schema(json.loads(ENCODER.schema(COLUMNS, change=True)))
    [row] = encoded(spark, COLUMNS, f"SELECT {VALUES}")
    frame = ENCODER.change
    for data, before, after in [
        (frame.absent + frame.present + row, False, True),
        (frame.present + row + frame.absent, True, False),
        (frame.present + row + frame.present + row, True, True),
    ]:
        found = fastavro.schemaless_reader(io.BytesIO(data), schema, None)
        assert (found["before"] is not None, found["after"] is not None) == (before, after)


def test_a_relation_without_columns_has_no_bytes(spark):
    assert encoded(spark, (), "SELECT 1") == [b""]


def test_names_are_adjusted_and_unique():
    assert avro_names(["col-a", "col@a", "1st", "é"]) == ["col_a", "col_a1", "_1st", "_"]
    assert avro_names(["a", "a", "a1"]) == ["a", "a1", "a11"]


def test_fixed_types_are_defined_once_and_records_numbered():
    columns = (Column("a", UINT4), Column("b", OID), Column("c", POINT), Column("d", ListOf(POINT)))
    schema = row_schema(columns, Naming(fullname="org.shop.order"))
    assert (schema["name"], schema["namespace"]) == ("order", "org.shop")
    a, b, c, d = (field["type"][1] for field in schema["fields"])
    assert a == {"type": "fixed", "name": "uint4", "namespace": "com.materialize.sink", "size": 4}
    assert b == "com.materialize.sink.uint4"
    assert (c["name"], d["items"][1]["name"]) == ("record0", "record1")


def test_null_defaults_reach_every_nullable_field():
    columns = (Column("a", INTEGER), Column("b", INTEGER, nullable=False), Column("r", POINT))
    schema = change_schema(columns, Naming(fullname="envelope", null_defaults=True))
    before, after = schema["fields"]
    row = before["type"][1]
    assert (before["default"], after["default"], after["type"]) == (None, None, ["null", "row"])
    assert ["default" in field for field in row["fields"]] == [True, False, True]
    assert ["default" in field for field in row["fields"][2]["type"][1]["fields"]] == [True, False]


def test_members_stand_in_the_published_order():
    naming = Naming(fullname="a.b", null_defaults=True, doc='say "ä"', column_docs={"x": "\\"})
    text = AvroEncoder(naming=naming, subject=ENCODER.subject).schema((Column("x", INTEGER),), change=False)
    assert text == (
        '{"type":"record","name":"b","namespace":"a","doc":"say \\"ä\\"","fields":'
        '[{"name":"x","type":["null","int"],"default":null,"doc":"\\\\"}]}'
    )


def test_documentation_of_a_change_is_on_the_row():
    naming = Naming(fullname="envelope", doc="rows", column_docs={"x": "an x"})
    schema = change_schema((Column("x", INTEGER),), naming)
    assert "doc" not in schema
    assert schema["fields"][0]["type"][1]["doc"] == "rows"
    assert schema["fields"][0]["type"][1]["fields"][0]["doc"] == "an x"
