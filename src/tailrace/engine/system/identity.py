"""Ids and OIDs of everything that the catalog shows: stable numbers, told apart by range.

PostgreSQL's types keep their own OIDs.  Below 16384 are our functions and relations, from 20000 on the user's objects,
from 2^30 on the keys of the user's tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.catalog.catalog import SYSTEM_SCHEMAS
from tailrace.catalog.items import DEFAULT_SCHEMA, Item
from tailrace.engine.temporaries import number

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

DATABASE_ID, DATABASE_OID = "u1", 16_100
OWNER_ID = "u1"
FIRST_FUNCTION = 10_000
_FIRST_SYSTEM_RELATION = 14_000
_FIRST_USER_OBJECT = 20_000
_FIRST_KEY, _MOST_KEYS = 1 << 30, 64
_FIRST_ARRAY = 1 << 29
_FIRST_TEMPORARY = 1 << 28

SCHEMAS: dict[str, tuple[str, int]] = {
    DEFAULT_SCHEMA: ("u1", 2200),
    **{name: (f"s{i}", {"pg_catalog": 11}.get(name, 16_200 + i)) for i, name in enumerate(SYSTEM_SCHEMAS, start=1)},
}
"""Name → id and OID."""


def item_oid(item: Item) -> int:
    return (_FIRST_SYSTEM_RELATION if item.id.startswith("s") else _FIRST_USER_OBJECT) + item.number


def key_oid(item: Item, number: int) -> int:
    """Of a table's declared key, and of the index that PostgreSQL would keep for it."""
    return _FIRST_KEY + item.number * _MOST_KEYS + number


def array_oid(item: Item) -> int:
    """Of the type of arrays of a type that CREATE TYPE has made."""
    return _FIRST_ARRAY + item.number


def item_id(oid: int) -> str:
    """The id that an object with this OID would have."""
    if oid >= _FIRST_USER_OBJECT:
        return f"u{oid - _FIRST_USER_OBJECT}"
    return f"s{oid - _FIRST_SYSTEM_RELATION}"


def schema_id(item: Item) -> str:
    return _schema(item.name.schema)[0]


def schema_oid(item: Item) -> int:
    return _schema(item.name.schema)[1]


def _schema(name: str) -> tuple[str, int]:
    if (session := number(name)) is not None:
        return f"t{session}", _FIRST_TEMPORARY + session
    return SCHEMAS[name]


def schemas(session: EngineSession) -> dict[str, tuple[str, int]]:
    """Name → id and OID, with the session's own if there is something in it."""
    own = session.temporaries
    return SCHEMAS | ({own.schema: _schema(own.schema)} if own.ids else {})
