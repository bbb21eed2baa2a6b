"""The same tick gives the same rows however Spark cuts the work: replay after a crash rests on it.

One engine has its state on the driver and one partition; the other has it in files, several partitions, and
was given its rows in another order.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from properties.world import Change, Row, World
from tailrace.state.store import SMALL_ROWS

VIEWS = {
    "float_sums": "SELECT k, sum(f) AS total, avg(f) AS mean, stddev(f) AS spread FROM u GROUP BY k",
    "float_pairs": "SELECT k, corr(f, w) AS c, regr_intercept(w, f) AS i FROM u GROUP BY k",
    "float_sum": "SELECT sum(f) AS total FROM u",
    "in_no_order": "SELECT k, array_agg(v) AS vs, string_agg(s, ',') AS texts, jsonb_agg(s) AS j FROM t GROUP BY k",
    "half_ordered": "SELECT k, string_agg(s, ',' ORDER BY v) AS texts FROM t GROUP BY k",
    "ties": "SELECT k, v, s FROM t ORDER BY k LIMIT 3",
    "ties_in_groups": "SELECT DISTINCT ON (k) k, v, s FROM t ORDER BY k",
    "numbers": "SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY k) AS n FROM t",
    "neighbours": "SELECT k, v, lag(s) OVER (ORDER BY k) AS before, first_value(v) OVER (ORDER BY k) AS one FROM t",
    "peers": "SELECT k, w, last_value(f) OVER (ORDER BY k) AS last, nth_value(f, 2) OVER (ORDER BY k DESC) AS second,"
    " first_value(f) OVER (ORDER BY k GROUPS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS next FROM u",
    "running": "SELECT k, f, sum(f) OVER (PARTITION BY k ORDER BY w) AS total FROM u",
    "joined": "SELECT t.k, sum(f * v) AS total FROM t JOIN u ON t.k = u.k GROUP BY t.k",
}

_FLOATS = (0.1, 0.2, 0.3, 1e16, -1e16, 1e-3, 3.5, None)


def _rows(first: int) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Rows of t and u that tie, repeat, and whose float sums depend on the order of addition."""
    numbers = range(first, first + 12)
    t: list[Row] = [(n % 3 or None, n % 2, "abc"[n % 3]) for n in numbers]
    u: list[Row] = [(n % 2, n % 3, _FLOATS[n % len(_FLOATS)]) for n in numbers]
    return tuple(t), tuple(u)


@pytest.fixture
def one(spark: SparkSession, tmp_path: Path) -> Iterator[World]:
    world = World(spark, tmp_path / "one", VIEWS, small_rows=SMALL_ROWS)
    yield world
    world.close()


@pytest.fixture
def many(spark: SparkSession, tmp_path: Path) -> Iterator[World]:
    world = World(spark, tmp_path / "many", VIEWS, small_rows=0)
    for name, value in {
        "spark.sql.shuffle.partitions": "5",
        "spark.sql.leafNodeDefaultParallelism": "3",
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
    }.items():
        world.engine.views.large.conf.set(name, value)
    yield world
    world.close()


def test_the_same_tick_under_two_partitionings_gives_the_same_rows(one: World, many: World) -> None:
    for tick in (0, 2):  # rows only come, then some leave too
        t, u = _rows(first=5 * tick)
        leaving = tuple(range(tick, 3 * tick, 2))
        one.tick((Change("t", t, leaving), Change("u", u, leaving)))
        many.tick((Change("u", u[::-1], leaving), Change("t", (*t[6:], *t[:6]), leaving)))
        expected = one.changes(one.engine.views.small)
        assert many.changes(many.engine.views.large) == expected
        if tick:  # crosswise, what each engine holds by the other's plans
            assert one.changes(one.engine.views.large) == expected
            assert many.changes(many.engine.views.small) == expected
        one.check(one.each_tick)
        many.check(many.each_tick)
