"""SHOW: the catalog as people ask for it.  Answered from memory, without a Spark job."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tailrace.catalog.items import DEFAULT_DATABASE
from tailrace.catalog.namespaces import SYSTEM_SCHEMAS
from tailrace.catalog.roles import DATABASE, SCHEMA
from tailrace.engine import namespaces, queries
from tailrace.engine.clusters import restated
from tailrace.engine.rows import rows_of
from tailrace.engine.system.shows import SHOWN, Where, columns_of, relation_of, rows_of_kind
from tailrace.errors import NotSupported
from tailrace.sql.names import QueryText
from tailrace.statements.contract import Result
from tailrace.types.core import BOOLEAN, TEXT, Column, Schema

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession
    from tailrace.statements.show_columns import ShowColumns
    from tailrace.statements.show_create import ShowCreate
    from tailrace.statements.show_objects import Filter, ShowObjects

COLUMNS: Schema = (
    Column("name", TEXT),
    Column("nullable", BOOLEAN),
    Column("type", TEXT),
    Column("comment", TEXT),
)
CREATE: Schema = (Column("name", TEXT), Column("create_sql", TEXT))

__all__ = ["COLUMNS", "CREATE", "columns", "columns_of", "create", "objects"]


def objects(session: EngineSession, statement: ShowObjects) -> Result:
    if statement.kind not in SHOWN:
        raise NotSupported(f"SHOW {statement.kind.upper()} not yet supported")
    columns = columns_of(statement.kind)
    if statement.filter is not None and statement.filter.where is not None:
        return _where(session, statement, statement.filter.where)
    rows = rows_of_kind(session, statement.kind, _place(session, statement))
    return Result(tag="SHOW", columns=columns, rows=rows_of(columns, _filtered(rows, statement.filter)))


def _place(session: EngineSession, statement: ShowObjects) -> Where:
    """What FROM, ON and IN CLUSTER say."""
    within, on = statement.schema, statement.on
    database = schema = None
    if within is not None and statement.kind == "schemas":
        database = namespaces.find(session, DATABASE, within).name
    elif within is not None and within.item in SYSTEM_SCHEMAS:
        database, schema = DEFAULT_DATABASE, within.item
    elif within is not None:
        found = namespaces.find(session, SCHEMA, within)
        database, schema = found.database, found.name
    return Where(
        cluster=statement.cluster,
        database=database,
        schema=schema,
        on=None if on is None else session.resolve(on).id,
    )


def _where(session: EngineSession, statement: ShowObjects, condition: QueryText) -> Result:
    """SHOW … WHERE: the same condition on the relation behind it."""
    if statement.cluster is not None:
        raise NotSupported("SHOW ... IN CLUSTER ... WHERE not yet supported", hint="Name the cluster in WHERE.")
    if statement.schema is not None or statement.on is not None:
        hint = "Use LIKE, or SELECT from mz_objects."
        raise NotSupported("SHOW ... FROM or ON ... WHERE not yet supported", hint=hint)
    head = f"SELECT * FROM {relation_of(statement.kind)} WHERE "
    result = queries.answer(session, QueryText(head + condition.text, condition.start - len(head)), ())
    result.tag = "SHOW"
    return result


def columns(session: EngineSession, statement: ShowColumns) -> Result:
    item = session.resolve(statement.relation)
    comments = session.engine.storage.comments()
    rows = [
        (column.name, column.nullable, str(column.type), comments.get((item.id, place), ""))
        for place, column in enumerate(item.schema or (), start=1)
    ]
    return Result(tag="SHOW", columns=COLUMNS, rows=rows_of(COLUMNS, _filtered(rows, statement.filter)))


def create(session: EngineSession, statement: ShowCreate) -> Result:
    if statement.kind == "cluster":
        cluster = session.engine.clusters.get(statement.name.item, statement.name.position)
        return Result(tag="SHOW", columns=CREATE, rows=rows_of(CREATE, [(cluster.name, restated(cluster))]))
    item = session.resolve(statement.name, str(statement.kind))
    text = item.create_sql
    if statement.redacted and item.statement is not None:
        text = item.statement.create_sql(session.printer(redacted=True))
    return Result(tag="SHOW", columns=CREATE, rows=rows_of(CREATE, [(str(item.name), text)]))


def _filtered(rows: Iterable[tuple[Any, ...]], filter: Filter | None) -> list[tuple[Any, ...]]:
    if filter is None:
        return list(rows)
    if filter.like is None:
        raise NotSupported("SHOW COLUMNS ... WHERE not yet supported", hint="Use LIKE, or SELECT from mz_columns.")
    pattern = "".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in filter.like)
    return [row for row in rows if re.fullmatch(pattern, row[0], re.DOTALL)]
