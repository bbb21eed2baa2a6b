"""How each object is: created, starting, running, stalled, dropped; and since when, and why."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """`error` is set while stalled; `sqlstate` too if a row is at fault.  `hint`: what one should know or do."""

    status: str
    error: str | None = None
    hint: str | None = None
    sqlstate: str | None = None
    changed_at: float = field(default_factory=time.time, compare=False)


class Statuses:
    """The current status of every object, and the last changes.  Equal consecutive ones are noted once."""

    def __init__(self, remember: int = 10_000) -> None:
        self._lock = threading.Lock()
        self._now: dict[str, Status] = {}
        self._history: deque[tuple[str, Status]] = deque(maxlen=remember)

    def note(
        self,
        id: str,
        status: str,
        error: str | None = None,
        hint: str | None = None,
        sqlstate: str | None = None,
    ) -> bool:
        """Says whether this was news."""
        new = Status(status=status, error=error, hint=hint, sqlstate=sqlstate)
        with self._lock:
            if self._now.get(id) == new:
                return False
            self._now[id] = new
            self._history.append((id, new))
            return True

    def of(self, id: str) -> Status:
        return self._now.get(id) or Status(status="created", changed_at=0)

    def forget(self, id: str) -> None:
        self.note(id, "dropped")
        with self._lock:
            self._now.pop(id, None)

    def history(self) -> list[tuple[str, Status]]:
        with self._lock:
            return list(self._history)
