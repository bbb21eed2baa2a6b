"""INSERT INTO table [[AS] alias] [(column,…)] { VALUES … | DEFAULT VALUES | query } [RETURNING …].

Into a Kafka table of Flink's it starts a job, which goes on for as long as rows come; `EXECUTE` may stand before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tailrace.catalog.items import Item
from tailrace.engine import dml, flink_jobs, queries, returning
from tailrace.engine.context import Arguments, Session
from tailrace.engine.define import Identity
from tailrace.errors import NotSupported
from tailrace.sql.names import Name, QueryText
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer, lines
from tailrace.statements.contract import Result
from tailrace.types.core import Schema, SqlType

if TYPE_CHECKING:
    from tailrace.statements.delete import Delete
    from tailrace.statements.update import Update

STARTS = (("INSERT",), ("EXECUTE", "INSERT"))
_RETURNING = ("RETURNING",)
_ON_CONFLICT = ("ON", "CONFLICT")


@dataclass(frozen=True, kw_only=True, slots=True)
class Insert:
    """`query` is None for DEFAULT VALUES.  A DEFAULT among VALUES is left in its text."""

    table: Name
    query: QueryText | None
    columns: tuple[str, ...] = ()
    alias: str | None = None
    returning: QueryText | None = None
    columns_position: int | None = field(default=None, compare=False)

    def create_sql(self, printer: Printer) -> str:
        """Of a job."""
        columns = f" {printer.columns(self.columns)}" if self.columns else ""
        query = "DEFAULT VALUES" if self.query is None else printer.query(self.query)
        return lines(f"INSERT INTO {printer.name(self.table)}{columns}", query)


def parse(p: Parser) -> Insert:
    p.accept("EXECUTE")
    if p.at("INSERT", "OVERWRITE"):
        raise NotSupported("INSERT OVERWRITE of a Kafka table not supported", position=p.position)
    p.expect("INSERT", "INTO")
    table = p.name("table name")
    alias = _alias(p)
    columns_position = p.position
    columns = p.columns() if _at_columns(p) else ()
    query = None if p.accept("DEFAULT", "VALUES") else p.query_text(_RETURNING, _ON_CONFLICT)
    if p.at(*_ON_CONFLICT):
        raise NotSupported(
            "INSERT ... ON CONFLICT not supported",
            detail="Keys of tables are declared, not enforced: no row is ever in the way of another.",
            hint="UPDATE or DELETE the old row first.",
            position=p.position,
        )
    return Insert(
        table=table,
        query=query,
        columns=columns,
        alias=alias,
        returning=parse_returning(p),
        columns_position=columns_position,
    )


def parse_returning(p: Parser) -> QueryText | None:
    """`[RETURNING expression,…]`."""
    return p.rest_as_text() if p.accept("RETURNING") else None


def _alias(p: Parser) -> str | None:
    if p.accept("AS") or (p.at_identifier() and p.token.word not in ("VALUES", "SHOW")):
        return p.identifier("alias")
    return None


def _at_columns(p: Parser) -> bool:
    """`(a, b) …` are columns, `(SELECT …)` is a query."""
    return p.at("(") and p.peek(1).word not in ("SELECT", "WITH", "VALUES", "TABLE", "(")


def describe(
    statement: Insert, session: Session, parameters: Sequence[SqlType | None]
) -> tuple[tuple[SqlType, ...], Schema | None]:
    if flink_jobs.is_job(session, statement):
        return (), None
    types = dml.plan_insert(session, statement, parameters).parameters
    return with_returned(statement, session, types)


def with_returned(
    statement: Insert | Update | Delete, session: Session, types: tuple[SqlType, ...]
) -> tuple[tuple[SqlType, ...], Schema | None]:
    """The parameters of a statement, which has these without RETURNING, and the columns that it answers with."""
    wanted = returning.plan(session, statement, session.resolve(statement.table, "table"), types)
    return (types, None) if wanted is None else (wanted.parameters, queries.columns_of(wanted))


def answer(tag: str, changed: dml.Changed, columns: Schema | None) -> Result:
    """What was done, and what RETURNING asked for."""
    returned = changed.returned
    return Result(tag=tag) if returned is None else Result(tag=tag, columns=columns, rows=returned.to_batches())


def define(statement: Insert, session: Session, identity: Identity) -> Item:
    """Of a job."""
    return flink_jobs.item(session, statement, identity)


def execute(statement: Insert, session: Session, arguments: Arguments) -> Result:
    if flink_jobs.is_job(session, statement):
        if statement.returning is not None:
            raise NotSupported("RETURNING of a job not supported", position=statement.returning.start + 1)
        return flink_jobs.start(session, [statement])
    inserted = dml.insert(session, statement, arguments)
    _, columns = with_returned(statement, session, tuple(type for type, _ in arguments))
    return answer(f"INSERT 0 {inserted.count}", inserted, columns)
