"""Pins: ticks that somebody reads at, which stay readable meanwhile.  From any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tailrace.types.core import Tick


@dataclass(frozen=True, slots=True)
class Pin:
    """A tick that somebody reads these relations at; any, if `reads` is None."""

    tick: Tick
    reads: frozenset[str] | None


class Pins:
    """Those there are now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pins: dict[object, Pin] = {}

    def __len__(self) -> int:
        return len(self._pins)

    @contextmanager
    def held(self, tick: Callable[[], Tick], reads: frozenset[str] | None) -> Iterator[Tick]:
        """What `tick` says when nobody else looks at the pins, until the end."""
        token = object()
        with self._lock:
            pin = self._pins[token] = Pin(tick(), reads)
        try:
            yield pin.tick
        finally:
            with self._lock:
                del self._pins[token]

    def of(self, relation: str) -> set[Tick]:
        """The ticks that this relation is read at."""
        with self._lock:
            return {pin.tick for pin in self._pins.values() if pin.reads is None or relation in pin.reads}

    def first(self, done: Callable[[], Tick]) -> Tick:
        """The earliest; at the latest what `done` says while no pin comes."""
        with self._lock:
            return min((*(pin.tick for pin in self._pins.values()), done()))
