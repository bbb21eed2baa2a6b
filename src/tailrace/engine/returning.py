"""RETURNING: a query over the rows that go in, or that DELETE takes out, answered before they do, so that its error
keeps everything as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.catalog.items import Item
from tailrace.engine.privileges import require
from tailrace.engine.queries import Arguments, literals
from tailrace.engine.rows import arrow_schema
from tailrace.errors import NotSupported
from tailrace.plan.bind import BoundQuery
from tailrace.plan.data_errors import explain
from tailrace.plan.parse import parse_query
from tailrace.plan.substitute import substitute
from tailrace.plan.to_spark import render
from tailrace.plan.walk import scans
from tailrace.sql.unparse import quote_ident
from tailrace.types.core import SqlType
from tailrace.types.spark import ddl

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession
    from tailrace.statements.delete import Delete
    from tailrace.statements.insert import Insert
    from tailrace.statements.update import Update

_SELECT = "SELECT "


def plan(
    session: EngineSession, statement: Insert | Update | Delete, table: Item, parameters: Sequence[SqlType | None]
) -> BoundQuery | None:
    """The query of RETURNING, as if the table had these rows only.  None: there is none."""
    wanted = statement.returning
    if wanted is None:
        return None
    if getattr(statement, "using", None) is not None:
        raise NotSupported("RETURNING beside other relations not yet supported", position=wanted.start + 1)
    require(session, "SELECT", table)
    place = ".".join(map(quote_ident, table.name.parts))
    alias = quote_ident(statement.alias or table.name.item)
    text = f"{_SELECT}{wanted.text} FROM {place} AS {alias}"
    bound = session.bind_change(parse_query(text, wanted.start - len(_SELECT)), table, parameters, ())
    if scans(bound.node) - {table.id}:
        raise NotSupported("subqueries in RETURNING not yet supported", position=wanted.start + 1)
    return bound


def answer(
    session: EngineSession, bound: BoundQuery, table: Item, rows: pa.Table, arguments: Arguments
) -> pa.Table:
    """Runs one Spark job.  `rows` have all columns in their places, and perhaps a weight behind them."""
    assert table.schema is not None
    views = session.engine.views
    held = pa.Table.from_arrays(rows.columns[: len(table.schema)], schema=arrow_schema(table.schema))
    node = substitute(bound.node, literals(arguments))
    with views.scratch():
        view = views.add_arrow(held, ddl(table.schema))
        try:
            return session.collect(render(node, lambda _: view)).select(range(bound.visible))
        except Exception as error:
            raise explain(error) from error
