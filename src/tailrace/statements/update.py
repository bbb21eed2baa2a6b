"""UPDATE table [[AS] alias] SET column = expression,… [WHERE condition]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tailrace.engine import dml
from tailrace.engine.context import Arguments, Session
from tailrace.sql.names import Name, QueryText
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result
from tailrace.statements.insert import refuse_returning
from tailrace.types.core import Schema, SqlType

STARTS = (("UPDATE",),)


@dataclass(frozen=True, kw_only=True, slots=True)
class Assignment:
    column: str
    value: QueryText
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Update:
    table: Name
    assignments: tuple[Assignment, ...]
    alias: str | None = None
    where: QueryText | None = None


def parse(p: Parser) -> Update:
    p.expect("UPDATE")
    table = p.name("table name")
    alias = None
    if p.accept("AS") or (p.at_identifier() and not p.at("SET")):
        alias = p.identifier("alias")
    p.expect("SET")
    assignments = p.several(lambda: _assignment(p))
    where = p.clause(("RETURNING",), what="condition") if p.accept("WHERE") else None
    refuse_returning(p)
    return Update(table=table, assignments=assignments, alias=alias, where=where)


def _assignment(p: Parser) -> Assignment:
    position = p.position
    column = p.identifier("column name")
    p.expect("=")
    return Assignment(column=column, value=p.expression(("WHERE",)), position=position)


def describe(
    statement: Update, session: Session, parameters: Sequence[SqlType | None]
) -> tuple[tuple[SqlType, ...], Schema | None]:
    return dml.plan_update(session, statement, parameters).parameters, None


def execute(statement: Update, session: Session, arguments: Arguments) -> Result:
    return Result(tag=f"UPDATE {dml.update(session, statement, arguments)}")
