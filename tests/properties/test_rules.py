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

from properties.queries import FAMILIES, Query, queries
from properties.world import Change, World
from tailrace.state import compaction, store

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


def run(spark: SparkSession, views: Mapping[str, str], history: Sequence[Step]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        world = World(spark, Path(directory), views)
        try:
            world.check(world.each_tick)
            for step in history:
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
                    case _:
                        world.tick(step)
                        world.check(world.each_tick)
            world.check(world.now_and_then)
        finally:
            world.close()


@pytest.fixture
def eager_compaction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are merged as soon as nobody needs them apart, not when there are many."""
    monkeypatch.setattr(compaction, "_MAX_SMALL_RUNS", 2)


@pytest.fixture
def runs_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every change of more than three rows is written by Spark as Parquet."""
    monkeypatch.setattr(store, "SMALL_ROWS", 3)
    monkeypatch.setattr(compaction, "SMALL_ROWS", 3)


_HEAVY = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


@pytest.mark.usefixtures("eager_compaction")
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=2, derandomize=True, suppress_health_check=_HEAVY)
@given(history=histories(4))
def test_every_tick_equals_a_recompute(spark: SparkSession, family: str, history: list[Step]) -> None:
    run(spark, {f"m{i}": query for i, query in enumerate(FAMILIES[family])}, history)
