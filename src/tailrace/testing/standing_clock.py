"""A clock that a test sets: time passes when it is told to."""

from __future__ import annotations

from tailrace.ticks.clock import Clock
from tailrace.types.core import Tick


class StandingClock(Clock):
    def __init__(self, last: Tick) -> None:
        super().__init__(last)
        self.time = int(last)

    def now(self) -> int:
        return self.time
