"""The 22 queries of TPC-H as materialized views: incremental without exception, and equal to a recompute always.

The texts are the specification's with its validation parameters; Q15 is the variant with WITH in place of a view.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from properties.tpch import QUERIES, TABLES, Business
from properties.world import World
from tailrace.engine.engine import Engine
from tailrace.ivm.dataflow import reach
from tailrace.ivm.rules.recompute import Recompute
from tailrace.state.store import SMALL_ROWS
from tailrace.testing.oracle import Bag
from tailrace.ticks.loop import Pace


def recomputed(engine: Engine) -> set[str]:
    """The materialized views of which some part is recomputed from scratch."""
    views = engine.cluster.maintained.values()
    return {view.name for view in views if any(isinstance(each, Recompute) for each in reach(view.root))}


def live(world: World, business: Business, days: Sequence[int], *, restarts: Iterable[int] = ()) -> None:
    """One tick a day, each checked; and that every query had something to say, and something else another day."""
    world.tick(business.beginning())
    before = world.check(world.each_tick)
    spoke, changed = answered(before), set[str]()
    for number, busy in enumerate(days):
        if number in restarts:
            world.checkpoint()
        world.tick(business.next(busy))
        if number in restarts:
            world.restart(crash=True)
        also = [world.now_and_then] if number == len(days) - 1 else []
        now = world.check(world.each_tick, *also)
        changed |= {name for name in now if now[name] != before[name]}
        spoke |= answered(now)
        before = now
    assert set(QUERIES) - spoke == set()
    assert set(QUERIES) - changed == set()


def answered(contents: Mapping[str, Bag]) -> set[str]:
    """The views that hold a row, and not only one of NULLs."""
    return {name for name, rows in contents.items() if any(row != "{}" for row in rows)}


@pytest.mark.parametrize("keys", [True, False], ids=["with keys", "without keys"])
def test_no_query_needs_a_recompute(spark: SparkSession, keys: bool) -> None:
    with Engine(spark, pace=Pace(interval=3600)) as engine:
        for name, columns in TABLES.items():
            declared = columns[0] if keys else columns[0].partition(",\n    PRIMARY KEY")[0]
            engine.sql(f"CREATE TABLE {name} ({declared})")
        for name, query in QUERIES.items():
            engine.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        assert len(engine.cluster.maintained) == 22
        assert recomputed(engine) == set()


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
