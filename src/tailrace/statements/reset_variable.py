"""RESET variable | RESET ALL."""

from __future__ import annotations

from dataclasses import dataclass, field

from tailrace.engine.context import Arguments, Session
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result
from tailrace.statements.set_variable import variable

STARTS = (("RESET",),)


@dataclass(frozen=True, kw_only=True, slots=True)
class ResetVariable:
    """`variable` is None for RESET ALL."""

    variable: str | None
    position: int | None = field(default=None, compare=False)


def parse(p: Parser) -> ResetVariable:
    p.expect("RESET")
    position = p.position
    return ResetVariable(variable=None if p.accept("ALL") else variable(p), position=position)


def execute(statement: ResetVariable, session: Session, arguments: Arguments) -> Result:
    if statement.variable is None:
        session.variables.reset_all()
    else:
        session.variables.reset(statement.variable)
    return Result(tag="RESET")
