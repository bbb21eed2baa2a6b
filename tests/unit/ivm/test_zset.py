"""Z-sets are texts: they add, negate and consolidate without Spark, and what is known to be empty stays so."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tailrace.ivm.zset import ZSet, columns, leading
from tailrace.types.core import INTEGER, Column

ONE = (Column("c", INTEGER),)
ROWS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from([-2, -1, 1, 3])), max_size=4)


def of(*rows: tuple[int, int]) -> ZSet:
    """Rows of one column with their weights."""
    values = ", ".join(f"({value}, {weight}L)" for value, weight in rows)
    return ZSet(arity=1, sql=f"SELECT * FROM VALUES {values} AS v(c0, weight)" if rows else None, rows=len(rows))


def weights(spark: SparkSession, zset: ZSet) -> Counter[int]:
    found: Counter[int] = Counter()
    if zset.sql is not None:
        for row in spark.sql(zset.sql).collect():
            found[row.c0] += row.weight
    return Counter({value: weight for value, weight in found.items() if weight})


def test_an_empty_z_set_vanishes_from_every_sum() -> None:
    empty, one = ZSet.empty(1), of((1, 1))
    assert empty.plus(one) is one
    assert one.plus(empty, empty) is one
    assert empty.plus(empty).is_empty
    assert empty.negated().is_empty
    assert empty.consolidated(ONE).is_empty
    assert empty.mapped(["c0", "c0"]).is_empty
    assert empty.mapped(["c0", "c0"]).arity == 2


def test_what_is_known_of_a_sum_is_what_is_known_of_all_its_terms() -> None:
    up = ZSet(arity=1, sql="SELECT 1 AS c0, 1L AS weight", rows=1, positive=True)
    assert up.plus(up).positive
    assert up.plus(up).rows == 2
    assert not up.plus(of((1, -1))).positive
    assert not up.negated().positive
    assert up.mapped(["c0 + 1"]).positive


def test_only_what_may_cancel_is_consolidated_before_an_expression_that_can_fail() -> None:
    up = ZSet(arity=1, sql="SELECT 1 AS c0, 1L AS weight", rows=1, positive=True)
    settled = of((1, 1), (2, -1)).consolidated(ONE)
    assert up.settled(ONE) is up
    assert settled.is_settled
    assert settled.settled(ONE) is settled
    assert settled.mapped(["c0 + 1"]).is_settled
    assert not settled.plus(settled).is_settled
    assert of((1, 1)).settled(ONE).is_settled


@pytest.mark.parametrize(("arity", "listed", "led"), [(0, "", ""), (1, "c0", "c0, "), (2, "c0, c1", "c0, c1, ")])
def test_columns_are_listed_for_any_arity(arity: int, listed: str, led: str) -> None:
    assert (columns(arity), leading(arity)) == (listed, led)


@settings(max_examples=15)
@given(left=ROWS, right=ROWS)
def test_sums_of_texts_are_sums_of_weights(
    spark: SparkSession, left: list[tuple[int, int]], right: list[tuple[int, int]]
) -> None:
    expected: Counter[int] = Counter()
    for value, weight in (*left, *((value, -weight) for value, weight in right)):
        expected[value] += weight
    found = of(*left).plus(of(*right).negated()).consolidated(ONE)
    assert weights(spark, found) == {value: weight for value, weight in expected.items() if weight}


def test_a_relation_without_columns_has_one_row_for_all_its_weight(spark: SparkSession) -> None:
    nameless = ZSet(arity=0, sql="SELECT * FROM VALUES (2L), (-1L) AS v(weight)").consolidated(())
    assert [row.weight for row in spark.sql(str(nameless.sql)).collect()] == [1]
    gone = ZSet(arity=0, sql="SELECT * FROM VALUES (1L), (-1L) AS v(weight)").consolidated(())
    assert spark.sql(str(gone.sql)).collect() == []
