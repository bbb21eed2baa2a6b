"""How each object is: created, starting, running, stalled, dropped; and since when, and why.

The history outlives the process.  What was noted last may be lost with a kill: it is stored with the next tick, not
on its own, as a status that changes often must not cost a sync of the disk each time.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field

from tailrace.catalog.database import Database


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

    def __init__(self, database: Database, remember: int = 10_000) -> None:
        self._lock = threading.Lock()
        self._now: dict[str, Status] = {}
        self._history: deque[tuple[str, Status]] = deque(maxlen=remember)
        self._database = database
        self._unsaved: list[tuple[str, Status]] = []
        with database.transaction() as sql:
            rows = sql.execute("SELECT id, status, error, hint, sqlstate, at FROM status_history ORDER BY number")
            for id, status, error, hint, sqlstate, at in rows:
                known = Status(status=status, error=error, hint=hint, sqlstate=sqlstate, changed_at=at)
                self._history.append((id, known))

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
            if id.startswith("u"):  # the others are subscriptions, which nobody asks for again
                self._unsaved.append((id, new))
            return True

    def of(self, id: str) -> Status:
        return self._now.get(id) or Status(status="created", changed_at=0)

    def forget(self, id: str) -> None:
        self.note(id, "dropped")
        with self._lock:
            self._now.pop(id, None)

    def save(self) -> None:
        """Stores what is new in the history, and drops what is too old."""
        with self._lock:
            unsaved, self._unsaved = self._unsaved, []
        if not unsaved:
            return
        rows = [(id, s.status, s.error, s.hint, s.sqlstate, s.changed_at) for id, s in unsaved]
        with self._database.transaction() as sql:
            sql.executemany(
                "INSERT INTO status_history (id, status, error, hint, sqlstate, at) VALUES (?, ?, ?, ?, ?, ?)", rows
            )
            oldest = "(SELECT max(number) FROM status_history) - ?"
            sql.execute(f"DELETE FROM status_history WHERE number <= {oldest}", (self._history.maxlen,))

    def history(self) -> list[tuple[str, Status]]:
        with self._lock:
            return list(self._history)
