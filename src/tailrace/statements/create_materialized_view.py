"""CREATE [OR REPLACE] MATERIALIZED VIEW [IF NOT EXISTS] name [(column,…)] [IN CLUSTER c] [WITH (…)] AS query

and CREATE REPLACEMENT MATERIALIZED VIEW name FOR target …, which waits to take the target's place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tailrace.catalog.items import Item
from tailrace.engine import define as definitions
from tailrace.engine.context import Arguments, Session
from tailrace.engine.define import Identity
from tailrace.errors import NotSupported, SqlError
from tailrace.sql.durations import Duration
from tailrace.sql.kinds import ANYTHING, COLUMN, FOR_INTERVAL, Several
from tailrace.sql.names import Name, QueryText
from tailrace.sql.options import Option, Options, parse_options
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer, lines
from tailrace.statements.contract import Result

STARTS = (
    ("CREATE", "MATERIALIZED", "VIEW"),
    ("CREATE", "OR", "REPLACE", "MATERIALIZED", "VIEW"),
    ("CREATE", "REPLACEMENT", "MATERIALIZED", "VIEW"),
)

ASSERT_NOT_NULL = Option(
    "ASSERT NOT NULL", COLUMN, repeatable=True, doc="Makes a column NOT NULL; reads fail while it is not."
)
PARTITION_BY = Option("PARTITION BY", Several(COLUMN), doc="How the stored rows are ordered.")
RETAIN_HISTORY = Option("RETAIN HISTORY", FOR_INTERVAL, doc="How far back AS OF can reach.")
REFRESH = Option("REFRESH", ANYTHING, repeatable=True, doc="Not yet: views are refreshed at every tick.")
WITH_OPTIONS: tuple[Option[Any], ...] = (ASSERT_NOT_NULL, PARTITION_BY, RETAIN_HISTORY, REFRESH)


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateMaterializedView:
    name: Name
    query: QueryText
    columns: tuple[str, ...] = ()
    cluster: str | None = None
    assert_not_null: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    retain_history: Duration | None = None
    replacement_for: Name | None = None
    options: Options = field(default_factory=Options)
    or_replace: bool = False
    if_not_exists: bool = False

    def create_sql(self, printer: Printer) -> str:
        columns = f" {printer.columns(self.columns)}" if self.columns else ""
        replacement = "REPLACEMENT " if self.replacement_for else ""
        return lines(
            f"CREATE {replacement}MATERIALIZED VIEW {printer.name(self.name)}{columns}",
            None if self.replacement_for is None else f"FOR {printer.name(self.replacement_for)}",
            printer.in_cluster(self.cluster),
            self.options.clause(printer, "WITH "),
            f"AS {printer.query(self.query)}",
        )


def parse(p: Parser) -> CreateMaterializedView:
    p.expect("CREATE")
    or_replace = p.accept("OR", "REPLACE")
    replacement = p.accept("REPLACEMENT")
    p.expect("MATERIALIZED", "VIEW")
    if_not_exists = not or_replace and p.if_not_exists()
    name = p.new_name("view name")
    columns = p.columns() if p.at("(") else ()
    replacement_for = _target(p) if replacement else None
    cluster = p.in_cluster()
    options = parse_options(p, WITH_OPTIONS) if p.accept("WITH") else Options()
    _check(options)
    p.expect("AS")
    return CreateMaterializedView(
        name=name,
        query=p.query_text(),
        columns=columns,
        cluster=cluster,
        assert_not_null=options.all(ASSERT_NOT_NULL),
        partition_by=options.get(PARTITION_BY) or (),
        retain_history=options.get(RETAIN_HISTORY),
        replacement_for=replacement_for,
        options=options,
        or_replace=or_replace,
        if_not_exists=if_not_exists,
    )


def _target(p: Parser) -> Name:
    p.expect("FOR")
    return p.name("view name")


def _check(options: Options) -> None:
    if options.has(REFRESH):
        message = "REFRESH options of materialized views not yet supported"
        raise NotSupported(message, position=options.position(REFRESH))
    asserted = [given for given in options.given if given.option == ASSERT_NOT_NULL]
    for i, given in enumerate(asserted):
        if given.value in [other.value for other in asserted[:i]]:
            message = f'duplicate column "{given.value}" in non-null assertions'
            raise SqlError(message, position=given.position)


def define(statement: CreateMaterializedView, session: Session, identity: Identity) -> Item:
    return definitions.materialized_view(session, statement, identity)


def execute(statement: CreateMaterializedView, session: Session, arguments: Arguments) -> Result:
    if statement.replacement_for is not None:
        raise NotSupported("CREATE REPLACEMENT MATERIALIZED VIEW not yet supported")
    return session.create(
        "materialized view",
        statement.name,
        lambda identity: define(statement, session, identity),
        if_not_exists=statement.if_not_exists,
        or_replace=statement.or_replace,
    )
