"""All system relations, and how queries get at their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.catalog.items import DEFAULT_DATABASE, FullName, Item
from tailrace.engine.rows import rows_of
from tailrace.engine.system import information_schema, mz_catalog, mz_internal, pg_catalog, pg_empty, pg_index, shows
from tailrace.engine.system.contract import Rows, SystemTable
from tailrace.plan.nodes import Scan
from tailrace.types.spark import ddl

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

TABLES: tuple[SystemTable, ...] = (
    *mz_catalog.TABLES,
    *mz_internal.TABLES,
    *shows.TABLES,
    *pg_catalog.TABLES,
    *pg_index.TABLES,
    *pg_empty.TABLES,
    *information_schema.TABLES,
)


def items() -> list[Item]:
    """System relations as catalog items, with ids s1, s2 …"""
    return [
        Item(
            id=f"s{number}",
            kind="system table",
            name=FullName(DEFAULT_DATABASE, table.schema, table.name),
            statement=None,
            create_sql="",
            schema=table.columns,
        )
        for number, table in enumerate(TABLES, start=1)
    ]


def rows_now(session: EngineSession, scan: Scan) -> Rows:
    """The rows of a system relation at this moment."""
    return TABLES[int(scan.relation[1:]) - 1].rows(session)


def view_of(session: EngineSession, scan: Scan) -> str:
    """The same rows as a temporary view, for a query that also reads the user's relations.  No Spark job."""
    table = TABLES[int(scan.relation[1:]) - 1]
    batches: list[pa.RecordBatch] = rows_of(table.columns, table.rows(session))
    return session.engine.views.add_arrow(pa.Table.from_batches(batches), ddl(table.columns))
