"""Recovery goes through the logged ticks again: in one step up to what every sink holds, then each as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.ticks.recovery import steps
from tailrace.types.core import Tick


@pytest.mark.parametrize(
    ("logged", "frontiers", "expected"),
    [
        ([], [], []),
        ([], [5], []),
        ([10, 20, 30], [], [30]),  # nobody wants single ticks
        ([10, 20, 30], [30], [30]),
        ([10, 20, 30], [20, 30], [20, 30]),
        ([10, 20, 30], [10], [10, 20, 30]),
        ([10, 20, 30], [0], [10, 20, 30]),  # nothing is known of the target: nothing is fused
        ([10, 20, 30], [25], [20, 30]),
        ([10, 20, 30], [99], [30]),
    ],
)
def test_the_ticks_to_stop_at(logged: list[int], frontiers: list[int], expected: list[int]) -> None:
    assert steps([Tick(t) for t in logged], [Tick(t) for t in frontiers]) == expected


@given(
    logged=st.lists(st.integers(1, 50), unique=True).map(sorted),
    frontiers=st.lists(st.integers(0, 60), max_size=3),
)
def test_every_tick_that_some_sink_lacks_is_replayed_alone(logged: list[int], frontiers: list[int]) -> None:
    stops = steps([Tick(t) for t in logged], [Tick(t) for t in frontiers])
    assert stops == sorted(set(stops))
    assert set(stops) <= set(logged)
    if logged:
        assert stops[-1] == logged[-1]
    for frontier in frontiers:
        assert [t for t in stops if t > frontier] == [t for t in logged if t > frontier]
