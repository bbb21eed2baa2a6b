"""DELETE FROM table [[AS] alias] [USING from,…] [WHERE condition]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.engine import dml
from tailrace.engine.context import Arguments, Session
from tailrace.sql.names import Name, QueryText
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result
from tailrace.statements.insert import refuse_returning
from tailrace.types.core import Schema, SqlType

STARTS = (("DELETE",),)


@dataclass(frozen=True, kw_only=True, slots=True)
class Delete:
    """`using` is the text of a FROM clause's items."""

    table: Name
    alias: str | None = None
    using: QueryText | None = None
    where: QueryText | None = None


def parse(p: Parser) -> Delete:
    p.expect("DELETE", "FROM")
    table = p.name("table name")
    alias = p.identifier("alias") if p.accept("AS") or p.at_identifier() else None
    using = p.clause(("WHERE",)) if p.accept("USING") else None
    where = p.clause(("RETURNING",), what="condition") if p.accept("WHERE") else None
    refuse_returning(p)
    return Delete(table=table, alias=alias, using=using, where=where)


def describe(
    statement: Delete, session: Session, parameters: Sequence[SqlType | None]
) -> tuple[tuple[SqlType, ...], Schema | None]:
    return dml.plan_delete(session, statement, parameters).parameters, None


def execute(statement: Delete, session: Session, arguments: Arguments) -> Result:
    return Result(tag=f"DELETE {dml.delete(session, statement, arguments)}")
