"""How rows become the bytes of a message key or value: as Spark SQL text, so that all of it runs on the JVM.

An encoder is a value: definitions that hold one compare by content.  Its text is a pure function of the row:
a replayed tick gives the same bytes, hence the same partitions, whatever the partitioning of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeAlias, runtime_checkable

from tailrace.types.core import Schema

Frame: TypeAlias = tuple[bytes, bytes]
"""What stands before and after a row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeFrame:
    """How the two sides of a change become one value: opening, before, between, after, closing.

    A side that is there is put behind `present`; one that is not is `absent`.  Where a change is told as two messages,
    `left` is around the row that left and `came` around the one that came.
    """

    opening: bytes = b""
    between: bytes = b""
    closing: bytes = b""
    present: bytes = b""
    absent: bytes = b""
    left: Frame = (b"", b"")
    came: Frame = (b"", b"")


INSERTED, UPDATED, DELETED = "c", "u", "d"
"""What a change did, in Debezium's letters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """Where changes come from, as Debezium's connectors say it in `source`."""

    name: str
    database: str
    schema: str
    table: str

    def source(self, tick: int) -> dict[str, str | int]:
        """By field, in order.  `version` is that of these fields, so that a replay after an upgrade is the same."""
        return {
            **{"version": "1", "connector": "tailrace", "name": self.name},
            **{"ts_ms": tick, "snapshot": "false"},
            **{"db": self.database, "schema": self.schema, "table": self.table},
        }


@runtime_checkable
class TellsOrigin(Protocol):
    """A format whose changes can say what they did, when, and to what."""

    def closing(self, origin: Origin, op: str, tick: int) -> bytes:
        """What stands after both sides, in place of the frame's `closing`: `source`, `op` and `ts_ms`."""


class Encoder(Protocol):
    """One format.  `columns` and `places` go together: a column, and the Spark text that names its value."""

    @property
    def name(self) -> str:
        """Of the FORMAT, in lower case."""

    @property
    def framing(self) -> int:
        """How many bytes `prefix` has; known also while it is not."""

    @property
    def prefix(self) -> bytes:
        """Put before every message part, and not hashed for the partition: a schema registry's framing."""

    @property
    def change(self) -> ChangeFrame:
        """The value of a DEBEZIUM message around its sides."""

    def check(self, columns: Schema) -> None:
        """Raises SqlError if these columns cannot be encoded."""

    def registered(self, columns: Schema, *, change: bool) -> Self:
        """The encoder that writes these columns, alone or as both sides of a change.

        Called before the first message and after every doubt.  A format with a schema registry publishes its schema
        there, which changes nothing if it is there already.  Raises Unavailable if trying again can help.
        """

    def record(self, columns: Schema, places: Sequence[str]) -> str:
        """Spark text: the columns as one message part.  Binary, never NULL."""

    def side(self, columns: Schema, places: Sequence[str]) -> str:
        """Spark text: the same columns as one side of a change.  Binary, never NULL."""
