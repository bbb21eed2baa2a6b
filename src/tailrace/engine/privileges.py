"""Who may do what: asked wherever a statement names an object.  Superusers and owners may do everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.catalog.items import Item
from tailrace.catalog.roles import CLUSTER, SCHEMA
from tailrace.errors import SqlError
from tailrace.sql.names import Name

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession


class PermissionDenied(SqlError):
    sqlstate = "42501"


def require(session: EngineSession, privilege: str, item: Item) -> None:
    """Everybody may look into the catalog."""
    if item.id.startswith("s") or session.engine.role_store.may(session.role, privilege, item.id):
        return
    raise PermissionDenied(
        f'permission denied for {item.kind.upper()} "{item.name}"',
        detail=f"The '{session.user}' role needs {privilege} privileges on {item.kind} \"{item.name}\".",
    )


def use(session: EngineSession, name: Name) -> Item:
    """A connection, to reach something with it."""
    item = session.resolve(name, "connection")
    require(session, "USAGE", item)
    return item


def require_owner(session: EngineSession, item: Item) -> None:
    if not session.engine.role_store.owns(session.role, item.id):
        raise PermissionDenied(f"must be owner of {item.kind.upper()} {item.name}")


def require_create(session: EngineSession, schema: str, cluster: str | None) -> None:
    """Also that there is such a cluster."""
    store = session.engine.role_store
    places = [(SCHEMA, schema, SCHEMA)]
    if cluster is not None:
        places.append((CLUSTER, cluster, session.engine.clusters.get(cluster).key))
    for kind, name, key in places:
        if not store.may(session.role, "CREATE", key):
            raise PermissionDenied(
                f'permission denied for {kind.upper()} "{name}"',
                detail=f"The '{session.user}' role needs CREATE privileges on {kind} \"{name}\".",
            )


def require_superuser(session: EngineSession, what: str, privilege: str | None = None) -> None:
    store = session.engine.role_store
    if session.role.superuser or (privilege is not None and store.may(session.role, privilege, "system")):
        return
    raise PermissionDenied(
        f"permission denied to {what}", detail=f"You must be a superuser{f' or have {privilege}' if privilege else ''}."
    )


def require_over(session: EngineSession, name: str, what: str) -> None:
    """Who may make roles may change them too, but not those that may do everything: that would be to become one."""
    role = session.engine.role_store.find(name)
    require_superuser(session, what, None if role is not None and role.superuser else "CREATEROLE")


def check_new(session: EngineSession, item: Item) -> None:
    """What CREATE needs: a place to put it, and the use of what it is made of.  A query's relations were asked for
    when it was bound."""
    require_create(session, item.name.schema, item.cluster)
    check_needs(session, item)


def check_needs(session: EngineSession, item: Item) -> None:
    """Whoever makes something of a secret or a connection, or sends it elsewhere, may use it."""
    for id in sorted(item.depends_on):
        other = session.engine.catalog.items.get(id)
        if other is not None and other.kind in ("connection", "secret"):
            require(session, "USAGE", other)
        elif other is not None and item.kind == "sink":
            require(session, "SELECT", other)


def check_definition(session: EngineSession, statement: object) -> None:
    """ALTER, DROP and COMMENT are for the owner of what they name."""
    if session.role.superuser:
        return
    if type(statement).__name__.startswith("AlterSystem"):
        require_superuser(session, "alter the system")
    if "Cluster" in type(statement).__name__ or getattr(statement, "kind", None) == CLUSTER:
        return  # asked for where the cluster's name is looked up
    names = [*getattr(statement, "names", ()), getattr(statement, "object", None)]
    if type(statement).__name__.startswith(("Alter", "Rename")):
        names.append(getattr(statement, "name", None))
    for name in names:
        if isinstance(name, Name):
            try:
                item = session.engine.catalog.resolve(name.parts)
            except SqlError:
                continue  # the statement itself says what is wrong with the name
            require_owner(session, item)
