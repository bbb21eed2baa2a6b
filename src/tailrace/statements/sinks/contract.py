"""What CREATE SINK needs to know of a target, whatever it is: its connection, its key, and how changes are told.

A new target is one file here with a `parse`, a line in registry.py, and a line in engine/sinks.py that opens it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, Protocol

from tailrace.errors import NotSupported, SqlError
from tailrace.sql.names import Name
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer


class SinkEnvelope(Enum):
    UPSERT = "UPSERT"
    DEBEZIUM = "DEBEZIUM"


@dataclass(frozen=True, kw_only=True, slots=True)
class SinkKey:
    """KEY (columns) [NOT ENFORCED]; `position` is where the parenthesis begins."""

    columns: tuple[str, ...]
    enforced: bool = True
    position: int | None = field(default=None, compare=False)

    def clause(self, printer: Printer) -> str:
        return f"KEY {printer.columns(self.columns)}" + ("" if self.enforced else " NOT ENFORCED")


class Target(Protocol):
    """Where a sink writes to, as its statement says it."""

    type: ClassVar[str]
    """As SHOW SINKS names it, e.g. `kafka`."""

    @property
    def connection(self) -> Name: ...

    @property
    def connections(self) -> list[Name]:
        """That one, first, and others that are needed, such as schema registries."""

    @property
    def key(self) -> SinkKey | None: ...

    @property
    def envelope(self) -> SinkEnvelope | None:
        """None if changes are told as they are, each for itself."""

    def clauses(self, printer: Printer) -> list[str | None]:
        """From INTO on, for SHOW CREATE."""

    def check(self) -> None:
        """What the clauses must mean together, whatever the catalog holds.  CREATE SINK calls this first."""


def parse_key(p: Parser) -> SinkKey | None:
    """`[KEY (column,…) [NOT ENFORCED]]`; KEY FORMAT is not ours."""
    if not p.at("KEY", "("):
        return None
    p.expect("KEY")
    position = p.position
    columns = p.columns()
    enforced = not p.accept("NOT", "ENFORCED")
    return SinkKey(columns=columns, enforced=enforced, position=position)


def parse_required_key(p: Parser, target: str) -> SinkKey:
    """The key of a target that holds one row for each."""
    position = p.position
    key = parse_key(p)
    if key is None:
        raise SqlError(
            f"{target} sinks must specify a key",
            hint="Add KEY (column, …): the columns that identify a row.",
            position=position,
            sqlstate="42601",
        )
    return key


def expect_upsert(p: Parser, target: str) -> None:
    """`MODE UPSERT`, or the Kafka sinks' words for it."""
    position = p.position
    word = p.keyword("MODE", "ENVELOPE")
    if not p.accept("UPSERT"):
        if p.at("APPEND") or p.at("DEBEZIUM"):
            raise NotSupported(f"{word} {p.token.word} for {target} sinks not yet supported", position=position)
        raise p.expected("UPSERT")


def refuse_repeated(key: SinkKey | None) -> None:
    columns = () if key is None else key.columns
    for i, column in enumerate(columns):
        if column in columns[:i]:
            message = f"duplicate column referenced in KEY: {column}"
            raise SqlError(message, position=None if key is None else key.position)
