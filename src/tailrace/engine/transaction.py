"""A transaction block: reads of one tick, or inserts that are held until COMMIT, or definitions; never two of these.

What was inserted becomes one tick.  Definitions take effect at once and cannot be taken back, so a ROLLBACK after one
warns.  A block that reads nothing but the catalog has no kind yet.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import pyarrow as pa

from tailrace.errors import SqlError
from tailrace.ticks.inputs import together
from tailrace.types.core import Tick

if TYPE_CHECKING:
    from tailrace.engine.cursors import Cursor
    from tailrace.engine.engine import Engine

Kind: TypeAlias = Literal["read", "write", "definition"]

_REFUSALS = {
    "read": ("transaction in read-only mode", "25006"),
    "write": ("transaction in write-only mode", "25001"),
    "definition": ("transactions which modify objects are restricted to just modifying objects", "25001"),
}


class NoTransaction(SqlError):
    sqlstate = "25P01"


@dataclass(eq=False, slots=True)
class Transaction:
    """Between BEGIN and COMMIT or ROLLBACK of one session."""

    engine: Engine
    is_implicit: bool = False  # around the statements of one string; another kind begins another one
    kind: Kind | None = None
    tick: Tick | None = None
    inserts: list[tuple[str, pa.Table]] = field(default_factory=list)
    savepoints: list[tuple[str, int]] = field(default_factory=list)
    cursors: dict[str, Cursor] = field(default_factory=dict)
    held: ExitStack = field(default_factory=ExitStack)

    def admit(self, kind: Kind) -> None:
        """Raises if the block is of another kind already."""
        if self.kind not in (None, kind):
            assert self.kind is not None
            message, sqlstate = _REFUSALS[self.kind]
            raise SqlError(message, sqlstate=sqlstate)
        self.kind = kind

    def reads_at(self) -> Tick:
        """The tick that all reads of the block see, kept readable until its end."""
        self.admit("read")
        if self.tick is None:
            self.tick = self.held.enter_context(self.engine.cluster.pinned())
        return self.tick

    def insert(self, relation: str, rows: pa.Table) -> None:
        self.admit("write")
        self.inserts.append((relation, rows))

    def commit(self) -> None:
        """All inserts in one tick, or none."""
        self.close()
        changes: dict[str, pa.Table] = {}
        for relation, rows in self.inserts:
            if relation not in self.engine.catalog.items:
                raise SqlError("a table of this transaction was dropped", sqlstate="40001")
            changes[relation] = together([changes[relation], rows]) if relation in changes else rows
        if changes:
            self.engine.loop.change(lambda: changes)

    def close(self) -> None:
        """Lets go of what is read.  Cursors do not outlive their transaction."""
        for cursor in self.cursors.values():
            cursor.close()
        self.cursors.clear()
        self.held.close()

    # ── savepoints ──

    def save(self, name: str) -> None:
        self.savepoints.append((name, len(self.inserts)))

    def release(self, name: str) -> None:
        self.savepoints = self.savepoints[: self._place(name)]

    def return_to(self, name: str) -> None:
        place = self._place(name)
        self.inserts = self.inserts[: self.savepoints[place][1]]
        self.savepoints = self.savepoints[: place + 1]

    def _place(self, name: str) -> int:
        for place in range(len(self.savepoints) - 1, -1, -1):
            if self.savepoints[place][0] == name:
                return place
        raise SqlError(f'savepoint "{name}" does not exist', sqlstate="3B001")
