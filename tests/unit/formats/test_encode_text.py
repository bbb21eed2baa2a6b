"""Golden values, one per type and edge; the wire protocol's form of the same columns is a second oracle."""

import pytest

from tailrace.errors import NotSupported
from tailrace.formats.encode_text import TextEncoder, text_form
from tailrace.types.core import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    JSONB,
    NUMERIC,
    RANGES,
    REAL,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
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
)
from tailrace.types.postgres.text import text_form as arrow_text_form
from tailrace.types.spark import spark_type

PAIR = Record((Column("a", INTEGER), Column("b", TEXT)))


def interval(months: int, days: int, micros: int) -> str:
    return f"named_struct('months', {months}, 'days', {days}, 'micros', {micros}L)"


def held_range(lower: str, after: str, endless: str, upper: str, until: str, holds: str = "true") -> str:
    bounds = f"'lower', {lower}, 'after', {after}, 'endless', {endless}, 'upper', {upper}, 'until', {until}"
    return f"named_struct('holds', {holds}, {bounds})"


CASES = [
    (BOOLEAN, "true", "t"),
    (BOOLEAN, "false", "f"),
    (BIGINT, "-42", "-42"),
    (UINT8, "18446744073709551615", "18446744073709551615"),
    (NUMERIC, "'12.50'", "12.5"),
    (NUMERIC, "'-0.10'", "-0.1"),
    (Numeric(0), "'-300'", "-300"),
    (DOUBLE, "'1.5'", "1.5"),
    (DOUBLE, "'3'", "3"),
    (DOUBLE, "'-0.0'", "-0"),
    (DOUBLE, "'100000000000000'", "100000000000000"),
    (DOUBLE, "'1e15'", "1e+15"),
    (DOUBLE, "'0.0001'", "0.0001"),
    (DOUBLE, "'0.00001'", "1e-05"),
    (DOUBLE, "'-1.25e-300'", "-1.25e-300"),
    (DOUBLE, "'NaN'", "NaN"),
    (DOUBLE, "'-Infinity'", "-Infinity"),
    (REAL, "'0.1'", "0.1"),
    (REAL, "'0.0001'", "0.0001"),
    (REAL, "'999999'", "999999"),
    (REAL, "'1000000'", "1e+06"),
    (REAL, "'-1234567'", "-1.234567e+06"),
    (REAL, "'1e10'", "1e+10"),
    (TEXT, "'x\"y'", 'x"y'),
    (Char(4), "'ab'", "ab  "),
    (BYTEA, "X'0A0BFF'", "\\x0a0bff"),
    (DATE, "'2024-07-03'", "2024-07-03"),
    (DATE, "'0001-01-01'", "0001-01-01"),
    (TIME, "67385312456", "18:43:05.312456"),
    (TIME, "67385300000", "18:43:05.3"),
    (TIMESTAMP, "'2024-07-03 18:43:05.312456'", "2024-07-03 18:43:05.312456"),
    (Timestamp(3), "'2024-07-03 18:43:05.3'", "2024-07-03 18:43:05.3"),
    (TIMESTAMPTZ, "'2024-07-03 18:43:05+00:00'", "2024-07-03 18:43:05+00"),
    (INTERVAL, interval(14, 3, 14706700000), "1 year 2 mons 3 days 04:05:06.7"),
    (INTERVAL, interval(0, 0, 0), "00:00:00"),
    (INTERVAL, interval(0, 0, -1000000), "-00:00:01"),
    (INTERVAL, interval(-13, 1, 0), "-1 years -1 mons +1 day"),
    (INTERVAL, interval(1, -2, 3600000000), "1 mon -2 days +01:00:00"),
    (INTERVAL, interval(0, 0, 360000000000), "100:00:00"),
    (JSONB, "'{\"a\":1}'", '{"a":1}'),
    (UUID, "'0d8a8b0e-0f0c-4f3c-8f10-8f4f2b1c7a10'", "0d8a8b0e-0f0c-4f3c-8f10-8f4f2b1c7a10"),
    (ListOf(INTEGER), "array(1, NULL)", "{1,NULL}"),
    (ArrayOf(TEXT), r"array('a', 'x y', '', 'null', 'q\"\\', 'b,c')", r'{a,"x y","","null","q\"\\","b,c"}'),
    (ArrayOf(ArrayOf(INTEGER)), "array(array(1, 2), array(3, 4))", "{{1,2},{3,4}}"),
    (MapOf(INTEGER), "map('b', 2, 'a b', 1, 'n', NULL)", '{"a b"=>1,b=>2,n=>NULL}'),
    (RANGES["int4range"], held_range("1", "false", "false", "5", "false"), "[1,5)"),
    (RANGES["int8range"], held_range("NULL", "false", "true", "NULL", "false"), "(,)"),
    (RANGES["daterange"], held_range("NULL", "false", "false", "NULL", "false", holds="false"), "empty"),
    (RANGES["numrange"], held_range("'1.50'", "true", "false", "'2'", "true"), "(1.5,2]"),
    (RANGES["tsrange"], held_range("'2024-07-03'", "false", "true", "NULL", "false"), '["2024-07-03 00:00:00",)'),
    (ListOf(RANGES["int4range"]), f"array({held_range('1', 'false', 'true', 'NULL', 'false')})", '{"[1,)"}'),
    (PAIR, "named_struct('f0', 1, 'f1', 'a b')", '(1,"a b")'),
    (PAIR, r"named_struct('f0', NULL, 'f1', 'q\"\\')", r'(,"q""\\")'),
    (PAIR, "named_struct('f0', 1, 'f1', '')", '(1,"")'),
    (ListOf(PAIR), "array(named_struct('f0', 1, 'f1', 'x'))", '{"(1,x)"}'),
]

# Spark shows these with other years; PostgreSQL has no year 0.
OTHER_ERAS = [
    (DATE, "date_sub(DATE'0001-01-01', 1)", "0001-12-31 BC"),
    (DATE, "date_add(DATE'9999-12-31', 1)", "10000-01-01"),
    (TIMESTAMPTZ, "timestamp_seconds(-62135596801)", "0001-12-31 23:59:59+00 BC"),
]

ALL = [*CASES, *OTHER_ERAS]


@pytest.fixture(scope="module")
def encoded(spark):
    """Values, texts and texts of NULLs, from one query."""
    held = [f"CAST({value} AS {spark_type(type)}) AS c{i}" for i, (type, value, _) in enumerate(ALL)]
    nulls = [f"CAST(NULL AS {spark_type(type)}) AS c{i}" for i, (type, _, _) in enumerate(ALL)]
    shown = [f"{text_form(f'c{i}', type)} AS t{i}" for i, (type, _, _) in enumerate(ALL)]
    kept = [f"c{i}" for i in range(len(CASES))]
    rows = f"SELECT 0 AS place, {', '.join(held)} UNION ALL SELECT 1, {', '.join(nulls)}"
    return spark.sql(f"SELECT {', '.join([*shown, *kept])} FROM ({rows}) ORDER BY place").toArrow()


@pytest.mark.parametrize("case", range(len(ALL)), ids=lambda i: f"{ALL[i][0]}-{ALL[i][1]}"[:60])
def test_a_value_has_its_golden_form_and_null_none(encoded, case):
    assert encoded.column(f"t{case}").to_pylist() == [ALL[case][2], None]


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda i: f"{CASES[i][0]}-{CASES[i][1]}"[:60])
def test_the_wire_protocol_shows_the_same(encoded, case):
    column = encoded.column(f"c{case}").combine_chunks()
    assert arrow_text_form(column, CASES[case][0]).to_pylist() == [CASES[case][2], None]


def test_null_is_a_part_of_no_bytes(spark):
    sql = TextEncoder().record((Column("a", INTEGER),), ["c0"])
    rows = "VALUES (42), (NULL) AS t(c0)"
    assert [row.v for row in spark.sql(f"SELECT {sql} AS v FROM {rows}").collect()] == [b"42", b""]


def test_a_side_of_a_change_is_a_record(spark):
    side = TextEncoder().side((Column("a", TEXT),), ["c0"])
    found = spark.sql(f"SELECT {side} AS s FROM VALUES ('x y'), ('z'), (NULL) AS t(c0)").collect()
    assert [row.s for row in found] == [b'("x y")', b"(z)", b"()"]


def test_more_than_one_column_is_refused():
    with pytest.raises(NotSupported, match="BYTES or TEXT format with multiple columns not yet supported"):
        TextEncoder().check((Column("a", INTEGER), Column("b", INTEGER)))
