"""DISCARD ALL | TEMP | PLANS | SEQUENCES: forget what the session has gathered."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.engine.context import Arguments, Session
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result

STARTS = (("DISCARD",),)


@dataclass(frozen=True, kw_only=True, slots=True)
class Discard:
    what: str  # all, temp, plans, sequences


def parse(p: Parser) -> Discard:
    p.expect("DISCARD")
    what = p.keyword("ALL", "TEMP", "TEMPORARY", "PLANS", "SEQUENCES").lower()
    return Discard(what="temp" if what == "temporary" else what)


def execute(statement: Discard, session: Session, arguments: Arguments) -> Result:
    if statement.what == "all":
        session.refuse_in_transaction("DISCARD ALL")
        session.variables.reset_all()
        session.reset_variable("role")
        session.prepared.clear()
    return Result(tag=f"DISCARD {statement.what.upper()}")
