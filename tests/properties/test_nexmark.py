"""The queries of Nexmark that need no event time, over tables whose rows also change and leave."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from properties.benchmark_views import assert_no_recompute, live
from properties.nexmark import QUERIES, TABLES, Market
from properties.world import World
from tailrace.state.store import SMALL_ROWS


def test_no_query_needs_a_recompute(spark: SparkSession) -> None:
    assert_no_recompute(spark, TABLES, QUERIES, keys=False)


def test_every_tick_equals_a_recompute(spark: SparkSession, tmp_path: Path) -> None:
    world = World(spark, tmp_path, QUERIES, tables=TABLES, clusters=3)
    try:
        live(world, Market(seed=1), days=(4,))
    finally:
        world.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_every_tick_equals_a_recompute_for_long(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    world = World(spark, tmp_path, QUERIES, tables=TABLES, small_rows=SMALL_ROWS if seed % 2 else 1, clusters=seed // 2)
    try:
        live(world, Market(seed=seed), days=(1, 4, 1, 3, 1, 8, 1), restarts=(2, 5))
    finally:
        world.close()
