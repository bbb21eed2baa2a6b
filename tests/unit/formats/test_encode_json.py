"""Golden values, one per type and edge.  All are encoded by one Spark query; each is its own claim."""

import json

import pytest

from tailrace.formats.encode_json import JsonEncoder, json_text
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
    Timestamp,
    Varchar,
)
from tailrace.types.spark import spark_type

POINT = Record((Column("x", INTEGER), Column('say "y"', TEXT)))


def interval(months: int, days: int, micros: int) -> str:
    return f"named_struct('months', {months}, 'days', {days}, 'micros', {micros}L)"


CLOSED = "'after', false, 'endless', false"

CASES = [
    (BOOLEAN, "true", "true"),
    (BOOLEAN, "false", "false"),
    (SMALLINT, "-5S", "-5"),
    (INTEGER, "5", "5"),
    (BIGINT, "9223372036854775807", "9223372036854775807"),
    (UINT2, "65535", "65535"),
    (UINT4, "4294967295", "4294967295"),
    (UINT8, "18446744073709551615", "18446744073709551615"),
    (OID, "7", "7"),
    (MZ_TIMESTAMP, "1720032185312", '"1720032185312"'),
    (NUMERIC, "'12.50'", '"12.5"'),
    (NUMERIC, "'0'", '"0"'),
    (NUMERIC, "'-100'", '"-100"'),
    (NUMERIC, "'0.000000000000000001'", '"0.000000000000000001"'),
    (Numeric(0), "'100'", '"100"'),
    (Numeric(2), "'-12.30'", '"-12.3"'),
    (REAL, "'1.5'", "1.5"),
    (REAL, "'0.1'", "0.1"),
    (REAL, "'1e-5'", "0.00001"),
    (DOUBLE, "'0'", "0.0"),
    (DOUBLE, "'3'", "3.0"),
    (DOUBLE, "'-0.001'", "-0.001"),
    (DOUBLE, "'123456789.25'", "123456789.25"),
    (DOUBLE, "'10000000'", "10000000.0"),
    (DOUBLE, "'1234567890123456'", "1234567890123456.0"),
    (DOUBLE, "'1e16'", "1e16"),
    (DOUBLE, "'-1.5e300'", "-1.5e300"),
    (DOUBLE, "'0.00001'", "0.00001"),
    (DOUBLE, "'0.00000123'", "1.23e-6"),
    (DOUBLE, "'NaN'", "null"),
    (DOUBLE, "'Infinity'", "null"),
    (REAL, "'-Infinity'", "null"),
    (TEXT, "'plain'", '"plain"'),
    (TEXT, "''", '""'),
    (TEXT, r"'a\"b\\c/d'", r'"a\"b\\c/d"'),
    (TEXT, r"'tab\tline\nreturn\rback\b'", r'"tab\tline\nreturn\rback\b"'),
    (TEXT, r"'\u0000\u000b\u001f\u000c\u007f'", '"\\u0000\\u000b\\u001f\\f\u007f"'),
    (TEXT, r"'ü\u0001\"\\😀'", '"ü\\u0001\\"\\\\😀"'),
    (TEXT, "'\u2028é</script>'", '"\u2028é</script>"'),
    (Varchar(5), "'abc'", '"abc"'),
    (Char(5), "'abc'", '"abc  "'),
    (BYTEA, "X'D18200FF'", "[209,130,0,255]"),
    (BYTEA, "X''", "[]"),
    (DATE, "'2011-11-11'", '"2011-11-11"'),
    (TIME, "40271123456", '"11:11:11.123456"'),
    (TIME, "0", '"00:00:00"'),
    (TIMESTAMP, "'2024-07-03 18:43:05.312456'", '"1720032185312.456"'),
    (TIMESTAMPTZ, "'2024-07-03 18:43:05.312456+00:00'", '"1720032185312.456"'),
    (Timestamp(0), "'1970-01-01 00:00:00'", '"0.000"'),
    (TIMESTAMP, "'1969-12-31 23:59:59.999500'", '"-1.500"'),
    (TIMESTAMPTZ, "'1969-12-31 23:59:59+00:00'", '"-1000.000"'),
    (INTERVAL, interval(12, 0, 0), '"1 year"'),
    (JSONB, """'{"a":[1,null]}'""", '{"a":[1,null]}'),
    (UUID, "'0d8a8b0e-0f0c-4f3c-8f10-8f4f2b1c7a10'", '"0d8a8b0e-0f0c-4f3c-8f10-8f4f2b1c7a10"'),
    (RANGES["int4range"], f"named_struct('holds', true, 'lower', 1, {CLOSED}, 'upper', 5, 'until', false)", '"[1,5)"'),
    (
        RANGES["tstzrange"],
        f"named_struct('holds', true, 'lower', NULL, {CLOSED}, 'upper', '2024-07-03 00:00:00+00:00', 'until', true)",
        r'"(,\"2024-07-03 00:00:00+00\"]"',
    ),
    (ListOf(INTEGER), "array(1, NULL, 3)", "[1,null,3]"),
    (ListOf(TEXT), "array()", "[]"),
    (ArrayOf(ArrayOf(TEXT)), "array(array('a', NULL), array('\"'))", r'[["a",null],["\""]]'),
    (MapOf(INTEGER), "map('b', 2, 'a', 1, 'c', NULL)", '{"a":1,"b":2,"c":null}'),
    (MapOf(TEXT), "map()", "{}"),
    (MapOf(MapOf(NUMERIC)), "map('k', map('j', '1.50'))", '{"k":{"j":"1.5"}}'),
    (POINT, "named_struct('f0', 1, 'f1', NULL)", r'{"x":1,"say \"y\"":null}'),
    (ListOf(POINT), "array(named_struct('f0', 2, 'f1', 'q'), NULL)", r'[{"x":2,"say \"y\"":"q"},null]'),
]


@pytest.fixture(scope="module")
def encoded(spark):
    """The JSON of every case, and of a NULL of every case's type, from one query."""
    held = [f"CAST({value} AS {spark_type(type)}) AS c{i}" for i, (type, value, _) in enumerate(CASES)]
    nulls = [f"CAST(NULL AS {spark_type(type)}) AS c{i}" for i, (type, _, _) in enumerate(CASES)]
    shown = [f"{json_text(f'c{i}', type)} AS j{i}" for i, (type, _, _) in enumerate(CASES)]
    rows = f"SELECT 0 AS place, {', '.join(held)} UNION ALL SELECT 1, {', '.join(nulls)}"
    return spark.sql(f"SELECT {', '.join(shown)} FROM ({rows}) ORDER BY place").toArrow().to_pylist()


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda i: f"{CASES[i][0]}-{CASES[i][1]}"[:60])
def test_a_value_has_its_golden_form(encoded, case):
    _, _, expected = CASES[case]
    found = encoded[0][f"j{case}"]
    assert (found if found is not None else "null") == expected
    json.loads(found or "null")


def test_null_of_every_type_is_left_to_the_object(encoded):
    assert set(encoded[1].values()) == {None}


def test_an_object_keeps_names_order_and_nulls(spark):
    columns = (Column("z", INTEGER), Column('a"${spark.app.name}\\', TEXT), Column("é", BOOLEAN))
    sql = JsonEncoder().record(columns, ["c0", "c1", "c2"])
    rows = "SELECT 1 AS c0, CAST(NULL AS string) AS c1, true AS c2"
    [value] = spark.sql(f"SELECT {sql} AS v FROM ({rows})").toArrow().column("v").to_pylist()
    assert value == '{"z":1,"a\\"${spark.app.name}\\\\":null,"é":true}'.encode()


def test_no_columns_are_an_empty_object(spark):
    assert spark.sql(f"SELECT {JsonEncoder().record((), [])} AS v").collect()[0].v == b"{}"
