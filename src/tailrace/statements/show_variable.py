"""SHOW variable | SHOW ALL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tailrace.engine.context import Arguments, Session
from tailrace.engine.rows import rows_of
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result
from tailrace.statements.set_variable import variable
from tailrace.types.core import TEXT, Column, Schema, SqlType

STARTS = (("SHOW",),)


@dataclass(frozen=True, kw_only=True, slots=True)
class ShowVariable:
    """`variable` is None for SHOW ALL.  `in_standard_words`: asked for as SQL has it, so answered with what SQL has."""

    variable: str | None
    in_standard_words: bool = False
    position: int | None = field(default=None, compare=False)


def parse(p: Parser) -> ShowVariable:
    p.expect("SHOW")
    position = p.position
    standard = p.at("TRANSACTION", "ISOLATION", "LEVEL")
    name = None if p.accept("ALL") else variable(p)
    return ShowVariable(variable=name, in_standard_words=standard, position=position)


def describe(
    statement: ShowVariable, session: Session, parameters: Sequence[SqlType | None]
) -> tuple[tuple[SqlType, ...], Schema]:
    if statement.variable is None:
        return (), (Column("name", TEXT), Column("setting", TEXT))
    session.variable(statement.variable)  # an unknown one is an error already now
    return (), (Column(statement.variable, TEXT),)


def execute(statement: ShowVariable, session: Session, arguments: Arguments) -> Result:
    _, columns = describe(statement, session, ())
    if statement.variable is None:
        return Result(tag="SHOW", columns=columns, rows=rows_of(columns, session.variables.all()))
    value = session.variable(statement.variable)
    if statement.in_standard_words:
        value = value.removeprefix("strict ")  # drivers know the four levels of SQL
    return Result(tag="SHOW", columns=columns, rows=rows_of(columns, [(value,)]))
