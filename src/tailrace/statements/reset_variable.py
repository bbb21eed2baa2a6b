"""RESET variable | RESET ALL, and Flink's RESET ['key']."""

from __future__ import annotations

from dataclasses import dataclass, field

from tailrace.engine.context import Arguments, Session
from tailrace.sql.lexer import Kind
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result
from tailrace.statements.set_variable import variable

STARTS = (("RESET",),)


@dataclass(frozen=True, kw_only=True, slots=True)
class ResetVariable:
    """`variable` is None for RESET ALL."""

    variable: str | None
    of_flink: bool = False
    position: int | None = field(default=None, compare=False)


def parse(p: Parser) -> ResetVariable:
    p.expect("RESET")
    position = p.position
    if p.token.kind is Kind.STRING or p.at_end():
        key = None if p.at_end() else p.string()
        return ResetVariable(variable=key, of_flink=True, position=position)
    if p.accept("SESSION", "AUTHORIZATION"):
        return ResetVariable(variable="role", position=position)
    return ResetVariable(variable=None if p.accept("ALL") else variable(p), position=position)


def execute(statement: ResetVariable, session: Session, arguments: Arguments) -> Result:
    if statement.of_flink:
        for key in [*session.settings] if statement.variable is None else [statement.variable]:
            session.settings.pop(key, None)
    elif statement.variable is None:
        session.variables.reset_all()
    else:
        session.reset_variable(statement.variable)
    return Result(tag="RESET")
