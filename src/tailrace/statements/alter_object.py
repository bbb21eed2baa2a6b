"""ALTER kind [IF EXISTS] name RENAME TO identifier | OWNER TO role | SET SCHEMA schema: the same for every kind.
ALTER SCHEMA name SWAP WITH other: each takes the other's name.

Kinds with more to alter (connections, sinks, …) have a file each and come here for these.  What is in no schema (a
role, a cluster, a schema itself) cannot be put into one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tailrace.catalog.roles import SCHEMA, Role
from tailrace.engine import clusters, namespaces, renaming
from tailrace.engine.context import Arguments, Session
from tailrace.engine.privileges import require_membership, require_on, role_named
from tailrace.errors import SqlError
from tailrace.sql.names import Name, ObjectKind
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result

_KINDS = (ObjectKind.DATABASE, ObjectKind.SCHEMA, ObjectKind.TYPE, ObjectKind.VIEW)
STARTS = tuple(("ALTER", *kind.upper().split()) for kind in _KINDS)
_NOWHERE = (ObjectKind.CLUSTER, ObjectKind.CLUSTER_REPLICA, ObjectKind.DATABASE, ObjectKind.ROLE, ObjectKind.SCHEMA)
"""Kinds that are in no schema."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """The object an ALTER names."""

    kind: ObjectKind
    name: Name
    if_exists: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Rename:
    kind: ObjectKind
    name: Name
    to: str
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class AlterOwner:
    kind: ObjectKind
    name: Name
    role: str
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class AlterPlace:
    """To another schema."""

    kind: ObjectKind
    name: Name
    schema: Name
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SwapSchemas:
    name: Name
    other: Name
    kind: ObjectKind = ObjectKind.SCHEMA


Common: TypeAlias = Rename | AlterOwner | AlterPlace


def parse(p: Parser) -> Common | SwapSchemas:
    p.expect("ALTER")
    kind = ObjectKind(p.phrase(*(kind.upper() for kind in _KINDS)).lower())
    named = target(p, kind)
    if kind is ObjectKind.SCHEMA and p.accept("SWAP", "WITH"):
        return SwapSchemas(name=named.name, other=p.name("schema name"))
    change = common(p, named)
    if change is None:
        raise p.expected("one of RENAME or OWNER")
    return change


def target(p: Parser, kind: ObjectKind) -> Target:
    if_exists = p.if_exists()
    return Target(kind=kind, name=p.name(f"{kind} name"), if_exists=if_exists)


def common(p: Parser, target: Target) -> Common | None:
    """RENAME TO, OWNER TO or SET SCHEMA; None if something else follows."""
    if p.accept("RENAME", "TO"):
        to = p.identifier()
        return Rename(kind=target.kind, name=target.name, to=to, if_exists=target.if_exists)
    if p.accept("OWNER", "TO"):
        role = p.identifier("role name")
        return AlterOwner(kind=target.kind, name=target.name, role=role, if_exists=target.if_exists)
    if target.kind not in _NOWHERE and p.accept("SET", "SCHEMA"):
        schema = p.name("schema name")
        return AlterPlace(kind=target.kind, name=target.name, schema=schema, if_exists=target.if_exists)
    return None


def execute(statement: Common | SwapSchemas, session: Session, arguments: Arguments) -> Result:
    kind = statement.kind.upper()
    tag = Result(tag=f"ALTER {kind}")
    if isinstance(statement, SwapSchemas):
        namespaces.swap(session, statement.name, statement.other)
        return tag
    if statement.kind is ObjectKind.CLUSTER and not isinstance(statement, AlterPlace):
        _cluster(statement, session)
        return tag
    if statement.kind in (ObjectKind.SCHEMA, ObjectKind.DATABASE) and not isinstance(statement, AlterPlace):
        _namespace(statement, session)
        return tag
    item = session.resolve_if_exists(statement.name, str(statement.kind), if_exists=statement.if_exists)
    if item is None:
        return tag
    if item.id.startswith("s"):
        raise SqlError(f"system item '{item.name}' cannot be modified", sqlstate="42501")
    if isinstance(statement, AlterOwner):
        session.engine.role_store.own(item.id, _new_owner(statement, session))
    elif isinstance(statement, AlterPlace):
        schema = namespaces.find(session, SCHEMA, statement.schema)
        require_on(session, "CREATE", schema)
        renaming.move(session, item, schema)
    else:
        renaming.rename(session, item, statement.to)
    return tag


def _cluster(statement: Rename | AlterOwner, session: Session) -> None:
    cluster = clusters.owned(session, statement.name, if_exists=statement.if_exists)
    if cluster is None:
        return
    if isinstance(statement, AlterOwner):
        session.engine.role_store.own(cluster.key, _new_owner(statement, session))
    else:
        clusters.rename(session, cluster, statement.to)


def _namespace(statement: Rename | AlterOwner, session: Session) -> None:
    found = namespaces.owned(session, str(statement.kind), statement.name, if_exists=statement.if_exists)
    if found is None:
        return
    if isinstance(statement, AlterOwner):
        session.engine.role_store.own(found.key, _new_owner(statement, session))
    else:
        namespaces.rename(session, found, statement.to, statement.name.position)


def _new_owner(statement: AlterOwner, session: Session) -> Role:
    role = role_named(session, statement.role)
    require_membership(session, role)
    return role
