"""PostgreSQL's binary form: golden bytes where they are published, the wire protocol's bytes everywhere."""

import pytest

from tailrace.errors import NotSupported
from tailrace.formats.encode_bytes import BytesEncoder, binary_form
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
    OID,
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
    Char,
    Column,
    ListOf,
    MapOf,
    Numeric,
)
from tailrace.types.postgres.binary import binary_form as arrow_binary_form
from tailrace.types.spark import spark_type

CASES = [
    (BOOLEAN, "true", "01"),
    (BOOLEAN, "false", "00"),
    (SMALLINT, "-2S", "fffe"),
    (INTEGER, "42", "0000002a"),
    (INTEGER, "-1", "ffffffff"),
    (BIGINT, "1", "0000000000000001"),
    (UINT2, "65535", "ffff"),
    (UINT4, "4294967295", "ffffffff"),
    (UINT8, "42", "000000000000002a"),
    (UINT8, "18446744073709551615", "ffffffffffffffff"),
    (OID, "16", "00000010"),
    (REAL, "'1.5'", "3fc00000"),
    (DOUBLE, "'-2'", "c000000000000000"),
    (DOUBLE, "'NaN'", None),
    (NUMERIC, "'12.5'", "0002000000000001000c1388"),
    (NUMERIC, "'0'", "0000000000000000"),
    (NUMERIC, "'-10000'", "0001000140000000" + "0001"),
    (NUMERIC, "'0.00001'", None),
    (NUMERIC, "'12345678901234567890.123456789012345678'", None),
    (Numeric(2), "'-12.30'", None),
    (Numeric(0), "'120000'", None),
    (TEXT, "'héllo'", "68c3a96c6c6f"),
    (Char(3), "'a'", "612020"),
    (BYTEA, "X'00FF'", "00ff"),
    (DATE, "'2000-01-02'", "00000001"),
    (DATE, "'1970-01-01'", None),
    (TIME, "1000000", "00000000000f4240"),
    (TIMESTAMP, "'2000-01-01 00:00:01'", "00000000000f4240"),
    (TIMESTAMPTZ, "'1999-12-31 23:59:59+00:00'", "fffffffffff0bdc0"),
    (INTERVAL, "named_struct('months', 14, 'days', 3, 'micros', 1L)", "0000000000000001000000030000000e"),
    (JSONB, "'{\"a\":1}'", "017b2261223a317d"),
    (UUID, "'0d8a8b0e-0f0c-4f3c-8f10-8f4f2b1c7a10'", "0d8a8b0e0f0c4f3c8f108f4f2b1c7a10"),
]


@pytest.fixture(scope="module")
def encoded(spark):
    """Values and bytes, also of a NULL of each type, from one query."""
    held = [f"CAST({value} AS {spark_type(type)}) AS c{i}" for i, (type, value, _) in enumerate(CASES)]
    nulls = [f"CAST(NULL AS {spark_type(type)}) AS c{i}" for i, (type, _, _) in enumerate(CASES)]
    shown = [f"{binary_form(f'c{i}', type)} AS b{i}, c{i}" for i, (type, _, _) in enumerate(CASES)]
    rows = f"SELECT 0 AS place, {', '.join(held)} UNION ALL SELECT 1, {', '.join(nulls)}"
    return spark.sql(f"SELECT {', '.join(shown)} FROM ({rows}) ORDER BY place").toArrow()


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda i: f"{CASES[i][0]}-{CASES[i][1]}"[:60])
def test_a_value_has_postgres_binary_form_and_null_none(encoded, case):
    type, _, golden = CASES[case]
    oracle = arrow_binary_form(encoded.column(f"c{case}").combine_chunks(), type).to_pylist()
    assert encoded.column(f"b{case}").to_pylist() == oracle
    assert oracle[1] is None
    if golden is not None:
        assert oracle[0].hex() == golden


def test_null_is_a_part_of_no_bytes(spark):
    sql = BytesEncoder().record((Column("a", INTEGER),), ["c0"])
    rows = "VALUES (42), (NULL) AS t(c0)"
    assert [row.v for row in spark.sql(f"SELECT {sql} AS v FROM {rows}").collect()] == [b"\0\0\0*", b""]


@pytest.mark.parametrize("type", [ListOf(INTEGER), MapOf(TEXT)])
def test_a_type_without_binary_form_is_refused(type):
    with pytest.raises(NotSupported, match=r"BYTES format with non-encodable type: .* not yet supported"):
        BytesEncoder().check((Column("a", type),))
