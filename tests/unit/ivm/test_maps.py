"""Rows with maps are told to be the same by their entries, and what is missing in a map stays missing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tailrace.ivm import maps
from tailrace.ivm.zset import ZSet
from tailrace.state.layout import Layout
from tailrace.types.core import DOUBLE, INTEGER, TEXT, Column, ListOf, MapOf, Record, SqlType

NUMBERS = MapOf(INTEGER)
NESTED = ListOf(Record((Column("a", MapOf(MapOf(DOUBLE))), Column("b", TEXT))))
TYPES: tuple[SqlType, ...] = (INTEGER, NUMBERS, NESTED)
SCHEMA = tuple(Column(f"column {i}", type) for i, type in enumerate(TYPES))

# Each the same map, or none, whatever the order of its entries.
MAPS = ("map('b', CAST(NULL AS int), 'a', 1)", "map('a', 1, 'b', CAST(NULL AS int))")
LISTS = (
    "array(named_struct('f0', map('y', NULL, 'x', map('n', 0.5D, 'm', CAST(NULL AS double))), 'f1', 'one'), NULL)",
    "array(named_struct('f0', map('x', map('m', CAST(NULL AS double), 'n', 0.5D), 'y', NULL), 'f1', 'one'), NULL)",
)
EXPECTED = [
    (0, {"a": 1, "b": None}, [({"x": {"m": None, "n": 0.5}, "y": None}, "one"), None], 2),
    (1, None, None, 2),
    (2, {}, [], 2),
]


@pytest.fixture
def rows(spark: SparkSession) -> Iterator[str]:
    """Twice each, with the entries of maps in another order; made by tasks, so that Spark generates code for them."""
    spark.range(6).selectExpr(
        "CAST(id DIV 2 AS int) AS c0",
        f"CASE id WHEN 0 THEN {MAPS[0]} WHEN 1 THEN {MAPS[1]} WHEN 4 THEN map() WHEN 5 THEN map() END AS c1",
        f"CASE id WHEN 0 THEN {LISTS[0]} WHEN 1 THEN {LISTS[1]} WHEN 4 THEN array() WHEN 5 THEN array() END AS c2",
        "1L AS weight",
    ).createOrReplaceTempView("rows_with_maps")
    yield "SELECT c0, c1, c2, weight FROM rows_with_maps"
    spark.catalog.dropTempView("rows_with_maps")


def found(spark: SparkSession, sql: str) -> list[tuple[object, ...]]:
    picked = spark.sql(f"SELECT c0, c1, c2, weight FROM ({sql}) ORDER BY c0").collect()
    return [(row.c0, row.c1, _plain(row.c2), row.weight) for row in picked]


def _plain(list: object) -> object:
    return None if list is None else [None if each is None else (each.f0, each.f1) for each in list]  # type: ignore[attr-defined]


def of_z_set(rows: str) -> str:
    return str(ZSet(arity=3, sql=rows).consolidated(SCHEMA).sql)


def of_layout(rows: str) -> str:
    return Layout.of(SCHEMA).consolidated(f"SELECT 7L AS h, * FROM ({rows})")


@pytest.mark.parametrize("consolidated", [of_z_set, of_layout])
def test_what_is_missing_in_a_map_stays_missing(spark: SparkSession, rows: str, consolidated) -> None:
    assert found(spark, consolidated(rows)) == EXPECTED


@pytest.mark.parametrize("consolidated", [of_z_set, of_layout])
def test_spark_by_itself_takes_it_for_nought(
    spark: SparkSession, rows: str, consolidated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps, "has_map", lambda type: False)
    assert found(spark, consolidated(rows))[0][1] == {"a": 1, "b": 0}


def test_rows_without_maps_are_asked_for_as_they_are() -> None:
    assert maps.as_entries("SELECT 1", ["int", "array<struct<a:int>>"], (), ()) == "SELECT 1"
