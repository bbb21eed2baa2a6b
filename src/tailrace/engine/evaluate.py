"""Constant expressions in statements: `CREATE SECRET s AS decode('…', 'base64')`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.engine import queries
from tailrace.errors import SqlError
from tailrace.plan.bind import BoundQuery, assign
from tailrace.plan.context import refs
from tailrace.plan.nodes import Project
from tailrace.sql.names import QueryText
from tailrace.types.core import SqlType
from tailrace.types.postgres import text_form

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession


def constant(session: EngineSession, expression: QueryText, type: SqlType) -> str | None:
    """The PostgreSQL text form of a constant expression as this type, None for NULL."""
    select = "SELECT "
    query = QueryText(select + expression.text, expression.start - len(select))
    bound = session.bind(query, targets=[type])
    node = Project(input=bound.node, expressions=(assign(refs(bound.node)[0], type),), names=("value",))
    rows = queries.collect(session, BoundQuery(node=node, visible=1), ())
    [text] = text_form(rows.column(0).combine_chunks(), type).to_pylist()
    return None if text is None else str(text)


def constant_text(session: EngineSession, expression: QueryText) -> str:
    """The value of an expression without columns, as text.  Runs one Spark job."""
    select = "SELECT "
    query = QueryText(select + expression.text, expression.start - len(select))
    [[value]] = [list(row.values()) for row in queries.collect(session, session.bind(query), ()).to_pylist()]
    if value is None:
        raise SqlError("the value must not be NULL", position=expression.start + 1, sqlstate="22004")
    return value.decode() if isinstance(value, bytes) else str(value)
