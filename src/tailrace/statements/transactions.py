"""BEGIN | START TRANSACTION [modes], COMMIT | END, ROLLBACK | ABORT [TO [SAVEPOINT] s], SAVEPOINT s, RELEASE s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tailrace.engine.context import Arguments, Session
from tailrace.engine.transaction import NoTransaction, Transaction
from tailrace.errors import NotSupported
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result
from tailrace.statements.set_variable import isolation_level

STARTS = (
    *(("BEGIN",), ("START", "TRANSACTION"), ("COMMIT",), ("END",), ("ROLLBACK",), ("ABORT",)),
    *(("SAVEPOINT",), ("RELEASE",)),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Begin:
    isolation_level: str | None = None
    read_only: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    pass


@dataclass(frozen=True, kw_only=True, slots=True)
class Rollback:
    """`savepoint`: back to there, and the block goes on."""

    savepoint: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Savepoint:
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    name: str


TransactionStatement: TypeAlias = Begin | Commit | Rollback | Savepoint | Release


def parse(p: Parser) -> TransactionStatement:
    verb = p.keyword("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE")
    if verb == "SAVEPOINT":
        return Savepoint(name=p.identifier("savepoint name"))
    if verb == "RELEASE":
        p.accept("SAVEPOINT")
        return Release(name=p.identifier("savepoint name"))
    if verb == "START":
        p.expect("TRANSACTION")
    else:
        _ = p.accept("WORK") or p.accept("TRANSACTION")
    if verb in ("BEGIN", "START"):
        return _modes(p)
    if verb == "ROLLBACK" and p.accept("TO"):
        p.accept("SAVEPOINT")
        return Rollback(savepoint=p.identifier("savepoint name"))
    position = p.position
    if p.accept("AND", "CHAIN"):
        raise NotSupported("AND CHAIN not supported", hint="BEGIN another transaction.", position=position)
    p.accept("AND", "NO", "CHAIN")
    return Commit() if verb in ("COMMIT", "END") else Rollback()


def _modes(p: Parser) -> Begin:
    level: str | None = None
    read_only: bool | None = None
    while not p.at_end():
        if p.accept("ISOLATION", "LEVEL"):
            level = isolation_level(p)
        elif p.accept("READ", "ONLY"):
            read_only = True
        elif p.accept("READ", "WRITE"):
            read_only = False
        elif not p.accept("NOT", "DEFERRABLE") and not p.accept("DEFERRABLE"):
            raise p.expected("one of ISOLATION or READ")
        p.accept(",")
    return Begin(isolation_level=level, read_only=read_only)


def execute(statement: TransactionStatement, session: Session, arguments: Arguments) -> Result:
    match statement:
        case Begin():
            _begin(statement, session)
        case Commit():
            _end(session, keep=True)
        case Rollback(savepoint=None):
            _end(session, keep=False)
        case Rollback(savepoint=str(name)):
            _open(session, "ROLLBACK TO SAVEPOINT").return_to(name)
        case Savepoint(name=name):
            _open(session, "SAVEPOINT").save(name)
        case Release(name=name):
            _open(session, "RELEASE SAVEPOINT").release(name)
    return Result(tag=type(statement).__name__.upper())


def _begin(statement: Begin, session: Session) -> None:
    session.end_string(keep=True)
    if session.transaction is not None:
        session.notice("there is already a transaction in progress", sqlstate="25001", severity="WARNING")
        return
    session.transaction = Transaction(session.engine)
    session.variables.begin()
    default = session.variables.get("default_transaction_read_only") == "on"
    if default if statement.read_only is None else statement.read_only:
        session.transaction.admit("read")


def _end(session: Session, *, keep: bool) -> None:
    session.end_string(keep=keep)
    transaction = session.end_transaction()
    session.variables.end(keep=keep)
    if transaction is None:
        session.notice("there is no transaction in progress", sqlstate="25P01", severity="WARNING")
    elif keep:
        transaction.commit()
    elif transaction.kind == "definition":
        session.notice("objects were changed in this transaction, which cannot be undone", severity="WARNING")


def _open(session: Session, what: str) -> Transaction:
    if session.transaction is None or session.transaction.is_implicit:
        raise NoTransaction(f"{what} can only be used in transaction blocks")
    return session.transaction
