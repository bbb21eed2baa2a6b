"""SELECT, WITH, VALUES, TABLE: a query, [AS OF [AT LEAST] time].

Its text goes to the plan layer as it is, without AS OF, which is not part of the query but of when to look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.engine import queries, times
from tailrace.engine.context import Arguments, Session
from tailrace.sql.names import QueryText
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result
from tailrace.types.core import Schema, SqlType

STARTS = (("SELECT",), ("WITH",), ("VALUES",), ("TABLE",), ("(",))


@dataclass(frozen=True, kw_only=True, slots=True)
class AsOf:
    """`at_least` lets the system choose a later time."""

    time: QueryText
    at_least: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Select:
    query: QueryText
    as_of: AsOf | None = None


def parse(p: Parser) -> Select:
    query = p.query_text(("AS", "OF"))
    return Select(query=query, as_of=as_of(p))


def as_of(p: Parser, *until: tuple[str, ...]) -> AsOf | None:
    """`[AS OF [AT LEAST] expression]`."""
    if not p.accept("AS", "OF"):
        return None
    at_least = p.accept("AT", "LEAST")
    return AsOf(time=p.expression(*until, what="time"), at_least=at_least)


def describe(
    statement: Select, session: Session, parameters: Sequence[SqlType | None]
) -> tuple[tuple[SqlType, ...], Schema]:
    return queries.describe(session, statement.query, parameters)


def execute(statement: Select, session: Session, arguments: Arguments) -> Result:
    return queries.answer(session, statement.query, arguments, times.chosen(session, statement.as_of))
