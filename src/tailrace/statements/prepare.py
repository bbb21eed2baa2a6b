"""PREPARE name [(type,…)] AS statement, EXECUTE name [(expression,…)], DEALLOCATE [PREPARE] name | ALL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tailrace.engine.context import Arguments, Session
from tailrace.engine.evaluate import constant
from tailrace.errors import SqlError
from tailrace.sql.names import QueryText
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Prepared, Result
from tailrace.statements.nested import parse_nested
from tailrace.types.core import Schema, SqlType

if TYPE_CHECKING:
    from tailrace.statements.registry import Statement

STARTS = (("PREPARE",), ("EXECUTE",), ("DEALLOCATE",))


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepare:
    name: str
    statement: Statement
    text: QueryText  # of the statement
    types: tuple[SqlType, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Execute:
    name: str
    arguments: tuple[QueryText, ...] = ()
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Deallocate:
    """`name` is None for ALL."""

    name: str | None
    position: int | None = field(default=None, compare=False)


def parse(p: Parser) -> Prepare | Execute | Deallocate:
    verb = p.keyword("PREPARE", "EXECUTE", "DEALLOCATE")
    if verb == "PREPARE":
        return _prepare(p)
    if verb == "DEALLOCATE":
        p.accept("PREPARE")
        position = p.position
        return Deallocate(name=None if p.accept("ALL") else p.identifier(), position=position)
    position = p.position
    name = p.identifier()
    arguments = () if p.accept("(", ")") or not p.at("(") else p.items(p.expression)
    return Execute(name=name, arguments=arguments, position=position)


def _prepare(p: Parser) -> Prepare:
    name = p.identifier()
    types = p.items(p.type_) if p.at("(") else ()
    p.expect("AS")
    mark = p.mark
    text = p.rest_as_text("statement")
    p.rewind(mark)
    return Prepare(name=name, statement=parse_nested(p), text=text, types=types)


class UnknownStatement(SqlError):
    sqlstate = "26000"


class DuplicateStatement(SqlError):
    sqlstate = "42P05"


def describe(
    statement: Prepare | Execute | Deallocate, session: Session, parameters: Sequence[SqlType | None]
) -> tuple[tuple[SqlType, ...], Schema | None]:
    return (), _known(session, statement).columns if isinstance(statement, Execute) else None


def execute(statement: Prepare | Execute | Deallocate, session: Session, arguments: Arguments) -> Result:
    match statement:
        case Prepare(name=name, text=text, types=types):
            if name in session.prepared:
                raise DuplicateStatement(f'prepared statement "{name}" already exists')
            session.prepared[name] = session.prepare(text.text, types)
            return Result(tag="PREPARE")
        case Execute():
            return _run(statement, session)
        case Deallocate(name=None):
            session.prepared.clear()
            return Result(tag="DEALLOCATE ALL")
        case Deallocate():
            name = statement.name or ""
            if session.prepared.pop(name, None) is None:
                raise _unknown(name, statement.position)
            return Result(tag="DEALLOCATE")


def _run(statement: Execute, session: Session) -> Result:
    prepared = _known(session, statement)
    if len(statement.arguments) != len(prepared.parameters):
        raise SqlError(
            f'wrong number of parameters for prepared statement "{statement.name}"',
            detail=f"Expected {len(prepared.parameters)} parameters but got {len(statement.arguments)}.",
            sqlstate="42601",
        )
    pairs = zip(statement.arguments, prepared.parameters, strict=True)
    return session.execute(prepared, [constant(session, expression, type) for expression, type in pairs])


def _known(session: Session, statement: Execute) -> Prepared:
    if statement.name not in session.prepared:
        raise _unknown(statement.name, statement.position)
    return session.prepared[statement.name]


def _unknown(name: str, position: int | None) -> SqlError:
    return UnknownStatement(f'prepared statement "{name}" does not exist', position=position)
