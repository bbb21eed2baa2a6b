"""Who may do what: asked wherever a statement names an object.  Superusers and owners may do everything."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tailrace.catalog.items import FullName, Item
from tailrace.catalog.namespaces import FIRST, Namespace
from tailrace.catalog.roles import CLUSTER, DATABASE, SCHEMA, Role
from tailrace.errors import SqlError
from tailrace.sql.names import Name

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession


class PermissionDenied(SqlError):
    sqlstate = "42501"


def require(session: EngineSession, privilege: str, item: Item) -> None:
    """Everybody may look into the catalog, and into what is his own or was put where everybody may look."""
    if item.id.startswith("s"):
        return
    schema = session.catalog.namespaces.schema(item.name.database, item.name.schema)
    if schema is not None:
        require_on(session, "USAGE", schema)
    if session.engine.role_store.may(session.role, privilege, item.id):
        return
    raise PermissionDenied(
        f'permission denied for {item.kind.upper()} "{item.name}"',
        detail=f"The '{session.user}' role needs {privilege} privileges on {item.kind} \"{item.name}\".",
    )


def require_on(session: EngineSession, privilege: str, namespace: Namespace) -> None:
    """On a schema or a database."""
    if not session.engine.role_store.may(session.role, privilege, namespace.key):
        raise PermissionDenied(
            f'permission denied for {namespace.kind.upper()} "{namespace.name}"',
            detail=f"The '{session.user}' role needs {privilege} privileges on {namespace.kind} \"{namespace.name}\".",
        )


def use(session: EngineSession, name: Name) -> Item:
    """A connection, to reach something with it."""
    item = session.resolve(name, "connection")
    require(session, "USAGE", item)
    return item


def require_owner(session: EngineSession, item: Item) -> None:
    if not session.engine.role_store.owns(session.role, item.id):
        raise PermissionDenied(f"must be owner of {item.kind.upper()} {item.name}")


def require_create(session: EngineSession, name: FullName, cluster: str | None) -> None:
    """Also that there is such a cluster."""
    schema = session.catalog.namespaces.schema(name.database, name.schema)
    # To make something in the session's own schema takes what it takes in the first one.
    require_on(session, "CREATE", schema or replace(FIRST[1], name=name.schema))
    if cluster is not None:
        key = session.engine.clusters.get(cluster).key
        if not session.engine.role_store.may(session.role, "CREATE", key):
            raise PermissionDenied(
                f'permission denied for CLUSTER "{cluster}"',
                detail=f"The '{session.user}' role needs CREATE privileges on cluster \"{cluster}\".",
            )


def role_named(session: EngineSession, name: str) -> Role:
    """Of a name in a statement; CURRENT_USER is one too."""
    own = {"current_user": session.user, "current_role": session.user, "session_user": session.login}
    return session.engine.role_store.get(own.get(name, name))


def require_membership(session: EngineSession, role: Role) -> None:
    """To become it, or to make it the owner of something."""
    if not session.engine.role_store.may_become(session.role, role):
        raise PermissionDenied(f'must be a member of role "{role.name}"')


def require_rights_of(session: EngineSession, role: Role, what: str) -> None:
    if not session.engine.role_store.has_rights_of(session.role, role):
        raise PermissionDenied(
            f"permission denied to {what}", detail=f'You must have the privileges of role "{role.name}".'
        )


def require_own_session(session: EngineSession, other: EngineSession) -> None:
    """To cancel what it runs, or to end it.  Only superusers may do that to a superuser."""
    store = session.engine.role_store
    logged_in = store.find(other.login)
    if session.role.superuser or logged_in is None:
        return
    if logged_in.superuser or other.role.superuser or not store.has_rights_of(session.role, logged_in):
        raise PermissionDenied(
            "permission denied to terminate or cancel the process",
            detail=f'You must be a superuser, or have the privileges of role "{other.login}".',
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
    require_create(session, item.name, item.cluster)
    check_needs(session, item)


def check_needs(session: EngineSession, item: Item) -> None:
    """Whoever makes something of a secret or a connection, or sends it elsewhere, may use it."""
    for id in sorted(item.depends_on):
        other = session.catalog.items.get(id)
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
    if "Cluster" in type(statement).__name__ or getattr(statement, "kind", None) in (CLUSTER, SCHEMA, DATABASE):
        return  # asked for where the name is looked up
    names = [*getattr(statement, "names", ()), getattr(statement, "object", None)]
    if type(statement).__name__.startswith(("Alter", "Rename")):
        names.append(getattr(statement, "name", None))
    for name in names:
        if isinstance(name, Name):
            try:
                item = session.catalog.resolve(name.parts)
            except SqlError:
                continue  # the statement itself says what is wrong with the name
            require_owner(session, item)
