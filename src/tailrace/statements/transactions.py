"""BEGIN | START TRANSACTION [modes], COMMIT | END, ROLLBACK | ABORT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tailrace.engine.context import Arguments, Session
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result
from tailrace.statements.set_variable import isolation_level

STARTS = (("BEGIN",), ("START", "TRANSACTION"), ("COMMIT",), ("END",), ("ROLLBACK",), ("ABORT",))


@dataclass(frozen=True, kw_only=True, slots=True)
class Begin:
    isolation_level: str | None = None
    read_only: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    pass


@dataclass(frozen=True, kw_only=True, slots=True)
class Rollback:
    pass


Transaction: TypeAlias = Begin | Commit | Rollback


def parse(p: Parser) -> Transaction:
    verb = p.keyword("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT")
    if verb == "START":
        p.expect("TRANSACTION")
    else:
        _ = p.accept("WORK") or p.accept("TRANSACTION")
    if verb in ("BEGIN", "START"):
        return _modes(p)
    return Commit() if verb in ("COMMIT", "END") else Rollback()


def _modes(p: Parser) -> Begin:
    level, read_only = None, False
    while not p.at_end():
        if p.accept("ISOLATION", "LEVEL"):
            level = isolation_level(p)
        elif p.accept("READ", "ONLY"):
            read_only = True
        elif not p.accept("READ", "WRITE"):
            raise p.expected("one of ISOLATION or READ")
        p.accept(",")
    return Begin(isolation_level=level, read_only=read_only)


def execute(statement: Transaction, session: Session, arguments: Arguments) -> Result:
    """Every statement is its own transaction; BEGIN and COMMIT are accepted, as drivers send them around reads."""
    return Result(tag=type(statement).__name__.upper())
