"""VALIDATE CONNECTION name: no rows if one can connect, else the error."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.engine import connections
from tailrace.engine.context import Arguments, Session
from tailrace.engine.privileges import use
from tailrace.sql.names import Name
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result

STARTS = (("VALIDATE", "CONNECTION"),)


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidateConnection:
    name: Name


def parse(p: Parser) -> ValidateConnection:
    p.expect("VALIDATE", "CONNECTION")
    return ValidateConnection(name=p.name("connection name"))


def execute(statement: ValidateConnection, session: Session, arguments: Arguments) -> Result:
    connections.validate(session.engine, use(session, statement.name))
    return Result(tag="VALIDATE CONNECTION")
