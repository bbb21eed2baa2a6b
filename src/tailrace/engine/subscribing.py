"""SUBSCRIBE: the changes of a relation or query as rows, for as long as the client listens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.engine.rows import arrow_schema
from tailrace.engine.subscription import Change, Subscription
from tailrace.errors import NotSupported
from tailrace.plan.nodes import Node
from tailrace.sql.names import Name, QueryText
from tailrace.statements.contract import Result
from tailrace.types.core import BIGINT, Column, Numeric, Schema

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession
    from tailrace.statements.subscribe import Subscribe


def columns_of(session: EngineSession, statement: Subscribe) -> Schema:
    return _columns(_plan(session, statement))


def _columns(node: Node) -> Schema:
    return (Column("mz_timestamp", Numeric(0), False), Column("mz_diff", BIGINT, False), *node.schema)


def subscribe(session: EngineSession, statement: Subscribe) -> Result:
    for what, given in (
        ("ENVELOPE and ORDER BY", statement.output),
        ("AS OF", statement.as_of),
        ("UP TO", statement.up_to),
        ("PROGRESS", statement.progress or None),
    ):
        if given is not None:
            raise NotSupported(f"SUBSCRIBE with {what} not yet supported")
    node = _plan(session, statement)
    rows = _rows(session, node, snapshot=statement.snapshot)
    return Result(tag="SUBSCRIBE {rows}", columns=_columns(node), rows=rows)


def _plan(session: EngineSession, statement: Subscribe) -> Node:
    of = statement.of
    if isinstance(of, Name):
        quoted = ".".join('"' + part.replace('"', '""') + '"' for part in of.parts)
        of = QueryText(f"SELECT * FROM {quoted}", of.position or 0)
    return session.bind(of).relation


def _rows(session: EngineSession, node: Node, *, snapshot: bool) -> Iterator[pa.RecordBatch]:
    subscription = Subscription.open(session.engine, node, snapshot=snapshot)
    try:
        while True:
            session.check_cancelled()
            change = subscription.next(timeout=0.2)
            if change is not None:
                yield _batch(node, change)
            elif subscription.is_over:
                return
    finally:
        subscription.close()


def _batch(node: Node, change: Change) -> pa.RecordBatch:
    schema = arrow_schema(_columns(node))
    rows = change.rows
    tick = pa.repeat(pa.scalar(change.tick, pa.int64()), rows.num_rows).cast(schema.field(0).type)
    columns = [rows.column(f"c{i}") for i in range(len(node.schema))]
    arrays = [tick, rows.column("weight"), *columns]
    combined = [
        (array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array).cast(field.type)
        for array, field in zip(arrays, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(combined, schema=schema)
