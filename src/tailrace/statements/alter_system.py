"""ALTER SYSTEM SET variable {= | TO} value | RESET variable | RESET ALL."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.engine.context import Arguments, Session
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result
from tailrace.statements.set_variable import values

STARTS = (("ALTER", "SYSTEM"),)


@dataclass(frozen=True, kw_only=True, slots=True)
class AlterSystem:
    """`variable` is None for RESET ALL; `values` is None to go back to the default."""

    variable: str | None
    values: tuple[str, ...] | None = None


def parse(p: Parser) -> AlterSystem:
    p.expect("ALTER", "SYSTEM")
    if p.keyword("SET", "RESET") == "RESET":
        return AlterSystem(variable=None if p.accept("ALL") else p.identifier("variable"))
    variable = p.identifier("variable")
    p.keyword("=", "TO")
    return AlterSystem(variable=variable, values=values(p))


def execute(statement: AlterSystem, session: Session, arguments: Arguments) -> Result:
    """Flags of Materialize, which its scripts set: there are none here."""
    if statement.variable is not None:
        session.notice(
            f'there is no system variable "{statement.variable}"',
            hint="Settings of the server are flags of `tailrace serve`: docs/reference/settings.md.",
        )
    return Result(tag="ALTER SYSTEM")
