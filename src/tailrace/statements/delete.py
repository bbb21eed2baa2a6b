"""DELETE FROM table [[AS] alias] [USING from,…] [WHERE condition] [RETURNING expression,…]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.engine import dml
from tailrace.engine.context import Arguments, Session
from tailrace.sql.names import Name, QueryText
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result
from tailrace.statements.insert import answer, parse_returning, with_returned
from tailrace.types.core import Schema, SqlType

STARTS = (("DELETE",),)


@dataclass(frozen=True, kw_only=True, slots=True)
class Delete:
    """`using` is the text of a FROM clause's items."""

    table: Name
    alias: str | None = None
    using: QueryText | None = None
    where: QueryText | None = None
    returning: QueryText | None = None


def parse(p: Parser) -> Delete:
    p.expect("DELETE", "FROM")
    table = p.name("table name")
    alias = p.identifier("alias") if p.accept("AS") or p.at_identifier() else None
    using = p.clause(("WHERE",), ("RETURNING",)) if p.accept("USING") else None
    where = p.clause(("RETURNING",), what="condition") if p.accept("WHERE") else None
    return Delete(table=table, alias=alias, using=using, where=where, returning=parse_returning(p))


def describe(
    statement: Delete, session: Session, parameters: Sequence[SqlType | None]
) -> tuple[tuple[SqlType, ...], Schema | None]:
    return with_returned(statement, session, dml.plan_delete(session, statement, parameters).parameters)


def execute(statement: Delete, session: Session, arguments: Arguments) -> Result:
    changed = dml.delete(session, statement, arguments)
    _, columns = with_returned(statement, session, tuple(type for type, _ in arguments))
    return answer(f"DELETE {changed.count}", changed, columns)
