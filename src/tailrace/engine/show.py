"""SHOW: the catalog as people ask for it.  Answered from memory, without a Spark job."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tailrace.catalog.items import DEFAULT_CLUSTER, DEFAULT_DATABASE, DEFAULT_SCHEMA, Item
from tailrace.engine.rows import rows_of
from tailrace.errors import NotSupported
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

_KINDS: dict[str, tuple[str, ...]] = {
    "tables": ("table",),
    "sources": ("source",),
    "views": ("view",),
    "materialized views": ("materialized view",),
    "sinks": ("sink",),
    "connections": ("connection",),
    "secrets": ("secret",),
    "indexes": ("index",),
    "types": ("type",),
    "objects": ("table", "source", "view", "materialized view", "sink", "connection", "secret"),
}
_EXTRA: dict[str, tuple[str, ...]] = {
    "sources": ("type", "cluster"),
    "sinks": ("type", "cluster"),
    "connections": ("type",),
    "materialized views": ("cluster",),
    "objects": ("type",),
}


def columns_of(kind: str) -> Schema:
    names = ("name", *_EXTRA.get(kind, ()), "comment")
    return tuple(Column(name, TEXT) for name in names)


def objects(session: EngineSession, statement: ShowObjects) -> Result:
    columns = columns_of(statement.kind)
    rows: list[tuple[str | None, ...]] = list(_fixed(statement.kind))
    if not rows:
        if statement.kind not in _KINDS:
            raise NotSupported(f"SHOW {statement.kind.upper()} not yet supported")
        comments = session.engine.storage.comments()
        found = session.engine.catalog.of_kind(*_KINDS[statement.kind])
        wanted = [item for item in found if statement.cluster in (None, item.cluster)]
        rows = [_row(item, statement.kind, comments.get((item.id, 0), "")) for item in wanted]
    return Result(tag="SHOW", columns=columns, rows=rows_of(columns, _filtered(rows, statement.filter)))


def _row(item: Item, kind: str, comment: str) -> tuple[str | None, ...]:
    extra = {"type": _type(item, kind), "cluster": item.cluster}
    return (item.name.item, *(extra[name] for name in _EXTRA.get(kind, ())), comment)


def _type(item: Item, kind: str) -> str:
    if kind == "objects":
        return item.kind
    if item.kind == "connection":
        return str(item.statement.type.name.lower().replace(" ", "-"))
    return str(item.statement.target.type) if item.kind == "sink" else "kafka"


def _fixed(kind: str) -> list[tuple[str, str]]:
    return {
        "clusters": [(DEFAULT_CLUSTER, "")],
        "databases": [(DEFAULT_DATABASE, "")],
        "schemas": [(DEFAULT_SCHEMA, ""), ("mz_catalog", ""), ("mz_internal", "")],
        "roles": [("materialize", "")],
    }.get(kind, [])


def columns(session: EngineSession, statement: ShowColumns) -> Result:
    item = session.resolve(statement.relation)
    comments = session.engine.storage.comments()
    rows = [
        (column.name, column.nullable, str(column.type), comments.get((item.id, place), ""))
        for place, column in enumerate(item.schema or (), start=1)
    ]
    return Result(tag="SHOW", columns=COLUMNS, rows=rows_of(COLUMNS, _filtered(rows, statement.filter)))


def create(session: EngineSession, statement: ShowCreate) -> Result:
    item = session.resolve(statement.name, str(statement.kind))
    text = item.create_sql
    if statement.redacted and item.statement is not None:
        text = item.statement.create_sql(session.printer(redacted=True))
    return Result(tag="SHOW", columns=CREATE, rows=rows_of(CREATE, [(str(item.name), text)]))


def _filtered(rows: Iterable[tuple[Any, ...]], filter: Filter | None) -> list[tuple[Any, ...]]:
    if filter is None:
        return list(rows)
    if filter.where is not None or filter.like is None:
        raise NotSupported("SHOW ... WHERE not yet supported", hint="Use LIKE, or SELECT from mz_objects.")
    pattern = "".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in filter.like)
    return [row for row in rows if re.fullmatch(pattern, row[0], re.DOTALL)]
