"""CREATE TABLE [IF NOT EXISTS] name [(column,…)] FROM SOURCE name [(REFERENCE ref)] [FORMAT …] [INCLUDE …]
[ENVELOPE …] [WITH (option,…)]"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tailrace.catalog.items import Item
from tailrace.engine import source_tables
from tailrace.engine.context import Arguments, Session
from tailrace.engine.define import Identity
from tailrace.sql.durations import Duration
from tailrace.sql.kinds import COLUMN, FOR_INTERVAL, Several
from tailrace.sql.names import Name
from tailrace.sql.options import Option, Options, parse_options
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer, lines, quote_ident
from tailrace.statements.contract import Result
from tailrace.statements.create_source import column_list
from tailrace.statements.ingest import Ingest, parse_ingest

STARTS = ()  # create_table.py sends us what turns out to be ours

PARTITION_BY = Option("PARTITION BY", Several(COLUMN), doc="How the stored rows are ordered.")
RETAIN_HISTORY = Option("RETAIN HISTORY", FOR_INTERVAL, doc="How far back AS OF can reach.")
WITH_OPTIONS: tuple[Option[Any], ...] = (PARTITION_BY, RETAIN_HISTORY)


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateTableFromSource:
    """`reference` names the part of the source; a Kafka source's is its topic, and may be left out."""

    name: Name
    source: Name
    ingest: Ingest
    reference: Name | None = None
    columns: tuple[str, ...] = ()
    key: tuple[str, ...] | None = None
    retain_history: Duration | None = None
    options: Options = field(default_factory=Options)
    if_not_exists: bool = False

    def create_sql(self, printer: Printer) -> str:
        parts = () if self.reference is None else self.reference.parts
        reference = f" (REFERENCE = {'.'.join(map(quote_ident, parts))})" if parts else ""
        return lines(
            f"CREATE TABLE {printer.name(self.name)}{self._column_clause(printer)}",
            f"FROM SOURCE {printer.name(self.source)}{reference}",
            *self.ingest.clauses(printer),
            self.options.clause(printer, "WITH "),
        )

    def _column_clause(self, printer: Printer) -> str:
        items = [quote_ident(column) for column in self.columns]
        if self.key is not None:
            items.append(f"PRIMARY KEY {printer.columns(self.key)} NOT ENFORCED")
        return f" ({', '.join(items)})" if items else ""


def follows(p: Parser) -> bool:
    """Whether, after a table's name, this statement and not a plain CREATE TABLE goes on."""
    mark, depth = p.mark, 0
    while not p.at_end() and (depth or p.at("(")):
        depth += {"(": 1, ")": -1}.get(p.advance().word, 0)
        if depth == 0:
            break
    answer = p.at("FROM")
    p.rewind(mark)
    return answer


def parse(p: Parser) -> CreateTableFromSource:
    p.expect("CREATE", "TABLE")
    if_not_exists = p.if_not_exists()
    name = p.new_name("table name")
    columns, key = column_list(p)
    p.expect("FROM", "SOURCE")
    source = p.name("source name")
    reference = _reference(p)
    ingest = parse_ingest(p)
    options = parse_options(p, WITH_OPTIONS) if p.accept("WITH") else Options()
    return CreateTableFromSource(
        name=name,
        source=source,
        ingest=ingest,
        reference=reference,
        columns=columns,
        key=key,
        retain_history=options.get(RETAIN_HISTORY),
        options=options,
        if_not_exists=if_not_exists,
    )


def _reference(p: Parser) -> Name | None:
    if not p.accept("("):
        return None
    p.expect("REFERENCE")
    p.accept("=")
    reference = p.name("reference")
    p.expect(")")
    return reference


def define(statement: CreateTableFromSource, session: Session, identity: Identity) -> Item:
    return source_tables.item(session, statement, identity)


def execute(statement: CreateTableFromSource, session: Session, arguments: Arguments) -> Result:
    return source_tables.create(session, statement)
