"""Statements become text again, as SHOW CREATE shows them.

Names come out fully qualified, options as `NAME = value` in their given order.  What is printed parses to an
equal statement, so the catalog may store the text: tests/unit/statements/test_round_trip.py holds this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tailrace.sql.keywords import RESERVED_BY_POSTGRES
from tailrace.sql.lexer import Kind, scan
from tailrace.sql.names import Name, QueryText, SecretRef

Qualify: TypeAlias = Callable[[Name], tuple[str, ...]]
"""From a name as written to its full parts: database, schema, item."""

REDACTED = "'<REDACTED>'"
_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*")


def quote_ident(identifier: str) -> str:
    """Bare where that means the same, else in double quotes."""
    if _PLAIN.fullmatch(identifier) and identifier.upper() not in RESERVED_BY_POSTGRES:
        return identifier
    return '"' + identifier.replace('"', '""') + '"'


def quote_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def as_written(name: Name) -> tuple[str, ...]:
    return name.parts


@dataclass(frozen=True, kw_only=True, slots=True)
class Printer:
    """How SHOW CREATE prints.  `cluster` is the one that a statement without IN CLUSTER went to; `redacted`
    replaces every literal."""

    qualify: Qualify = as_written
    cluster: str = "quickstart"
    redacted: bool = False

    def name(self, name: Name) -> str:
        return ".".join(quote_ident(part) for part in self.qualify(name))

    def text(self, text: str) -> str:
        return REDACTED if self.redacted else quote_literal(text)

    def number(self, number: int) -> str:
        return REDACTED if self.redacted else str(number)

    def text_or_secret(self, value: str | SecretRef) -> str:
        return self.text(value) if isinstance(value, str) else f"SECRET {self.name(value.name)}"

    def query(self, query: QueryText) -> str:
        return _redacted(query.text) if self.redacted else query.text

    def columns(self, columns: Sequence[str]) -> str:
        return "(" + ", ".join(quote_ident(column) for column in columns) + ")"

    def in_cluster(self, cluster: str | None) -> str:
        return f"IN CLUSTER {quote_ident(cluster or self.cluster)}"


def lines(*clauses: str | None) -> str:
    """The clauses that there are, one a line, and the final semicolon."""
    return "\n".join(clause for clause in clauses if clause) + ";"


def _redacted(sql: str) -> str:
    pieces, at = [], 0
    for token in scan(sql):
        if token.kind in (Kind.STRING, Kind.BITS, Kind.NUMBER):
            pieces += [sql[at : token.start], REDACTED]
            at = token.end
    return "".join(pieces) + sql[at:]
