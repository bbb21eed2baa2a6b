"""Advisory locks: numbers that sessions take for themselves, as tools do that must not migrate twice at once.

They lock nothing else.  A session may take one several times, and gives it back as often; it gives back all at its end.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

_LOOK_SECONDS = 0.05


@dataclass(slots=True)
class AdvisoryLocks:
    """Of each number that is taken: who has it, and how often."""

    _held: dict[int, Counter[Hashable]] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def try_take(self, owner: Hashable, number: int) -> bool:
        with self._changed:
            holders = self._held.get(number, Counter())
            if any(holder != owner for holder in holders):
                return False
            self._held[number] = holders + Counter({owner: 1})
            return True

    def take(self, owner: Hashable, number: int, check: Callable[[], None]) -> None:
        """Waits for it; `check` raises if nobody wants to wait any more."""
        while not self.try_take(owner, number):
            check()
            with self._changed:
                self._changed.wait(_LOOK_SECONDS)

    def give_back(self, owner: Hashable, number: int) -> bool:
        """False: it did not have it."""
        with self._changed:
            had = self._held.get(number, Counter())
            left = had - Counter({owner: 1})
            self._keep(number, left)
            return left != had

    def give_back_all(self, owner: Hashable) -> None:
        with self._changed:
            for number, holders in list(self._held.items()):
                self._keep(number, Counter({holder: count for holder, count in holders.items() if holder != owner}))

    def _keep(self, number: int, holders: Counter[Hashable]) -> None:
        if holders:
            self._held[number] = holders
        else:
            self._held.pop(number, None)
        self._changed.notify_all()
