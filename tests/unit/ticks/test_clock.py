"""Logical time only ever grows, whatever the wall clock does."""

from __future__ import annotations

import itertools
import time

import pytest

from tailrace.ticks.clock import Clock
from tailrace.types.core import BEGINNING, Tick


def test_every_tick_is_later_than_the_last() -> None:
    clock = Clock(BEGINNING)
    ticks = [clock.next() for _ in range(100)]
    assert all(earlier < later for earlier, later in itertools.pairwise(ticks))


def test_a_clock_that_was_ahead_stays_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tick log may end later than the wall clock says now: it was set back, or this is another machine."""
    monkeypatch.setattr(time, "time", lambda: 5.0)
    clock = Clock(Tick(1_000_000))
    assert [clock.next(), clock.next()] == [1_000_001, 1_000_002]


def test_ticks_are_milliseconds_since_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 12.3456)
    assert Clock(BEGINNING).next() == 12_345
