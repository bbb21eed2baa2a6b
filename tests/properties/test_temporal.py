"""Views with mz_now() are at every tick what their query says at that tick's time, whether rows or only time moved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from properties.world import Change, World
from tailrace.state import compaction
from tailrace.state.store import SMALL_ROWS

TABLES = {"e": ("k int", "v int", "at timestamp", "lasts int"), "u": ("k int", "ms bigint")}
_BEGIN = datetime(2100, 1, 1, tzinfo=UTC)
_BEGIN_MS = int(_BEGIN.timestamp() * 1000)

VIEWS = {
    "windowed": "SELECT k, v FROM e WHERE mz_now() >= at AND mz_now() < at + lasts * INTERVAL '1 second'",
    "counted": "SELECT k, count(*) AS n, max(v) AS most FROM e WHERE mz_now() <= at + INTERVAL '3 seconds' GROUP BY k",
    "from_then_on": "SELECT v FROM e WHERE at < mz_now()",
    "within": "SELECT v, at FROM e WHERE mz_now() BETWEEN at AND at + INTERVAL '2 seconds' AND v > 0",
    "never": "SELECT v FROM e WHERE mz_now() < at AND mz_now() > at",
    "met": "SELECT e.v, u.ms FROM e JOIN u USING (k) WHERE mz_now() >= e.at AND mz_now() <= u.ms",
    "both_decide": "SELECT e.v FROM e JOIN u ON e.k = u.k AND mz_now() < u.ms + e.lasts * 1000",
    "unanswered": "SELECT v FROM e WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = e.k AND mz_now() >= u.ms)",
    "padded": "SELECT e.v, x.ms FROM e LEFT JOIN (SELECT * FROM u WHERE NOT mz_now() > ms) AS x USING (k)",
    "last_call": "SELECT k, max(at) AS last FROM e GROUP BY k HAVING mz_now() < max(at)",
    "either": "SELECT v FROM e WHERE mz_now() < at UNION SELECT k FROM u WHERE mz_now() >= ms",
    "first": "SELECT v, at FROM e WHERE mz_now() <= at ORDER BY at LIMIT 2",
    "on_top": "SELECT count(*) AS n FROM windowed AS w JOIN from_then_on AS f ON w.v = f.v",
}


def _moment(seconds: int) -> datetime:
    """So many seconds and as many µs after the beginning; a timestamp without time zone."""
    return (_BEGIN + timedelta(seconds=seconds, microseconds=seconds)).replace(tzinfo=None)


_KEYS = st.sampled_from([0, 1, None])
_SECONDS = st.integers(0, 6)
_MOMENTS = st.one_of(_SECONDS.map(lambda s: _moment(s)), st.none())
_EVENTS = st.tuples(_KEYS, st.integers(-1, 2), _MOMENTS, st.integers(-1, 3))
_OTHERS = st.tuples(_KEYS, st.one_of(_SECONDS.map(lambda s: _BEGIN_MS + 1000 * s + 500), st.none()))
_LEAVING = st.lists(st.integers(0, 7), max_size=2).map(tuple)

Step = tuple[Change, ...] | int | str


def histories(length: int) -> st.SearchStrategy[list[Step]]:
    """Changes, waits, and restarts between them."""
    changes = st.tuples(
        st.builds(Change, st.just("e"), st.lists(_EVENTS, min_size=1, max_size=4).map(tuple), _LEAVING),
        st.builds(Change, st.just("u"), st.lists(_OTHERS, max_size=2).map(tuple), _LEAVING),
    )
    waits = st.integers(1, 3000)
    step = st.one_of(changes, waits, waits, st.sampled_from(["checkpoint", "crash"]))
    return st.tuples(changes, st.lists(step, min_size=length, max_size=length)).map(lambda two: [two[0], *two[1]])


def run(spark: SparkSession, history: list[Step], *, small_rows: int = SMALL_ROWS) -> None:
    with TemporaryDirectory() as directory:
        world = World(spark, Path(directory), VIEWS, tables=TABLES, small_rows=small_rows, time=_BEGIN_MS)
        try:
            world.check(world.each_tick)
            for step in [*history, 10_000]:
                match step:
                    case "checkpoint":
                        world.checkpoint()
                        continue
                    case str():
                        world.restart(crash=True)
                    case int():
                        world.wait(step)
                    case _:
                        world.tick(step)
                world.check(world.each_tick)
            world.check(world.now_and_then)
        finally:
            world.close()


@pytest.fixture(autouse=True)
def _eager_compaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "_MAX_SMALL_RUNS", 2)


_HEAVY = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


@settings(derandomize=True, max_examples=2, suppress_health_check=_HEAVY)
@given(history=histories(4))
def test_every_moment_equals_a_recompute(spark: SparkSession, history: list[Step]) -> None:
    run(spark, history)


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=_HEAVY)
@given(history=histories(8), small_rows=st.sampled_from([SMALL_ROWS, 1]))
def test_every_moment_equals_a_recompute_for_long(
    spark: SparkSession, history: list[Step], small_rows: int
) -> None:
    run(spark, history, small_rows=small_rows)


def test_what_has_come_and_gone_leaves_no_state(spark: SparkSession, tmp_path: Path) -> None:
    world = World(spark, tmp_path, {"windowed": VIEWS["windowed"]}, tables=TABLES, time=_BEGIN_MS)
    try:
        for second in range(12):
            rows = tuple((0, n, _moment(second), 1) for n in range(50))
            world.tick((Change("e", rows),))
            world.wait(1000)
        world.check(world.each_tick)
        [view] = world.engine.cluster.maintained.values()
        [events] = view.root.below[0].traces()
        assert events.rows <= 600  # of the 1,200 times that a row came or went
    finally:
        world.close()
