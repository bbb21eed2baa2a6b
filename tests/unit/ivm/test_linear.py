"""Where a row comes from travels with it through filters, projections and set-returning functions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession

from tailrace.ivm.operator import Stateless
from tailrace.ivm.rules import linear
from tailrace.ivm.zset import Placed, ZSet
from tailrace.plan.bind import bind_query
from tailrace.plan.names import FixedNames, Relation
from tailrace.plan.nodes import Scan
from tailrace.types.core import BEGINNING, INTEGER, Column, Tick

SCHEMA = (Column("k", INTEGER), Column("v", INTEGER))
VALUES = "(1, 10, 1L, 0), (2, 20, 1L, 1), (3, 30, 1L, 1), (4, NULL, 1L, 2)"
ROWS = f"SELECT * FROM VALUES {VALUES} AS t(c0, c1, weight, place)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic(Stateless):
    """A relation whose rows have places: partitions of a topic."""

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        bare = f"SELECT c0, c1, weight FROM ({ROWS})"
        return ZSet(arity=2, sql=bare, rows=4, positive=True, placed=Placed(sql=ROWS, rows={0: 1, 1: 2, 2: 1}))


def changed(query: str, lo: Tick) -> ZSet:
    log = Relation(id="u1", kind="source", name="materialize.public.log", schema=SCHEMA, append_only=True)
    node = bind_query(query, FixedNames(log)).node
    built = linear.build(node, lambda below: Topic(node=below, rule="topic", below=()))
    assert all(isinstance(each.node, Scan) for each in built.below)
    return built.delta(lo, Tick(2))


def counted(spark: SparkSession, sql: str, *, arity: int) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row)[: arity + 1] for row in spark.sql(sql).collect())


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("SELECT k FROM log", {1: 0, 2: 1, 3: 1, 4: 2}),
        ("SELECT k FROM log WHERE v > 10", {2: 1, 3: 1}),
        ("SELECT k + 1 AS k FROM log WHERE 10 / v < 1 OR v IS NULL", {3: 1, 4: 1, 5: 2}),
        ("SELECT k * 100 + g AS k FROM log, generate_series(1, k) AS g WHERE k < 3", {101: 0, 201: 1, 202: 1}),
    ],
)
def test_rows_keep_their_places(spark: SparkSession, query: str, places: dict[int, int]) -> None:
    change = changed(query, Tick(1))
    assert change.sql is not None
    assert change.placed is not None
    assert {row.c0: row.place for row in spark.sql(change.placed.sql).collect()} == places
    assert counted(spark, change.placed.sql, arity=1) == counted(spark, change.sql, arity=1)
    assert change.placed.rows == {0: 1, 1: 2, 2: 1}


@pytest.mark.parametrize(
    "query", ["SELECT k FROM log UNION ALL SELECT v FROM log", "SELECT k FROM log UNION ALL VALUES (7)"]
)
def test_rows_from_several_places_of_origin_have_none(query: str) -> None:
    assert changed(query, BEGINNING).placed is None


def test_constants_are_no_change_later() -> None:
    assert changed("SELECT k FROM log UNION ALL VALUES (7)", Tick(1)).placed is not None
