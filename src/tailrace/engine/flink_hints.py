"""`FROM t /*+ OPTIONS('k' = 'v', …) */`: the table with other options, for one query.

A relation has one content at a tick, shared by all who read it (docs/design/010-flink-tables.md), so other options make
another relation: a table called `t$…` that comes with the first query that asks for it, serves all that ask for the
same, and goes with `t`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tailrace.catalog.items import Item
from tailrace.engine import flink_tables
from tailrace.errors import SqlError
from tailrace.sql.names import Name
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer, quote_literal
from tailrace.statements.flink.table_options import table_options
from tailrace.statements.flink.with_options import WithOptions, is_sensitive, parse_with

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession


def hinted(session: EngineSession, table: Item, given: Mapping[str, str], position: int | None) -> Item:
    """The table with these options in place of its own, made if it is not there yet."""
    if not flink_tables.is_flink(table):
        raise SqlError(
            f"OPTIONS hints are for Kafka tables of Flink's, and {table.kind} {table.name.item} is none",
            position=position,
            sqlstate="42809",
        )
    if "connector" in given:
        raise SqlError("a hint cannot change the connector", position=position, sqlstate="42601")
    catalog = session.engine.catalog
    digest = hashlib.sha256(json.dumps(sorted(given.items())).encode()).hexdigest()[:12]
    full = replace(table.name, item=f"{table.name.item}${digest}")
    found = catalog.named(full)
    if found is not None:
        return found
    statement = table.statement
    try:
        options = _with(session, table, given)
        settings = table_options(
            options,
            table=table.name.item,
            physical=[(column.name, column.type) for column in statement.physical],
            primary_key=statement.primary_key,
        )
    except SqlError as error:
        error.position = position
        raise
    name = Name(full.parts)
    other = replace(statement, name=name, options=options, settings=settings, if_not_exists=True)
    flink_tables.create(session, other, of=table)
    made = session.engine.catalog.named(full)
    assert made is not None
    return made


def _with(session: EngineSession, table: Item, given: Mapping[str, str]) -> WithOptions:
    """The table's options as they were written, some of them changed, read again."""
    printer, options = Printer(), table.statement.options
    written = {g.option.name: g.option.kind.show(g.value, printer) for g in options.given.given}
    if any(map(is_sensitive, written)):
        hidden: Mapping[str, str] = json.loads(session.engine.storage.secret(table.id).reveal())
        written |= {name: quote_literal(value) for name, value in hidden.items()}
    written |= {name: quote_literal(value) for name, value in given.items()}
    pairs = ", ".join(f"{quote_literal(name)} = {value}" for name, value in written.items())
    return parse_with(Parser(f"WITH ({pairs})"))
