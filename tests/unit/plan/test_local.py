"""The driver's own evaluator says what Spark says, or leaves the query to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import SparkSession

from tailrace.errors import DataError
from tailrace.plan.bind import bind_query
from tailrace.plan.local.contract import NotLocal
from tailrace.plan.local.rows import rows_of
from tailrace.plan.names import FixedNames
from tailrace.plan.nodes import Scan
from unit.plan.conftest import text_of
from unit.plan.test_queries import QUERIES

if TYPE_CHECKING:
    from unit.plan.conftest import Failure

EXPRESSIONS = (
    "7 / 2", "-7 / 2", "-7 % 3", "2147483647::bigint + 1", "6 & 3", "6 | 1", "(38 << 16) | 2", "9 >> 1",
    "-9 >> 1", "-(5)",
    "'a' < 'b'", "null = 1", "null is null", "1 is not distinct from null", "not (null and true)",
    "true or null", "false and null", "2 in (1, null)", "2 in (2, null)", "2 not in (1, 3)",
    "case when null then 1 else 2 end", "coalesce(null, 3)", "nullif(1, 1)", "greatest(1, null, 3)", "least(2, 1)",
    "'abc' like 'a%'", "'a%c' like 'a\\%c'", "'abc' ilike 'A_C'", "'abc' not like 'x%'", "'a_c' like 'a/_c' escape '/'",
    "'pg_x' ~ '^pg_'", "'x' !~ '^pg_'", "'ABC' ~* 'b'", "'a' || 'b'", "lower('AbC')", "upper('ab')", "length('äö')",
    "octet_length('äö')", "substring('hello', 2, 3)", "substring('hello', -1, 4)", "substring('hello', 3)",
    "left('hello', 2)", "left('hello', -2)", "right('hello', 2)", "right('hello', -2)", "right('hello', 0)",
    "replace('aXbX', 'X', '-')", "split_part('a.b.c', '.', 2)", "strpos('hello', 'l')", "btrim('  a ')",
    "ltrim('xxa', 'x')", "rtrim('axx', 'x')", "repeat('ab', 2)", "quote_ident('a b')", "quote_ident('ab')",
    "quote_literal('it''s')", "string_to_array('a,b', ',')", "string_to_array('', ',')", "concat('a', null, 'b')",
    "array_length(array[1,2], 1)", "array_upper(array[1,2], 1)", "array_lower(array[1,2], 1)",
    "cardinality(array[1,2,3])", "array_to_string(array['a', null, 'b'], ',')",
    "array_to_string(array['a', null], ',', '*')", "(array[10,20])[2]", "(array[10,20])[3]", "array[1,2] || array[3]",
    "array_position(array['a','b'], 'b')", "array_remove(array[1,2,1], 1)", "array_append(array[1], 2)",
    "array_prepend(0, array[1])", "array[1,2] @> array[2]", "2 = any (array[1,2])", "2 = all (array[2,null])",
    "3 = any (array[1,null])", "2 <> all (array[1,3])", "'x' like any (array['a%','x%'])",
    "1::text", "true::text", "array['a b','c',null,'']::text", "'12'::int", "12::bigint", "'t'::boolean", "1::boolean",
    "true::int", "'{1,2}'::int[]", "7::numeric", "'abc'::varchar(2)", "'a'::char(3)",
    "'1 2'::int2vector", "('7 8'::int2vector)[0]", "('7 8'::oidvector)[2]", "array_lower('7 8'::int2vector, 1)",
    "array_upper('7 8'::int2vector, 1)", "array(select generate_subscripts('7 8'::int2vector, 1))",
    "array(select unnest('7 8'::oidvector))", "7 = any ('7 8'::int2vector)", "'abc'::\"char\"", "'a'::\"char\" || 'b'",
    """'{"b": [1, {"c": "x"}], "a": 1.50}'::jsonb""", """'{"a": {"b": 1}}'::jsonb -> 'a'""",
    """'{"a": "x"}'::jsonb ->> 'a'""", """'{"a": null}'::jsonb ->> 'a'""", "'[1,2]'::jsonb -> 1", "'[1,2]'::jsonb -> 5",
    "jsonb_build_object('a', 1, 'b', null, 'c', 'x')", "json_build_object('k', true)", "jsonb_build_array(1, 'x')",
    "(select max(x) from unnest(array[3,1,2]) x)", "array(select x from generate_series(3, 1, -1) x)",
    "(select string_agg(x, '-' order by x desc) from unnest(array['a','b']) x)",
)  # fmt: skip

LEFT_TO_SPARK = ("1.5 * 2", "date '2024-01-01' + 1", "'abc' ~ '[[:alpha:]]+'", "sqrt(2)", "md5('a')")
"""What the evaluator does not know exactly, it does not guess."""


@pytest.fixture
def rows_here(views: SparkSession, names: FixedNames) -> Any:
    tables = {id: [tuple(row) for row in views.table(id).collect()] for id in ("u1", "u2")}

    def run(query: str) -> list[tuple[Any, ...]]:
        bound = bind_query(query, names)

        def leaf(scan: Scan) -> list[tuple[Any, ...]]:
            return tables[scan.relation]

        return [row[: bound.visible] for row in rows_of(bound.node, leaf, {}, bound.order_by)]

    return run


def test_expressions_mean_what_they_mean_in_spark(views: SparkSession, names: FixedNames, rows_here: Any) -> None:
    query = "select " + ", ".join(f"({each})::text" for each in EXPRESSIONS)
    [spark] = views.sql(text_of(bind_query(query, names))).collect()
    [here] = rows_here(query)
    assert dict(zip(EXPRESSIONS, here, strict=True)) == dict(zip(EXPRESSIONS, spark, strict=True))


@pytest.mark.parametrize("expression", LEFT_TO_SPARK)
def test_what_is_not_known_exactly_is_left_to_spark(rows_here: Any, expression: str) -> None:
    with pytest.raises(NotLocal):
        rows_here(f"select ({expression})::text")


@pytest.mark.parametrize(
    "query",
    [
        "select count(*) from generate_series(1, 2000000000) a",
        "select count(*) from generate_series(1, 3000) a, generate_series(1, 3000) b",
        "select length(repeat('x', 2000000000))",
    ],
)
def test_what_is_not_small_is_left_to_spark(rows_here: Any, query: str) -> None:
    with pytest.raises(NotLocal):
        rows_here(query)


def test_queries_have_the_rows_that_spark_gives(views: SparkSession, names: FixedNames, rows_here: Any) -> None:
    answered = 0
    for query, *_ in QUERIES:
        try:
            here = rows_here(query)
        except NotLocal:
            continue
        answered += 1
        bound = bind_query(query, names)
        spark = [tuple(row)[: bound.visible] for row in views.sql(text_of(bound)).collect()]
        key = repr if not bound.order_by else lambda row: 0
        assert sorted(here, key=key) == sorted(spark, key=key), query
    assert answered >= len(QUERIES) // 2


@pytest.mark.parametrize(
    "query", ["select 1 / 0", "select 2147483647 + 1", "select (select x from generate_series(1, 2) x)"]
)
def test_errors_are_the_same(rows_here: Any, failure: Failure, query: str) -> None:
    with pytest.raises(DataError) as raised:
        rows_here(query)
    assert raised.value.sqlstate == failure(query)[0]
