"""Constant expressions in statements: `CREATE SECRET s AS decode('…', 'base64')`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.engine import queries
from tailrace.errors import SqlError
from tailrace.sql.names import QueryText

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession


def constant_text(session: EngineSession, expression: QueryText) -> str:
    """The value of an expression without columns, as text.  Runs one Spark job."""
    select = "SELECT "
    query = QueryText(select + expression.text, expression.start - len(select))
    [[value]] = [list(row.values()) for row in queries.collect(session, session.bind(query), ()).to_pylist()]
    if value is None:
        raise SqlError("the value must not be NULL", position=expression.start + 1, sqlstate="22004")
    return value.decode() if isinstance(value, bytes) else str(value)
