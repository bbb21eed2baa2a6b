"""UPDATE table [[AS] alias] SET {column = expression | (column,…) = {[ROW] (expression,…) | (query)}},…
[FROM relation,…] [WHERE condition] [RETURNING expression,…].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tailrace.engine import dml
from tailrace.engine.context import Arguments, Session
from tailrace.errors import NotSupported, SyntaxFailure
from tailrace.sql.names import Name, QueryText
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result
from tailrace.statements.insert import answer, parse_returning, with_returned
from tailrace.types.core import Schema, SqlType

STARTS = (("UPDATE",),)
_ENDS = (("FROM",), ("WHERE",), ("RETURNING",))
"""What can come behind the last value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Assignment:
    """`of`: the place among how many columns that the value has in the row of a query, which is `value` then."""

    column: str
    value: QueryText
    of: tuple[int, int] | None = None
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Update:
    """`using` is the text of the items of FROM."""

    table: Name
    assignments: tuple[Assignment, ...]
    alias: str | None = None
    using: QueryText | None = None
    where: QueryText | None = None
    returning: QueryText | None = None


def parse(p: Parser) -> Update:
    p.expect("UPDATE")
    table = p.name("table name")
    alias = None
    if p.accept("AS") or (p.at_identifier() and not p.at("SET")):
        alias = p.identifier("alias")
    p.expect("SET")
    assignments = tuple(each for several in p.several(lambda: _assignments(p)) for each in several)
    using = p.clause(("WHERE",), ("RETURNING",)) if p.accept("FROM") else None
    where = p.clause(("RETURNING",), what="condition") if p.accept("WHERE") else None
    returned = parse_returning(p)
    return Update(table=table, assignments=assignments, alias=alias, using=using, where=where, returning=returned)


def _assignments(p: Parser) -> Sequence[Assignment]:
    if p.at("("):
        columns = p.items(lambda: _column(p))
        p.expect("=")
        return _of_row(p, columns)
    position, column = _column(p)
    p.expect("=")
    return [Assignment(column=column, value=p.expression(*_ENDS), position=position)]


def _column(p: Parser) -> tuple[int, str]:
    return p.position, p.identifier("column name")


def _of_row(p: Parser, columns: Sequence[tuple[int, str]]) -> Sequence[Assignment]:
    """Each column its value of a row that is written out, or that a query has."""
    position, count = p.position, len(columns)
    query = None if p.at("ROW") else _query(p)
    if query is not None:
        return [Assignment(column=c, value=query, of=(i, count), position=at) for i, (at, c) in enumerate(columns)]
    named = p.accept("ROW")
    values = p.items(p.expression) if p.at("(") else ()
    if not values or not (named or len(values) > 1):
        message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression"
        raise NotSupported(message, position=position)
    if len(values) != count:
        raise SyntaxFailure("number of columns does not match number of values", position=position)
    pairs = zip(columns, values, strict=True)
    return [Assignment(column=column, value=value, position=at) for (at, column), value in pairs]


def _query(p: Parser) -> QueryText | None:
    """A query in parentheses; `((SELECT 1), 2)` is none."""
    ahead = 0
    while p.peek(ahead).word == "(":
        ahead += 1
    if not ahead or p.peek(ahead).word not in ("SELECT", "WITH", "VALUES", "TABLE"):
        return None
    mark = p.mark
    text = p.expression(*_ENDS)
    if dml.is_query(text):
        return text
    p.rewind(mark)
    return None


def describe(
    statement: Update, session: Session, parameters: Sequence[SqlType | None]
) -> tuple[tuple[SqlType, ...], Schema | None]:
    return with_returned(statement, session, dml.plan_update(session, statement, parameters).parameters)


def execute(statement: Update, session: Session, arguments: Arguments) -> Result:
    changed = dml.update(session, statement, arguments)
    _, columns = with_returned(statement, session, tuple(type for type, _ in arguments))
    return answer(f"UPDATE {changed.count}", changed, columns)
