"""DECLARE name CURSOR FOR query | SUBSCRIBE …, FETCH [FORWARD] [n | ALL] [FROM] name, CLOSE name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tailrace.engine import cursors
from tailrace.engine.context import Arguments, Session
from tailrace.errors import NotSupported
from tailrace.sql.durations import Duration
from tailrace.sql.kinds import INTERVAL
from tailrace.sql.lexer import Kind
from tailrace.sql.options import Option, Options, parse_options
from tailrace.sql.parser import Parser
from tailrace.statements import select, subscribe
from tailrace.statements.contract import Result
from tailrace.statements.select import Select
from tailrace.statements.subscribe import Subscribe
from tailrace.types.core import Schema, SqlType

STARTS = (("DECLARE",), ("FETCH",), ("MOVE",), ("CLOSE",))

TIMEOUT = Option("TIMEOUT", INTERVAL, doc="How long to wait for rows.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Declare:
    cursor: str
    statement: Select | Subscribe
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fetch:
    """`count` is None for ALL; `timeout` is None to wait for at least one row."""

    cursor: str
    count: int | None = 1
    timeout: Duration | None = None
    skips: bool = False  # MOVE: the rows are passed over
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Close:
    """`cursor` is None for ALL."""

    cursor: str | None
    position: int | None = field(default=None, compare=False)


Cursor: TypeAlias = Declare | Fetch | Close


def parse(p: Parser) -> Cursor:
    verb = p.keyword("DECLARE", "FETCH", "MOVE", "CLOSE")
    if verb == "DECLARE":
        return _declare(p)
    if verb in ("FETCH", "MOVE"):
        return _fetch(p, skips=verb == "MOVE")
    position = p.position
    return Close(cursor=None if p.accept("ALL") else p.identifier("cursor name"), position=position)


def _declare(p: Parser) -> Declare:
    position = p.position
    cursor = p.identifier("cursor name")
    p.expect("CURSOR")
    if p.at("WITH", "HOLD"):
        raise NotSupported("WITH HOLD is unsupported for cursors", position=p.position)
    p.accept("WITHOUT", "HOLD")
    p.expect("FOR")
    statement = subscribe.parse(p) if p.at("SUBSCRIBE") else select.parse(p)
    return Declare(cursor=cursor, statement=statement, position=position)


def _fetch(p: Parser, *, skips: bool) -> Fetch:
    count: int | None = 1
    p.accept("FORWARD")
    if p.accept("ALL"):
        count = None
    elif p.token.kind is Kind.NUMBER:
        count = p.integer()
    _ = p.accept("FROM") or p.accept("IN")
    position = p.position
    cursor = p.identifier("cursor name")
    options = parse_options(p, (TIMEOUT,)) if p.accept("WITH") else Options()
    return Fetch(cursor=cursor, count=count, timeout=options.get(TIMEOUT), skips=skips, position=position)


def describe(
    statement: Cursor, session: Session, parameters: Sequence[SqlType | None]
) -> tuple[tuple[SqlType, ...], Schema | None]:
    match statement:
        case Declare(statement=Select() as query):
            return select.describe(query, session, parameters)[0], None
        case Fetch(skips=False):
            return (), cursors.get(session, statement).columns
        case _:
            return (), None


def execute(statement: Cursor, session: Session, arguments: Arguments) -> Result:
    match statement:
        case Declare(statement=Select() as query):
            return cursors.declare(session, statement, lambda: select.execute(query, session, arguments))
        case Declare(statement=changes):
            assert isinstance(changes, Subscribe)
            return cursors.declare(session, statement, lambda: subscribe.execute(changes, session, arguments))
        case Fetch():
            return cursors.fetch(session, statement)
        case Close():
            return cursors.close(session, statement)
