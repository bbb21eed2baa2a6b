"""Logical time: milliseconds since the epoch, always later than the last."""

from __future__ import annotations

import time

from tailrace.types.core import Tick


class Clock:
    def __init__(self, last: Tick) -> None:
        self.last = last

    def now(self) -> int:
        return int(time.time() * 1000)

    def next(self) -> Tick:
        self.last = Tick(max(self.now(), self.last + 1))
        return self.last
