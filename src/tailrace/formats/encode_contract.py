"""How rows become the bytes of a message key or value: as Spark SQL text, so that all of it runs on the JVM.

An encoder is a value: definitions that hold one compare by content.  Its text is a pure function of the row:
a replayed tick gives the same bytes, hence the same partitions, whatever the partitioning of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tailrace.types.core import Schema


class Encoder(Protocol):
    """One format.  `columns` and `places` go together: a column, and the Spark text that names its value."""

    @property
    def name(self) -> str:
        """Of the FORMAT, in lower case."""

    @property
    def prefix(self) -> bytes:
        """Put before every message part, and not hashed for the partition: a schema registry's framing."""

    def check(self, columns: Schema) -> None:
        """Raises SqlError if these columns cannot be encoded."""

    def record(self, columns: Schema, places: Sequence[str]) -> str:
        """Spark text: the columns as one message part.  Binary, never NULL."""

    def side(self, columns: Schema, places: Sequence[str]) -> str:
        """Spark text: the same columns as one side of a change.  Binary, never NULL."""

    def change(self, before: str, after: str) -> str:
        """Spark text: a DEBEZIUM value, from the Spark texts of two sides; a side that is absent is NULL."""
