"""SELECT: one consistent answer from the last tick."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.engine.asking import answers, settled
from tailrace.engine.contents import check_readable, reading, text_of, wait_until_at, wait_until_filled
from tailrace.engine.rows import rows_of
from tailrace.engine.system.registry import rows_now
from tailrace.plan.bind import BoundQuery
from tailrace.plan.brief import is_brief
from tailrace.plan.data_errors import explain
from tailrace.plan.expressions import Literal
from tailrace.plan.local.contract import NotLocal
from tailrace.plan.local.rows import rows_of as local_rows
from tailrace.plan.nodes import Node
from tailrace.plan.substitute import substitute
from tailrace.plan.to_spark import render_order
from tailrace.plan.walk import scans
from tailrace.sql.names import QueryText
from tailrace.statements.contract import Result
from tailrace.types.core import Schema, SqlType, Tick

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

_log = logging.getLogger("tailrace.engine")

Arguments = Sequence[tuple[SqlType, str | None]]


def describe(
    session: EngineSession, query: QueryText, parameters: Sequence[SqlType | None]
) -> tuple[tuple[SqlType, ...], Schema]:
    bound = session.bind(query, parameters, describes=True)
    return bound.parameters, columns_of(bound)


def columns_of(bound: BoundQuery) -> Schema:
    return bound.node.schema[: bound.visible]


def answer(session: EngineSession, query: QueryText, arguments: Arguments, time: int | None = None) -> Result:
    """Plans now, runs one Spark job when the rows are asked for.  `time`: as of then."""
    types, values = [type for type, _ in arguments], [value for _, value in arguments]
    bound = session.bind(query, types, arguments=values)
    return Result(tag="SELECT {rows}", columns=columns_of(bound), rows=_rows(session, bound, arguments, time))


def _rows(
    session: EngineSession, bound: BoundQuery, arguments: Arguments, time: int | None
) -> Iterator[pa.RecordBatch]:
    yield from collect(session, bound, arguments, time).to_batches()


def collect(
    session: EngineSession, bound: BoundQuery, arguments: Arguments, time: int | None = None
) -> pa.Table:
    """The rows of a bound query in its order, hidden columns cut off.

    Where nothing but the catalog and constants is read, the driver answers by itself (docs/design/007).  Of few rows,
    a text that was asked twice is planned once more and kept (docs/design/004); else one Spark job runs.
    """
    node = substitute(bound.node, literals(arguments))
    functions = answers(session)
    if all(relation.startswith("s") for relation in scans(node)):
        try:
            rows = local_rows(node, lambda scan: rows_now(session, scan), functions, bound.order_by)
            columns = columns_of(bound)
            return pa.Table.from_batches(rows_of(columns, [row[: len(columns)] for row in rows]))
        except NotLocal as reason:
            _log.debug("a query of the catalog is left to Spark needs=%s", reason)
    node = settled(node, functions)
    with _when(session, node, time) as t:
        names = ", ".join(f"c{i}" for i in range(bound.visible)) or "1"
        places = [f"c{i}" for i in range(len(node.schema))]
        order = ", ".join(render_order(part, places) for part in bound.order_by)

        def found() -> pa.Table:
            text = f"SELECT {names} FROM ({text_of(session.engine, node, t, time)})"
            text += f" ORDER BY {order}" if order else ""
            views = session.engine.views
            rows = views.asked(text) if is_brief(node) else None
            return rows if rows is not None else views.small.sql(text).toArrow()

        try:
            return session.interruptible(found)
        except Exception as error:
            raise explain(error) from error


@contextmanager
def _when(session: EngineSession, node: Node, time: int | None) -> Iterator[Tick]:
    """The tick to read at: that of a time that was asked for, or the transaction's, if one is open."""
    transaction = session.transaction
    if transaction is None or time is not None or not scans(node):
        if transaction is not None and scans(node):
            session.admit("read")
        with reading(session.engine, node, time, _patience(session)) as t:
            yield t
        return
    session.admit("read")
    assert session.transaction is not None
    check = _patience(session)
    wait_until_filled(session.engine, node, check)
    t = session.transaction.reads_at()
    wait_until_at(session.engine, node, t, check)
    check_readable(session.engine, node, t, t)
    with session.engine.views.scratch():
        yield t


def _patience(session: EngineSession) -> Callable[[], None]:
    """Raises when the statement is to end now, by a cancel or its time limit."""
    return partial(session.check_in_time, session.deadline())


def literals(arguments: Arguments) -> list[Literal]:
    return [Literal(text=text, type=type) for type, text in arguments]
