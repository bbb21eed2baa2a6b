"""The 22 queries of TPC-H as materialized views: incremental without exception, and equal to a recompute always.

The texts are the specification's with its validation parameters; Q15 is the variant with WITH in place of a view.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from properties.benchmark_views import assert_no_recompute, live
from properties.tpch import QUERIES, TABLES, Business
from properties.world import World
from tailrace.state.store import SMALL_ROWS


@pytest.mark.parametrize("keys", [True, False], ids=["with keys", "without keys"])
def test_no_query_needs_a_recompute(spark: SparkSession, keys: bool) -> None:
    assert len(QUERIES) == 22
    assert_no_recompute(spark, TABLES, QUERIES, keys=keys)


def test_every_tick_equals_a_recompute(spark: SparkSession, tmp_path: Path) -> None:
    world = World(spark, tmp_path, QUERIES, tables=TABLES)
    try:
        live(world, Business(seed=10), days=(20, 1))
    finally:
        world.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(7, 13))  # in these every query has rows, and changes
def test_every_tick_equals_a_recompute_for_long(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    world = World(spark, tmp_path, QUERIES, tables=TABLES, small_rows=SMALL_ROWS if seed % 2 else 1)
    try:
        live(world, Business(seed=seed), days=(1, 20, 1, 1, 3, 1, 20, 1), restarts=(2, 5))
    finally:
        world.close()
