"""Sessions are at every tick what a walk over each key's rows, in order of time, finds, however rows come and go.

The walk is written out here, so that it shares nothing with the window functions that SESSION becomes.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from properties.world import Change, Row, World
from tailrace.state import compaction
from tailrace.state.store import SMALL_ROWS
from tailrace.testing.oracle import Bag, assert_equal

TABLES = {"e": ("k int", "v int", "at timestamp")}
_BEGIN = datetime(2024, 7, 3)  # noqa: DTZ001  a timestamp without time zone
_GAP = 3000  # milliseconds
_LIMITS = "(extract(epoch FROM window_start) * 1000)::bigint AS s, (extract(epoch FROM window_end) * 1000)::bigint AS e"
_BY_KEY = "TABLE(SESSION(TABLE e PARTITION BY k, DESCRIPTOR(at), INTERVAL '3' SECOND))"
_OF_ALL = "TABLE(SESSION(TABLE e, DESCRIPTOR(at), INTERVAL '3' SECOND))"
VIEWS = {
    "rows_in": f"SELECT k, v, {_LIMITS} FROM {_BY_KEY}",
    "counted": f"SELECT k, {_LIMITS}, count(*) AS n FROM {_BY_KEY} GROUP BY k, window_start, window_end",
    "of_all": f"SELECT {_LIMITS}, count(*) AS n FROM {_OF_ALL} GROUP BY window_start, window_end",
}

_KEYS = st.sampled_from([0, 0, 1, None])
_SECONDS = st.sampled_from([0, 2, 3, 5, 6, 9, 12, 12.001, 13])  # as far apart as a session may be, and further
_MOMENTS = st.one_of(_SECONDS.map(lambda s: _BEGIN + timedelta(seconds=s, microseconds=7 * int(s))), st.none())
_EVENTS = st.tuples(_KEYS, st.integers(0, 2), _MOMENTS)
_CHANGES = st.builds(
    Change,
    st.just("e"),
    st.lists(_EVENTS, min_size=1, max_size=5).map(tuple),
    st.lists(st.integers(0, 9), max_size=3).map(tuple),
)
Step = Change | str


def histories(length: int) -> st.SearchStrategy[list[Step]]:
    return st.lists(st.one_of(_CHANGES, _CHANGES, _CHANGES, st.just("crash")), min_size=length, max_size=length)


def walked(rows: list[Row], *, by_key: bool) -> list[tuple[Row, int, int]]:
    """Each row that has a time, with the limits of its session in milliseconds since 1970."""
    keys = {row[0] if by_key else None for row in rows}
    found: list[tuple[Row, int, int]] = []
    for key in keys:
        mine = sorted(
            ((_milliseconds(row[2]), row) for row in rows if row[2] is not None and (not by_key or row[0] == key)),
            key=lambda pair: pair[0],
        )
        session: list[tuple[int, Row]] = []
        for at, row in mine:
            if session and at - session[-1][0] > _GAP:
                found += _limited(session)
                session = []
            session.append((at, row))
        found += _limited(session)
    return found


def _milliseconds(at: object) -> int:
    assert isinstance(at, datetime)
    return (at - datetime(1970, 1, 1)) // timedelta(milliseconds=1)  # noqa: DTZ001


def _limited(session: list[tuple[int, Row]]) -> list[tuple[Row, int, int]]:
    return [(row, session[0][0], session[-1][0] + _GAP) for _, row in session]


def expected(rows: list[Row]) -> dict[str, Bag]:
    by_key, of_all = walked(rows, by_key=True), walked(rows, by_key=False)
    counted = Counter((row[0], start, end) for row, start, end in by_key)
    alone = Counter((start, end) for _, start, end in of_all)
    return {
        "rows_in": Counter(_json(row[0], row[1], start, end) for row, start, end in by_key),
        "counted": Counter(_json(*session, n) for session, n in counted.items()),
        "of_all": Counter(_json(*session, n) for session, n in alone.items()),
    }


def _json(*values: object) -> str:
    present = {f"c{i}": value for i, value in enumerate(values) if value is not None}
    return json.dumps(present, separators=(",", ":"))


def run(spark: SparkSession, history: list[Step], *, small_rows: int = SMALL_ROWS) -> None:
    with TemporaryDirectory() as directory:
        world = World(spark, Path(directory), VIEWS, tables=TABLES, small_rows=small_rows)
        try:
            for step in history:
                if isinstance(step, Change):
                    world.tick((step,))
                else:
                    world.restart(crash=True)
                found = world.check(world.each_tick)
                for name, bag in expected(world.rows("e")).items():
                    assert_equal(f"{name}, walked by hand,", found[name], bag)
            world.check(world.now_and_then)
        finally:
            world.close()


@pytest.fixture(autouse=True)
def _eager_compaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "_MAX_SMALL_RUNS", 2)


def _at(*events: tuple[int | None, float], leaving: tuple[int, ...] = ()) -> Change:
    """Rows of these keys, so many seconds after the beginning; and the numbers of rows that go."""
    return Change("e", tuple((key, 0, _BEGIN + timedelta(seconds=second)) for key, second in events), leaving)


GROWN_AND_MET: list[Step] = [_at((0, 0), (0, 9.0004), (1, 2)), _at((0, 3), (0, 6), (None, 5)), "crash", _at((0, 12))]
COME_APART: list[Step] = [_at((0, 0), (0, 2.5), (0, 5), (0, 5), (1, 5)), _at((1, 8.001), leaving=(1,))]

_HEAVY = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


@settings(phases=[Phase.explicit], suppress_health_check=_HEAVY)
@example(history=GROWN_AND_MET)
@example(history=COME_APART)
@given(history=histories(3))
def test_sessions_are_what_a_walk_finds(spark: SparkSession, history: list[Step]) -> None:
    """Two histories; more of them all night, below."""
    run(spark, history)


@pytest.mark.slow
@settings(suppress_health_check=_HEAVY, max_examples=settings().max_examples // 4)
@given(history=histories(8), small_rows=st.sampled_from([SMALL_ROWS, 1]))
def test_sessions_are_what_a_walk_finds_for_long(spark: SparkSession, history: list[Step], small_rows: int) -> None:
    run(spark, history, small_rows=small_rows)
