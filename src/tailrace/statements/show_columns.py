"""SHOW COLUMNS FROM relation [LIKE 's' | WHERE condition] | DESCRIBE relation.  The latter is Flink's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.engine import show
from tailrace.engine.context import Arguments, Session
from tailrace.sql.names import Name
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result
from tailrace.statements.show_objects import Filter, parse_filter
from tailrace.types.core import Schema, SqlType

STARTS = (("SHOW", "COLUMNS"), ("DESCRIBE",), ("DESC",))


@dataclass(frozen=True, kw_only=True, slots=True)
class ShowColumns:
    relation: Name
    filter: Filter | None = None


def parse(p: Parser) -> ShowColumns:
    if p.accept("DESCRIBE") or p.accept("DESC"):
        return ShowColumns(relation=p.name("relation name"))
    p.expect("SHOW", "COLUMNS", "FROM")
    return ShowColumns(relation=p.name("relation name"), filter=parse_filter(p))


def describe(
    statement: ShowColumns, session: Session, parameters: Sequence[SqlType | None]
) -> tuple[tuple[SqlType, ...], Schema]:
    return (), show.COLUMNS


def execute(statement: ShowColumns, session: Session, arguments: Arguments) -> Result:
    return show.columns(session, statement)
