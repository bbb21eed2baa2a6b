"""CREATE [OR REPLACE] [TEMP] VIEW [IF NOT EXISTS] name [(column,…)] AS query."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.catalog.items import Item
from tailrace.engine import define as definitions
from tailrace.engine.context import Arguments, Session
from tailrace.engine.define import Identity
from tailrace.sql.names import Name, QueryText
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer, lines
from tailrace.statements.contract import Result

STARTS = tuple(
    ("CREATE", *replace, *temporary, "VIEW")
    for replace in ((), ("OR", "REPLACE"))
    for temporary in ((), ("TEMP",), ("TEMPORARY",))
)


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateView:
    name: Name
    query: QueryText
    columns: tuple[str, ...] = ()
    temporary: bool = False
    or_replace: bool = False
    if_not_exists: bool = False

    def create_sql(self, printer: Printer) -> str:
        columns = f" {printer.columns(self.columns)}" if self.columns else ""
        temporary = "TEMPORARY " if self.temporary else ""
        return lines(
            f"CREATE {temporary}VIEW {printer.name(self.name)}{columns}",
            f"AS {printer.query(self.query)}",
        )


def parse(p: Parser) -> CreateView:
    p.expect("CREATE")
    or_replace = p.accept("OR", "REPLACE")
    temporary = p.accept("TEMP") or p.accept("TEMPORARY")
    p.expect("VIEW")
    if_not_exists = not or_replace and p.if_not_exists()
    name = p.new_name("view name")
    columns = p.columns() if p.at("(") else ()
    p.expect("AS")
    return CreateView(
        name=name,
        query=p.query_text(),
        columns=columns,
        temporary=temporary,
        or_replace=or_replace,
        if_not_exists=if_not_exists,
    )


def define(statement: CreateView, session: Session, identity: Identity) -> Item:
    return definitions.view(session, statement, identity)


def execute(statement: CreateView, session: Session, arguments: Arguments) -> Result:
    return session.create(
        "view",
        statement.name,
        lambda identity: define(statement, session, identity),
        if_not_exists=statement.if_not_exists,
        or_replace=statement.or_replace,
        temporary=statement.temporary,
    )
