"""Every tick equals a recompute: whatever the query, the changes and the boundaries between ticks.

The oracle is the batch meaning of the same SQL, from scratch, over rows that the test keeps itself.  Subscribers who
are given every tick, and others who are given several at once, must add up to the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from properties.kept import keeping
from properties.queries import FAMILIES, SLOW_FAMILIES, Query, queries, step_over
from properties.world import Change, World
from tailrace.state import compaction
from tailrace.state.store import SMALL_ROWS

_KEYS = st.sampled_from([0, 1, None])  # few, so that rows meet
_NUMBERS = st.sampled_from([0, 1, 2, 3, -1, None])
_TEXTS = st.sampled_from(["a", "b", "", "ab", None])
_FLOATS = st.sampled_from([0.1, 0.2, 1e16, -1e16, 3.5, None])  # sums of these depend on the order of addition
_ROWS = {
    "t": st.tuples(_KEYS, _NUMBERS, _TEXTS),
    "u": st.tuples(_KEYS, _NUMBERS, _FLOATS),
    "r": st.tuples(_NUMBERS, _TEXTS),
}
_LEAVING = st.lists(st.integers(0, 7), max_size=3).map(tuple)

Step: TypeAlias = tuple[Change, ...] | str
"""A tick, or something that must change nothing."""


def ticks() -> st.SearchStrategy[tuple[Change, ...]]:
    """Some tables change, most of the time more than one."""
    of_each = [
        st.builds(Change, st.just(name), st.lists(rows, min_size=least, max_size=4).map(tuple), _LEAVING)
        for least, (name, rows) in zip((1, 1, 0), _ROWS.items(), strict=True)
    ]
    return st.one_of(st.tuples(*of_each), st.tuples(of_each[0]), st.tuples(of_each[1]), st.tuples(*of_each[:2]))


def histories(length: int) -> st.SearchStrategy[list[Step]]:
    """Ticks, with a checkpoint and a restart somewhere between them."""
    between = st.sampled_from(["nothing", "nothing", "checkpoint", "restart", "crash", "read"])
    pairs = st.lists(st.tuples(ticks(), between), min_size=length, max_size=length)
    return pairs.map(lambda found: [step for pair in found for step in pair])


def run(
    spark: SparkSession,
    name: str,
    views: Mapping[str, str],
    history: Sequence[Step],
    *,
    small_rows: int = SMALL_ROWS,
) -> None:
    """`name`: what a script of a failure is called, see kept.py."""
    with tempfile.TemporaryDirectory() as directory:
        world = World(spark, Path(directory), views, small_rows=small_rows)
        try:
            with keeping(name, world, views):
                world.check(world.each_tick)
                for step in history:
                    take(world, step)
                world.check(world.each_tick, world.now_and_then)
        finally:
            world.close()


def take(world: World, step: Step) -> None:
    match step:
        case "checkpoint":
            world.checkpoint()
        case "restart" | "crash":
            world.restart(crash=step == "crash")
            world.check(world.each_tick)
        case "read":
            world.check(world.now_and_then)
        case "nothing":
            pass
        case tuple():
            world.tick(step)
            world.check(world.each_tick)


@pytest.fixture(autouse=True)
def _eager_compaction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are merged as soon as nobody needs them apart, not only when there are many."""
    monkeypatch.setattr(compaction, "_MAX_SMALL_RUNS", 2)


_HEAVY = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
_QUICK = settings(derandomize=True, suppress_health_check=_HEAVY)
_LONG = settings(suppress_health_check=_HEAVY)  # as many examples as the profile says: `make properties`


@pytest.mark.parametrize("family", FAMILIES)
@settings(_QUICK, max_examples=2)
@given(history=histories(3))
def test_every_tick_equals_a_recompute(spark: SparkSession, family: str, history: list[Step]) -> None:
    run(spark, family.replace(" ", "_"), {f"m{i}": query for i, query in enumerate(FAMILIES[family])}, history)


@st.composite
def stacks(draw: st.DrawFn, depth: int) -> dict[str, str]:
    """Random queries, two of them over the results of others: rules stacked `depth` high in one query, and higher by
    views on views."""
    first, second = draw(queries(1)), draw(queries(depth))
    third, fourth = (draw(step_over(st.just(_result(*each)))) for each in (("m0", first), ("m1", second)))
    return {"m0": first.sql, "m1": second.sql, "m2": third.sql, "m3": fourth.sql}


def _result(view: str, query: Query) -> Query:
    return Query(f"SELECT {', '.join(f'a{i}' for i in range(len(query.kinds)))} FROM {view}", query.kinds)


@settings(_QUICK, max_examples=5)
@given(views=stacks(2), history=histories(2))
def test_rules_stack_in_any_order(spark: SparkSession, views: dict[str, str], history: list[Step]) -> None:
    run(spark, "stack", views, history)


@settings(_QUICK, max_examples=2)
@given(history=histories(2))
def test_state_in_files_means_the_same(spark: SparkSession, history: list[Step]) -> None:
    chosen = ("inner joins", "outer joins", "sums", "distinct aggregates", "groups", "partitions")
    run(spark, "files", {f"m{i}": FAMILIES[family][0] for i, family in enumerate(chosen)}, history, small_rows=1)


@pytest.mark.slow
@settings(_LONG)
@given(views=stacks(3), history=histories(4), small_rows=st.sampled_from([SMALL_ROWS, 1]))
def test_rules_stack_in_any_order_for_long(
    spark: SparkSession, views: dict[str, str], history: list[Step], small_rows: int
) -> None:
    run(spark, "long_stack", views, history, small_rows=small_rows)


@pytest.mark.slow
@pytest.mark.parametrize("family", SLOW_FAMILIES)
@settings(_LONG, max_examples=_LONG.max_examples // 4)
@given(history=histories(6), small_rows=st.sampled_from([SMALL_ROWS, 1]))
def test_every_tick_equals_a_recompute_for_long(
    spark: SparkSession, family: str, history: list[Step], small_rows: int
) -> None:
    views = {f"m{i}": query for i, query in enumerate(SLOW_FAMILIES[family])}
    run(spark, "long_" + family.replace(" ", "_"), views, history, small_rows=small_rows)
