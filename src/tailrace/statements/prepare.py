"""PREPARE name [(type,…)] AS statement, EXECUTE name [(expression,…)], DEALLOCATE [PREPARE] name | ALL."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tailrace.sql.names import QueryText
from tailrace.sql.parser import Parser
from tailrace.statements.nested import parse_nested
from tailrace.types.core import SqlType

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
