"""One relation behind each SHOW: so that its rows can be filtered and joined, `SELECT … FROM (SHOW TABLES)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailrace.catalog.items import DEFAULT_CLUSTER, Item
from tailrace.catalog.roles import CLUSTER, SYSTEM, Role
from tailrace.engine.system.contract import Rows, SystemTable
from tailrace.engine.system.identity import schemas
from tailrace.engine.system.mz_catalog import connection_type, index_keys, sink_type, source_type
from tailrace.engine.temporaries import number
from tailrace.types.core import BOOLEAN, TEXT, Column, Schema

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

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
    "indexes": ("on", "cluster", "key"),
    "objects": ("type",),
    "clusters": ("replicas", "activity"),
    "cluster replicas": ("replica", "size", "ready"),
}
_PLACES = ("databases", "schemas")
_PRIVILEGES = ("grantor", "grantee", "database", "schema", "name", "object_type", "privilege_type")
_OTHER = {
    "privileges": _PRIVILEGES,
    "default privileges": ("object_owner", "database", "schema", "object_type", "grantee", "privilege_type"),
    "role membership": ("role", "member", "grantor"),
}
SHOWN = (*_KINDS, *_PLACES, "roles", "clusters", "cluster replicas", *_OTHER)
"""The kinds that can be shown."""


def relation_of(kind: str) -> str:
    return f"mz_internal.mz_show_{kind.replace(' ', '_')}"


def columns_of(kind: str) -> Schema:
    if kind in _OTHER:
        return tuple(Column(name, TEXT) for name in _OTHER[kind])
    first = "cluster" if kind == "cluster replicas" else "name"
    names = (first, *_EXTRA.get(kind, ()), "comment")
    return tuple(Column(name, BOOLEAN if name == "ready" else TEXT) for name in names)


@dataclass(frozen=True, kw_only=True, slots=True)
class Where:
    """Which of all objects: in this cluster, in this schema or database, made from this relation (by id).

    Without a cluster: in any.  Without a schema: what is made from the relation, wherever it is, or else what is in the
    session's current schema, or in its own.
    """

    cluster: str | None = None
    database: str | None = None
    schema: str | None = None
    on: str | None = None

    def holds(self, session: EngineSession, item: Item) -> bool:
        if self.cluster not in (None, item.cluster) or (self.on is not None and self.on not in item.depends_on):
            return False
        if self.schema is None and self.on is not None:
            return True
        if self.schema is None and item.name.schema == session.temporaries.schema:
            return True
        catalog = session.catalog
        wanted = (self.database or catalog.database, self.schema or catalog.schema)
        return (item.name.database, item.name.schema) == wanted


def rows_of_kind(session: EngineSession, kind: str, where: Where | None = None) -> list[tuple[str | bool | None, ...]]:
    if kind in ("clusters", "cluster replicas"):
        return list(_replicas(session) if kind == "cluster replicas" else _clusters(session))
    if kind in _OTHER:
        # What is made later is for its owner alone, until somebody grants it.
        return list({"privileges": _privileges, "role membership": _membership}.get(kind, lambda _: ())(session))
    comments = session.engine.storage.comments()
    if kind == "roles":
        return [(role.name, comments.get((role_key(role), 0), "")) for role in session.engine.roles]
    where = where or Where()
    if kind == "databases":
        return [(each.name, comments.get((each.key, 0), "")) for each in session.catalog.namespaces.databases()]
    if kind == "schemas":
        there = schemas(session, where.database or session.catalog.database)
        return [(each.name, comments.get((each.key or "", 0), "")) for each in there if number(each.name) is None]
    wanted = [item for item in session.catalog.of_kind(*_KINDS[kind]) if where.holds(session, item)]
    return [_row(session, item, kind, comments.get((item.id, 0), "")) for item in wanted]


def role_key(role: Role) -> str:
    """What its comment is kept under."""
    return f"role {role.id}"


def _membership(session: EngineSession) -> Iterator[tuple[str, ...]]:
    names = {role.id: role.name for role in session.engine.roles}
    for group, member in session.engine.role_store.members():
        yield names[group], names[member], "mz_system"


def _clusters(session: EngineSession) -> Iterator[tuple[str, ...]]:
    comments = session.engine.storage.comments()
    for cluster in session.engine.clusters.all():
        replicas = ", ".join(f"{name} ({size})" for name, size in cluster.replicas)
        activity = "paused" if cluster.is_paused else "running"
        yield cluster.name, replicas, activity, comments.get((cluster.key, 0), "")


def _replicas(session: EngineSession) -> Iterator[tuple[str | bool | None, ...]]:
    for cluster in session.engine.clusters.all():
        for name, size in cluster.replicas:
            yield cluster.name, name, size, True, ""


def _privileges(session: EngineSession) -> Iterator[tuple[str | None, ...]]:
    """What was granted, and by whom: the owner, as far as anybody is told."""
    store, items = session.engine.role_store, session.catalog.items
    names = {role.id: role.name for role in store.all()}
    clusters = {cluster.key: cluster.name for cluster in session.engine.clusters.all()}
    places: dict[str, tuple[str | None, str | None, str | None, str]] = {
        **{each.key: (each.database, None, each.name, each.kind) for each in session.catalog.namespaces.all},
        SYSTEM: (None, None, None, SYSTEM),
        **{key: (None, None, name, CLUSTER) for key, name in clusters.items()},
        **{id: (*item.name.parts, item.kind.replace(" ", "-")) for id, item in items.items()},
    }
    for grant in store.grants():
        if grant.on in places:  # or it is no more
            who = names.get(store.owner(grant.on)), names.get(grant.role, grant.role)
            yield *who, *places[grant.on], grant.privilege


def _row(session: EngineSession, item: Item, kind: str, comment: str) -> tuple[str | None, ...]:
    extra = {"type": _type(item, kind), "cluster": item.cluster}
    if kind == "indexes":
        extra = {"on": item.statement.relation.item, "cluster": DEFAULT_CLUSTER, "key": _key(session, item)}
    return (item.name.item, *(extra[name] for name in _EXTRA.get(kind, ())), comment)


def _key(session: EngineSession, item: Item) -> str:
    [on] = item.depends_on
    return "{" + ",".join(text for _, text in index_keys(item, session.catalog.items[on])) + "}"


def _type(item: Item, kind: str) -> str:
    match item.kind:
        case _ if kind == "objects":
            return item.kind
        case "connection":
            return connection_type(item)
        case "sink":
            return sink_type(item)
        case "source":
            return source_type(item)
        case _:
            return item.kind


def _rows(kind: str) -> Callable[[EngineSession], Rows]:
    return lambda session: rows_of_kind(session, kind)


TABLES: tuple[SystemTable, ...] = tuple(
    SystemTable("mz_internal", relation_of(kind).partition(".")[2], columns_of(kind), _rows(kind)) for kind in SHOWN
)
