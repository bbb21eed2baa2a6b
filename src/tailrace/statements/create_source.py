"""CREATE SOURCE [IF NOT EXISTS] name [(column,…)] [IN CLUSTER c] FROM origin
[FORMAT …] [INCLUDE …] [ENVELOPE …] [EXPOSE PROGRESS AS name]
[WITH (RETAIN HISTORY = FOR 'i', TIMESTAMP INTERVAL = 'i')]"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tailrace.catalog.items import Item
from tailrace.engine import sources
from tailrace.engine.context import Arguments, Session
from tailrace.engine.define import Identity
from tailrace.sql.durations import Duration
from tailrace.sql.kinds import FOR_INTERVAL, INTERVAL
from tailrace.sql.names import Name
from tailrace.sql.options import Option, Options, parse_options
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer, lines, quote_ident
from tailrace.statements.contract import Result
from tailrace.statements.ingest import Ingest, parse_ingest
from tailrace.statements.sources.registry import Origin, parse_origin

STARTS = (("CREATE", "SOURCE"),)

RETAIN_HISTORY = Option("RETAIN HISTORY", FOR_INTERVAL, doc="How far back AS OF can reach.")
TIMESTAMP_INTERVAL = Option("TIMESTAMP INTERVAL", INTERVAL, doc="How often a tick ends.")
WITH_OPTIONS: tuple[Option[Any], ...] = (RETAIN_HISTORY, TIMESTAMP_INTERVAL)


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateSource:
    """`columns` renames what the format yields; `key` is PRIMARY KEY (…) NOT ENFORCED."""

    name: Name
    origin: Origin
    ingest: Ingest
    columns: tuple[str, ...] = ()
    key: tuple[str, ...] | None = None
    cluster: str | None = None
    progress: Name | None = None
    retain_history: Duration | None = None
    timestamp_interval: Duration | None = None
    options: Options = field(default_factory=Options)
    if_not_exists: bool = False

    def create_sql(self, printer: Printer) -> str:
        progress = None if self.progress is None else f"EXPOSE PROGRESS AS {printer.name(self.progress)}"
        return lines(
            f"CREATE SOURCE {printer.name(self.name)}{_column_clause(self)}",
            printer.in_cluster(self.cluster),
            self.origin.sql(printer),
            *self.ingest.clauses(printer),
            progress,
            self.options.clause(printer, "WITH "),
        )


def parse(p: Parser) -> CreateSource:
    p.expect("CREATE", "SOURCE")
    if_not_exists = p.if_not_exists()
    name = p.new_name("source name")
    columns, key = column_list(p)
    cluster = p.in_cluster()
    p.expect("FROM")
    origin = parse_origin(p)
    ingest = parse_ingest(p)
    progress = _progress(p)
    options = parse_options(p, WITH_OPTIONS) if p.accept("WITH") else Options()
    return CreateSource(
        name=name,
        origin=origin,
        ingest=ingest,
        columns=columns,
        key=key,
        cluster=cluster,
        progress=progress,
        retain_history=options.get(RETAIN_HISTORY),
        timestamp_interval=options.get(TIMESTAMP_INTERVAL),
        options=options,
        if_not_exists=if_not_exists,
    )


def column_list(p: Parser) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """`[( column,… [, PRIMARY KEY (column,…) NOT ENFORCED] )]`: the columns' names, and the key."""
    columns: list[str] = []
    key: tuple[str, ...] | None = None
    if not p.accept("("):
        return (), None
    while key is None:
        if p.accept("PRIMARY", "KEY"):
            key = p.columns()
            p.expect("NOT", "ENFORCED")
        else:
            columns.append(p.identifier("column name"))
        if not p.accept(","):
            break
    if not p.accept(")"):
        raise p.expected('"," or ")"')
    return tuple(columns), key


def _progress(p: Parser) -> Name | None:
    if not p.accept("EXPOSE"):
        return None
    p.expect("PROGRESS", "AS")
    return p.name("relation name")


def _column_clause(source: CreateSource) -> str:
    columns = [quote_ident(column) for column in source.columns]
    if source.key is not None:
        names = ", ".join(quote_ident(column) for column in source.key)
        columns.append(f"PRIMARY KEY ({names}) NOT ENFORCED")
    return f" ({', '.join(columns)})" if columns else ""


def define(statement: CreateSource, session: Session, identity: Identity) -> Item:
    return sources.item(session, statement, identity)


def execute(statement: CreateSource, session: Session, arguments: Arguments) -> Result:
    return sources.create(session, statement)
