"""Aggregates over Spark, and sums that agree with them however rows come and go."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

from tailrace.plan.bind import bind_query
from tailrace.plan.functions.aggregates import additive
from tailrace.plan.names import FixedNames
from tailrace.plan.nodes import Aggregate, Node, inputs
from tailrace.plan.to_spark import render, render_expression

if TYPE_CHECKING:
    from unit.plan.conftest import Rows


def test_sums_and_counts_by_group(rows: Rows) -> None:
    found = rows(
        "select a, count(*), count(s), sum(b), sum(n), sum(d), min(s), max(b), bool_and(b > 10),"
        " bool_or(b > 10)"
        " from t group by a order by a"
    )
    assert found == [
        (1, 2, 2, 30, Decimal("3.75"), 0.30000000000000004, "x", 20, False, True),
        (2, 1, 0, 30, None, 1e20, None, 30, True, True),
        (None, 1, 1, 40, Decimal(-3), None, "", 40, True, True),
    ]


def test_no_rows_are_still_one_group(rows: Rows) -> None:
    found = rows(
        "select count(*), count(a), sum(b), avg(n), sum(d), min(s), string_agg(s, ','), array_agg(s) from t where false"
    )
    assert found == [(0, 0, None, None, None, None, None, None)]


def test_averages_and_spreads(rows: Rows) -> None:
    found = rows("select avg(b), avg(n), avg(d), var_pop(b), stddev(b), variance(id), avg(id), avg(amount) from t, o")
    assert found == [
        (
            Decimal(25),
            Decimal("0.25"),
            33333333333333332650.0 + 0.1,
            Decimal(125),
            Decimal("11.547005383792516"),
            Decimal("1.333333333333333300"),
            Decimal("2.5"),
            Decimal("8.94"),
        )
    ]


def test_no_value_and_one_value_have_no_sample_spread(rows: Rows) -> None:
    found = rows("select stddev(d), stddev_pop(d), variance(n), stddev(b) from t where b > 30")
    assert found == [(None, None, None, None)]
    found = rows("select stddev(d), stddev_pop(d), var_pop(n), var_samp(b) from t where b = 10")
    assert found == [(None, 0.0, Decimal(0), None)]


def test_distinct_filter_and_order(rows: Rows) -> None:
    found = rows(
        "select count(distinct a), sum(distinct a), avg(distinct a), count(*) filter (where a = 1),"
        " sum(b) filter (where s = 'x'), string_agg(s, ',' order by b desc), array_agg(a order by b desc),"
        " array_agg(distinct a), jsonb_agg(a), jsonb_object_agg(coalesce(s, '?'), b), list_agg(b) from t"
    )
    assert found == [
        (
            2,
            3,
            Decimal("1.5"),
            2,
            10,
            ",y,x",
            [None, 2, 1, 1],
            [1, 2, None],
            "[1,1,2,null]",
            '{"":40,"?":30,"x":10,"y":20}',
            [10, 20, 30, 40],
        )
    ]


def test_an_aggregate_without_an_order_does_not_depend_on_the_rows_order(
    spark: SparkSession, names: FixedNames
) -> None:
    node = bind_query(
        "select sum(d), avg(d), stddev(d), string_agg(s, '-'), array_agg(a), jsonb_agg(s) from t", names
    ).node
    rows = "SELECT CAST(id % 7 AS int) AS c0, 1 AS c1, CAST(id % 11 AS string) AS c2, id * 0.1D AS c4 FROM range(50)"
    texts = [
        render(
            node,
            lambda scan, order=order: (
                f"(SELECT * FROM (SELECT /*+ REPARTITION(3) */ * FROM ({rows})) ORDER BY {order})"
            ),
        )
        for order in ("c4", "c4 DESC", "hash(c4)")
    ]
    assert len({str(spark.sql(text).collect()) for text in texts}) == 1


ADDITIVE = [
    "count(*)",
    "count(x)",
    "sum(x)",
    "avg(x)",
    "sum(big)",
    "avg(big)",
    "sum(n)",
    "avg(n)",
    "sum(m)",
    "avg(m)",
    "bool_and(x > 1)",
    "bool_or(x > 1)",
    "variance(x)",
    "stddev_pop(x)",
    "sum(x) filter (where x > 1)",
]


def test_sums_of_contributions_say_the_same_after_retractions(spark: SparkSession) -> None:
    """Rows come with weight +3 and go with −2: the finalized sums are those of the row that stays, once."""
    from unit.plan.conftest import relation

    names = FixedNames(relation("u1", "t", "x integer, big bigint, n numeric, m numeric(10,2)"))
    node = _aggregate(bind_query(f"select {', '.join(ADDITIVE)} from t", names).node)
    rows = (
        "(1, 9223372036854775807L, -1.000000000000000001BD, 1.25BD), (3, 9223372036854775807L,"
        " 123456789.5BD, -2.5BD),"
        " (NULL, NULL, NULL, NULL)"
    )
    table = (
        "SELECT c0, c1, CAST(c2 AS decimal(38,18)) AS c2, CAST(c3 AS decimal(38,2)) AS c3"
        f" FROM VALUES {rows} AS t(c0, c1, c2, c3)"
    )
    columns = [f"c{i}" for i in range(len(node.input.schema))]
    batch = spark.sql(render(node, lambda scan: f"({table})"))
    inner = render(node.input, lambda scan: f"({table})")
    weighted = f"SELECT *, CAST(w AS bigint) AS weight FROM ({inner}) LATERAL VIEW explode(array(3, -2)) x AS w"
    outputs = []
    for call in node.aggregates:
        rule = additive(call)
        assert rule is not None
        parts = rule.contributions(call, [render_expression(a, columns) for a in call.arguments])
        if call.filter is not None:
            parts = [part.filtered(render_expression(call.filter, columns)) for part in parts]
        totals = [f"CAST(sum(CAST(weight * ({part.text}) AS {part.ddl})) AS {part.ddl})" for part in parts]
        outputs.append(rule.finalize(call, totals))
    kept = spark.sql(f"SELECT {', '.join(outputs)} FROM ({weighted})").collect()
    expected = batch.collect()
    assert list(kept[0]) == list(expected[0])
    assert expected[0][4] == Decimal("18446744073709551614")
    assert expected[0][6] == Decimal("123456788.499999999999999999")


def _aggregate(node: Node) -> Aggregate:
    while not isinstance(node, Aggregate):
        (node,) = inputs(node)
    return node


@pytest.mark.parametrize("aggregate", ["sum(d)", "min(a)", "array_agg(a)", "stddev(n)", "string_agg(s, ',')"])
def test_what_is_no_function_of_sums_says_so(names: FixedNames, aggregate: str) -> None:
    (call,) = _aggregate(bind_query(f"select {aggregate} from t", names).node).aggregates
    assert additive(call) is None


def test_distinct_sums_are_not_additive(names: FixedNames) -> None:
    (call,) = _aggregate(bind_query("select sum(distinct a) from t", names).node).aggregates
    assert additive(call) is None
    assert additive(replace(call, distinct=False)) is not None


def test_window_functions(rows: Rows) -> None:
    found = rows(
        "select b, row_number() over (partition by a order by b desc), rank() over (order by a),"
        " lag(b) over (order by b),"
        " lead(b, 1, 0) over (order by b), sum(b) over (partition by a), sum(b) over (order by b),"
        " sum(b) over (order by b rows between 1 preceding and current row), first_value(b) over w,"
        " ntile(2) over w,"
        " avg(b) over () from t window w as (order by b) order by b"
    )
    assert found == [
        (10, 2, 1, None, 20, 30, 10, 10, 10, 1, Decimal(25)),
        (20, 1, 1, 10, 30, 30, 30, 30, 10, 1, Decimal(25)),
        (30, 1, 3, 20, 40, 30, 60, 50, 10, 2, Decimal(25)),
        (40, 1, 4, 30, 0, 40, 100, 70, 10, 2, Decimal(25)),
    ]


def test_grouping_sets_rollup_and_cube(rows: Rows) -> None:
    assert rows("select a, sum(b) from t group by rollup (a) order by 2, 1") == [
        (1, 30),
        (2, 30),
        (None, 40),
        (None, 100),
    ]
    assert rows("select a, s, count(*) from t where a = 1 group by grouping sets ((a), (s), ())") == [
        (1, None, 2),
        (None, "x", 1),
        (None, "y", 1),
        (None, None, 2),
    ]
    assert len(rows("select a, s, count(*) from t where a = 1 group by cube (a, s)")) == 6
