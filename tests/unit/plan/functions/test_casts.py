"""Casts and text forms."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tailrace.errors import InvalidText
from tailrace.jvm.functions import install
from tailrace.plan.coercion import assign
from tailrace.plan.data_errors import translate
from tailrace.plan.expressions import Ref
from tailrace.plan.to_spark import render_expression
from tailrace.plan.value_ranges import range_parts
from tailrace.types.core import TEXT, Varchar

if TYPE_CHECKING:
    from unit.plan.conftest import Failure, Meanings


def test_a_range_at_run_time_is_read_as_a_constant_is(spark: SparkSession) -> None:
    install(spark)
    chance = random.Random(7)
    pieces = [*'[](),"\\ 1', '""', '"1"', "empty", "Empty"]
    bounds = ["".join(chance.choices(pieces, k=chance.randrange(4))) for _ in range(2000)]
    pairs = zip(bounds, bounds[1:], chance.choices("[(", k=1999), chance.choices(")]", k=1999), strict=False)
    texts = sorted({*bounds, *(f"{opening}{lower},{upper}{closing}" for lower, upper, opening, closing in pairs)})
    rows = spark.createDataFrame([(text,) for text in texts], "t string")
    found = [row[0] for row in rows.selectExpr("tailrace_try(tailrace_range_parts(t))").collect()]
    expected: list[list[str | None] | None] = []
    for text in texts:
        try:
            expected.append([*range_parts(text)])
        except InvalidText:
            expected.append(None)
    assert dict(zip(texts, found, strict=True)) == dict(zip(texts, expected, strict=True))
    assert sum(parts is not None for parts in expected) > 100


def test_numbers(means: Meanings) -> None:
    means(
        {
            "2.5::int": "3",
            "(-2.5)::int": "-3",
            "2.5::float8::int": "2",
            "3.5::float8::int": "4",
            "' 5 '::int": "5",
            "1.25::numeric(10,1)": "1.3",
            "1.10": "1.1",
            "42::text": "42",
            "1::bool": "true",
            "true::int": "1",
            "'1.50'::text::numeric": "1.5",
            "5::uint2": "5",
            "1e20::float8": "1e+20",
            "1e15::float8": "1e+15",
            "123456789012345::float8": "123456789012345",
            "1e-5::float8": "1e-05",
            "0.0001::float8": "0.0001",
            "0.1::float8": "0.1",
            "100::float8": "100",
            "1e7::float8": "10000000",
            "12345678.5::float8": "12345678.5",
            "'NaN'::float8": "NaN",
            "'-infinity'::float8": "-Infinity",
            "0.1::real": "0.1",
            "1e10::real": "1e+10",
            "0.00012345::float8": "0.00012345",
            "1e300::float8": "1e+300",
            "2147483648::int8::numeric": "2147483648",
            "0.000000000000000001": "0.000000000000000001",
            "100.0": "100",
            "0.0": "0",
            "-0.50": "-0.5",
        }
    )


def test_texts(means: Meanings) -> None:
    means(
        {
            "'abc'::varchar(2)": "ab",
            "'ab'::char(4) || 'x'": "abx",
            "true": "true",
            "'t'::bool": "true",
            "'off'::text::bool": "false",
            r"'\x0A0b'::bytea": r"\x0a0b",
            r"'\x0a'::text::bytea": r"\x0a",
            "'A0EEBC999C0B4EF8BB6D6BB9BD380A11'::uuid": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "'A0EEBC999C0B4EF8BB6D6BB9BD380A11'::text::uuid": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "null::int": None,
        }
    )


def test_nested_values(means: Meanings) -> None:
    means(
        {
            "array[1, 2, null]": "{1,2,NULL}",
            "array['a', 'b c', '', 'null', 'q\"']": r'{a,"b c","","null","q\""}',
            "list[1, 2]": "{1,2}",
            "map['b' => 2, 'a' => 1]": "{a=>1,b=>2}",
            "row(1, 'a b', null)": '(1,"a b",)',
            "array[true, false]": "{t,f}",
            "array[array[1, 2], array[3, 4]]": "{{1,2},{3,4}}",
            "array[]::int[]": "{}",
            "'{1,2}'::int[]": "{1,2}",
            "'{1,NULL}'::text::int[]": "{1,NULL}",
            "array[1.50]::text[]": "{1.5}",
            "(row(1, 2)).f2": "2",
        }
    )


@pytest.mark.parametrize(
    ("expression", "sqlstate", "message"),
    [
        ("s::int", "22P02", 'invalid input syntax for type integer: "x"'),
        ("s::numeric", "22P02", 'invalid input syntax for type numeric: "x"'),
        ("s::float8", "22P02", 'invalid input syntax for type double precision: "x"'),
        ("s::bool", "22P02", 'invalid input syntax for type boolean: "x"'),
        ("s::date", "22007", 'invalid input syntax for type date: "x"'),
        ("s::timestamp", "22007", 'invalid input syntax for type timestamp: "x"'),
        ("s::uuid", "22P02", 'invalid input syntax for type uuid: "x"'),
        ("s::jsonb", "22P02", "invalid input syntax for type json"),
        ("(b * 10000)::smallint", "22003", "smallint out of range"),
        ("(-b)::uint4", "22003", "uint4 out of range"),
        ("(data->'c')::int", "22023", 'cannot cast jsonb "x" to type integer'),
    ],
)
def test_a_text_that_is_no_value_is_an_error(failure: Failure, expression: str, sqlstate: str, message: str) -> None:
    assert failure(f"select {expression} from t where b = 10") == (sqlstate, message)


def test_assigning_a_text_that_is_too_long_is_an_error(spark: SparkSession) -> None:
    text = render_expression(assign(Ref(index=0, type=TEXT, nullable=True), Varchar(3)), ["x"])
    found = spark.sql(f"SELECT {text} FROM VALUES ('abc'), ('ab  ') AS t(x)").collect()
    assert [row[0] for row in found] == ["abc", "ab "]
    with pytest.raises(PySparkException) as raised:
        spark.sql(f"SELECT {text} FROM VALUES ('abcd') AS t(x)").collect()
    assert str(translate(str(raised.value))) == "value too long for type character varying(3)"
