"""Ids and OIDs of everything that the catalog shows: stable numbers, told apart by range.

PostgreSQL's types keep their own OIDs.  Below 16384 are our functions and relations, from 20000 on the user's objects,
from 2^26 and 2^27 on the user's databases and schemas, from 2^30 on the keys of the user's tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailrace.catalog.items import Item
from tailrace.catalog.namespaces import SYSTEM_SCHEMAS, Namespace
from tailrace.engine.temporaries import number

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

_FIRST_OIDS = {"database": 16_100, "schema": 2200}
"""Of what is there from the start."""
OWNER_ID = "u1"
FIRST_FUNCTION = 10_000
_FIRST_SYSTEM_RELATION = 14_000
_FIRST_USER_OBJECT = 20_000
_FIRST_KEY, _MOST_KEYS = 1 << 30, 64
_FIRST_ARRAY = 1 << 29
_FIRST_TEMPORARY = 1 << 28
_FIRST_NAMESPACE = {"database": 1 << 26, "schema": 1 << 27}

SYSTEM: dict[str, tuple[str, int]] = {
    name: (f"s{i}", {"pg_catalog": 11}.get(name, 16_200 + i)) for i, name in enumerate(SYSTEM_SCHEMAS, start=1)
}
"""Id and OID of each system schema."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Schema:
    """A schema as the catalog shows it; `database` and `key` are those of a user's."""

    id: str
    oid: int
    name: str
    database: Namespace | None = None
    key: str | None = None


def namespace_oid(namespace: Namespace) -> int:
    if namespace.id == "u1":
        return _FIRST_OIDS[namespace.kind]
    return _FIRST_NAMESPACE[namespace.kind] + namespace.number


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


def schema_id(session: EngineSession, item: Item) -> str:
    return _schema(session, item)[0]


def schema_oid(session: EngineSession, item: Item) -> int:
    return _schema(session, item)[1]


def _schema(session: EngineSession, item: Item) -> tuple[str, int]:
    name = item.name.schema
    if name in SYSTEM:
        return SYSTEM[name]
    if (owner := number(name)) is not None:
        return _temporary(owner)
    found = session.catalog.namespaces.schema(item.name.database, name)
    return ("u0", 0) if found is None else (found.id, namespace_oid(found))  # it was dropped just now


def _temporary(number: int) -> tuple[str, int]:
    return f"t{number}", _FIRST_TEMPORARY + number


def schemas(session: EngineSession, database: str | None = None) -> list[Schema]:
    """Those of one database, or of all, then those that are in none, with the session's own if something is in it."""
    spaces, own = session.catalog.namespaces, session.temporaries
    databases = {each.name: each for each in spaces.databases()}
    made = [
        Schema(
            id=each.id,
            oid=namespace_oid(each),
            name=each.name,
            key=each.key,
            database=databases.get(str(each.database)),
        )
        for each in spaces.schemas(database)
    ]
    made += [Schema(id=id, oid=oid, name=name) for name, (id, oid) in SYSTEM.items()]
    if own.ids and (mine := number(own.schema)) is not None:
        id, oid = _temporary(mine)
        made.append(Schema(id=id, oid=oid, name=own.schema))
    return made


def schemas_here(session: EngineSession) -> dict[str, Schema]:
    """Those that a name without a database can mean, by name."""
    return {each.name: each for each in schemas(session, session.catalog.database)}


def here(session: EngineSession, *kinds: str) -> Iterator[Item]:
    """Objects of the session's database, and those that are in none: what PostgreSQL's own catalog shows."""
    for item in session.catalog.of_kind(*kinds):
        if item.name.database == session.catalog.database or item.id.startswith("s") or number(item.name.schema):
            yield item


def current_database(session: EngineSession) -> Namespace:
    """The database that the session is in; somebody may have dropped it."""
    name = session.catalog.database
    return session.catalog.namespaces.database(name) or Namespace(id="u0", name=name)
