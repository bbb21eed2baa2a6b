"""Types that CREATE TYPE has made: a name and an OID for what is put together of others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tailrace.catalog.items import DEFAULT_DATABASE, DEFAULT_SCHEMA, Item
from tailrace.engine.define import Identity
from tailrace.engine.system.identity import array_oid, item_oid
from tailrace.sql.unparse import quote_ident
from tailrace.types.core import Named, Record, SqlType, named_in

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession
    from tailrace.statements.create_type import CreateType


def item(session: EngineSession, statement: CreateType, identity: Identity) -> Item:
    """The fields of a record are its columns, for those who comment on them."""
    return Item(
        id=identity.id,
        kind="type",
        name=identity.name,
        statement=statement,
        create_sql=statement.create_sql(session.printer()),
        depends_on=named_in(statement.type),
        schema=statement.type.fields if isinstance(statement.type, Record) else None,
        facts=identity.facts,
    )


def named_type(item: Item) -> SqlType:
    """What columns and casts of that name are of."""
    *where, name = item.name.parts
    if where[0] == DEFAULT_DATABASE:
        where = [] if where[1] == DEFAULT_SCHEMA else where[1:]
    parts = (*where, name)
    named = Named(item.id, ".".join(map(quote_ident, parts)), item_oid(item), array_oid(item))
    type: SqlType = replace(item.statement.type, named=named)
    return type
