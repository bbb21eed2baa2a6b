"""GRANT privilege,… ON [kind] object,… TO role,…; REVOKE … FROM role,…; GRANT role,… TO role,….

Privileges: SELECT, INSERT, UPDATE, DELETE, USAGE, CREATE, ALL [PRIVILEGES]; on SYSTEM: CREATEROLE, CREATEDB,
CREATECLUSTER.  `ALL TABLES IN SCHEMA public,…` names all relations that are there now.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tailrace.catalog.roles import CLUSTER, DATABASE, PRIVILEGES, PUBLIC, SCHEMA, SYSTEM, Grant
from tailrace.engine import namespaces
from tailrace.engine.context import Arguments, Session
from tailrace.engine.privileges import require_over, require_owner, require_superuser, role_named
from tailrace.errors import NotSupported, SqlError, WrongObjectType
from tailrace.sql.names import Name
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result

STARTS = (("GRANT",), ("REVOKE",), ("ALTER", "DEFAULT", "PRIVILEGES"))

_ALL = "ALL"
_KNOWN = sorted({privilege for each in PRIVILEGES.values() for privilege in each})
_RELATIONS = ("table", "view", "materialized view", "source")


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """`kind` is None for a relation; `schemas`: all of the kind in these, instead of `names`."""

    grants: bool
    privileges: tuple[str, ...]
    kind: str | None
    names: tuple[Name, ...]
    roles: tuple[str, ...]
    schemas: tuple[Name, ...] = ()
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Membership:
    grants: bool
    groups: tuple[str, ...]
    members: tuple[str, ...]


GrantStatement = Change | Membership


def parse(p: Parser) -> GrantStatement:
    position = p.position
    if p.accept("ALTER", "DEFAULT", "PRIVILEGES"):
        raise NotSupported(
            "ALTER DEFAULT PRIVILEGES not yet supported",
            hint="GRANT … ON ALL TABLES IN SCHEMA public TO … covers what is there; say it again for what comes later.",
            position=position,
        )
    grants = p.keyword("GRANT", "REVOKE") == "GRANT"
    position = p.position
    if p.accept("GRANT", "OPTION", "FOR") or p.accept("ADMIN", "OPTION", "FOR"):
        raise _no_options(position)
    if not any(p.at(word) for word in (*_KNOWN, _ALL)):
        groups = p.several(lambda: p.identifier("role name"))
        p.expect("TO" if grants else "FROM")
        return Membership(grants=grants, groups=groups, members=_roles(p))
    privileges = p.several(lambda: p.keyword(*_KNOWN, _ALL))
    if privileges == (_ALL,):
        p.accept("PRIVILEGES")
    p.expect("ON")
    position = p.position
    kind, names, schemas = _objects(p)
    p.expect("TO" if grants else "FROM")
    return Change(
        grants=grants,
        privileges=privileges,
        kind=kind,
        names=names,
        roles=_roles(p),
        schemas=schemas,
        position=position,
    )


def _objects(p: Parser) -> tuple[str | None, tuple[Name, ...], tuple[Name, ...]]:
    """The kind, names of it, and schemas all of whose objects are meant."""
    if p.accept(_ALL):
        kind = {"TABLES": None, "CONNECTIONS": "connection", "SECRETS": "secret"}[
            p.keyword("TABLES", "CONNECTIONS", "SECRETS")
        ]
        p.expect("IN", "SCHEMA")
        return kind, (), p.several(lambda: p.name("schema name"))
    if p.accept("SYSTEM"):
        return SYSTEM, (), ()
    kind = None
    for word in (CLUSTER, DATABASE, SCHEMA, "connection", "secret", "type"):
        if p.accept(word.upper()):
            kind = word
            break
    else:
        p.accept("TABLE")
    return kind, p.several(lambda: p.name("object name")), ()


def _roles(p: Parser) -> tuple[str, ...]:
    p.accept("GROUP")
    roles = p.several(lambda: p.identifier("role name"))
    position = p.position
    if p.accept("WITH"):
        raise _no_options(position)
    _ = p.accept("CASCADE") or p.accept("RESTRICT")  # nothing depends on a privilege: they cannot be passed on
    return roles


def _no_options(position: int) -> NotSupported:
    return NotSupported(
        "options of GRANT and REVOKE not yet supported",
        detail="Whoever owns an object grants privileges on it; whoever has CREATEROLE grants membership in roles.",
        position=position,
    )


def execute(statement: GrantStatement, session: Session, arguments: Arguments) -> Result:
    tag = "GRANT" if statement.grants else "REVOKE"
    store = session.engine.role_store
    if isinstance(statement, Membership):
        for group in statement.groups:
            require_over(session, group, "grant role membership")
            for member in statement.members:
                store.join(store.get(group), role_named(session, member), belongs=statement.grants)
        return Result(tag=tag)
    roles = [PUBLIC if name == PUBLIC else role_named(session, name).id for name in statement.roles]
    grants = [
        Grant(role, privilege, on)
        for on, kind in _targets(statement, session)
        for privilege in _privileges(statement, kind)
        for role in roles
    ]
    (store.grant if statement.grants else store.revoke)(grants)
    return Result(tag=tag)


def _targets(statement: Change, session: Session) -> list[tuple[str, str]]:
    """(what privileges are stored under, its kind)"""
    if statement.kind in (SCHEMA, DATABASE):
        found = [namespaces.owned(session, statement.kind, name) for name in statement.names]
        return [(each.key, each.kind) for each in found if each is not None]
    if statement.kind in (CLUSTER, SYSTEM):
        require_superuser(session, f"grant privileges on a {statement.kind}")
        if statement.kind == SYSTEM:
            return [(SYSTEM, SYSTEM)]
        clusters = session.engine.clusters
        return [(clusters.get(name.item, name.position).key, CLUSTER) for name in statement.names]
    kinds = _RELATIONS if statement.kind is None else (statement.kind,)
    items = [session.resolve(name) for name in statement.names]
    for schema in (namespaces.find(session, SCHEMA, name) for name in statement.schemas):
        items += [item for item in namespaces.objects_in(session.engine, schema) if item.kind in kinds]
    for item in items:
        if item.kind not in kinds:
            raise WrongObjectType(f"{item.name} is a {item.kind} not a {kinds[0]}", position=statement.position)
        require_owner(session, item)
    return [(item.id, item.kind) for item in items]


def _privileges(statement: Change, kind: str) -> tuple[str, ...]:
    if statement.privileges == (_ALL,):
        return PRIVILEGES[kind]
    for privilege in statement.privileges:
        if privilege not in PRIVILEGES[kind]:
            raise SqlError(f"invalid privilege types {privilege} for {kind.upper()}", sqlstate="0LP01")
    return statement.privileges
