"""What was read from files that never change, kept while there is room; what nobody asked for longest goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Kept:
    """`room` is in bytes, as whoever reads a file counts them.  Two threads that ask for the same may both read it."""

    room: int = 64 << 20
    _there: OrderedDict[Hashable, tuple[Any, int]] = field(default_factory=OrderedDict)
    _bytes: int = 0
    _lock: Lock = field(default_factory=Lock)

    def get(self, name: Hashable, read: Callable[[], T], size: Callable[[T], int]) -> T:
        """What `read` gives, or gave for the same name before."""
        with self._lock:
            if name in self._there:
                self._there.move_to_end(name)
                found: T = self._there[name][0]
                return found
        value = read()
        with self._lock:
            self._put(name, value, size(value))
        return value

    def _put(self, name: Hashable, value: object, size: int) -> None:
        _, before = self._there.pop(name, (None, 0))
        self._there[name] = (value, size)
        self._bytes += size - before
        while self._bytes > self.room:
            _, (_, gone) = self._there.popitem(last=False)
            self._bytes -= gone
