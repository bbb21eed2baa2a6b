"""SELECT: one consistent answer from the last tick."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.engine.contents import reading, text_of
from tailrace.plan.bind import BoundQuery
from tailrace.plan.expressions import Literal
from tailrace.plan.substitute import substitute
from tailrace.plan.to_spark import render_order
from tailrace.sql.names import QueryText
from tailrace.statements.contract import Result
from tailrace.ticks.cluster import explain
from tailrace.types.core import Schema, SqlType

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

Arguments = Sequence[tuple[SqlType, str | None]]


def describe(
    session: EngineSession, query: QueryText, parameters: Sequence[SqlType | None]
) -> tuple[tuple[SqlType, ...], Schema]:
    bound = session.bind(query, parameters)
    return bound.parameters, columns_of(bound)


def columns_of(bound: BoundQuery) -> Schema:
    return bound.node.schema[: bound.visible]


def answer(session: EngineSession, query: QueryText, arguments: Arguments) -> Result:
    """Plans now, runs one Spark job when the rows are asked for."""
    bound = session.bind(query, [type for type, _ in arguments])
    return Result(tag="SELECT {rows}", columns=columns_of(bound), rows=_rows(session, bound, arguments))


def _rows(session: EngineSession, bound: BoundQuery, arguments: Arguments) -> Iterator[pa.RecordBatch]:
    yield from collect(session, bound, arguments).to_batches()


def collect(session: EngineSession, bound: BoundQuery, arguments: Arguments) -> pa.Table:
    """The rows of a bound query in its order, hidden columns cut off.  Runs one Spark job."""
    node = substitute(bound.node, literals(arguments))
    with reading(session.engine, node) as t:
        names = ", ".join(f"c{i}" for i in range(bound.visible)) or "1"
        text = f"SELECT {names} FROM ({text_of(session.engine, node, t)})"
        if bound.order_by:
            places = [f"c{i}" for i in range(len(node.schema))]
            text += " ORDER BY " + ", ".join(render_order(part, places) for part in bound.order_by)
        try:
            return session.collect(text)
        except Exception as error:
            raise explain(error) from error


def literals(arguments: Arguments) -> list[Literal]:
    return [Literal(text=text, type=type) for type, text in arguments]
