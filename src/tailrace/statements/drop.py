"""DROP kind [IF EXISTS] name,… [CASCADE | RESTRICT]."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.engine import clusters, namespaces
from tailrace.engine.context import Arguments, Session
from tailrace.engine.privileges import require_over
from tailrace.errors import NotSupported, UnknownObject, WrongObjectType
from tailrace.sql.names import Name, ObjectKind
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result

STARTS = tuple(("DROP", *kind.upper().split()) for kind in ObjectKind)


@dataclass(frozen=True, kw_only=True, slots=True)
class Drop:
    kind: ObjectKind
    names: tuple[Name, ...]
    if_exists: bool = False
    cascade: bool = False
    restrict: bool = False


def parse(p: Parser) -> Drop:
    p.expect("DROP")
    kind = ObjectKind(p.phrase(*(kind.upper() for kind in ObjectKind)).lower())
    if_exists = p.if_exists()
    names = p.several(lambda: p.name(f"{kind} name"))
    cascade = p.accept("CASCADE")
    restrict = not cascade and p.accept("RESTRICT")
    return Drop(kind=kind, names=names, if_exists=if_exists, cascade=cascade, restrict=restrict)


_DROPPABLE = ("connection", "index", "materialized view", "secret", "sink", "source", "table", "type", "view")


def execute(statement: Drop, session: Session, arguments: Arguments) -> Result:
    if statement.kind == "role":
        return _roles(statement, session)
    if statement.kind == "cluster":
        return _clusters(statement, session)
    if statement.kind in ("schema", "database"):
        return _namespaces(statement, session)
    if statement.kind not in _DROPPABLE:
        raise NotSupported(f"DROP {statement.kind.upper()} not supported", position=statement.names[0].position)
    going: set[str] = set()
    for name in statement.names:
        going |= _one(statement, session, name)
    catalog = session.engine.catalog
    for id in going:
        catalog.refuse_if_needed(catalog.items[id], going)
    if going:
        session.engine.drop(going)
    return Result(tag=f"DROP {statement.kind.upper()}")


def _roles(statement: Drop, session: Session) -> Result:
    store = session.engine.role_store
    for name in statement.names:
        require_over(session, name.item, "drop role")
        if store.find(name.item) is None and statement.if_exists:
            session.notice(f'role "{name}" does not exist, skipping')
        else:
            clusters_of = (cluster.key for cluster in session.engine.clusters.all())
            spaces = (each.key for each in session.engine.catalog.namespaces.all)
            store.drop(store.get(name.item), (*session.engine.catalog.items, *clusters_of, *spaces))
    return Result(tag="DROP ROLE")


def _clusters(statement: Drop, session: Session) -> Result:
    for name in statement.names:
        cluster = clusters.owned(session, name, if_exists=statement.if_exists)
        if cluster is not None:
            clusters.drop(session, cluster, cascade=statement.cascade)
    return Result(tag="DROP CLUSTER")


def _namespaces(statement: Drop, session: Session) -> Result:
    """A database goes with what is in it unless RESTRICT is said, a schema only with CASCADE."""
    kind = str(statement.kind)
    cascade = not statement.restrict if kind == "database" else statement.cascade
    namespaces.drop(session, kind, statement.names, if_exists=statement.if_exists, cascade=cascade)
    return Result(tag=f"DROP {kind.upper()}")


def _one(statement: Drop, session: Session, name: Name) -> set[str]:
    """The object of one name, and what must go with it."""
    try:
        item = session.resolve(name)
    except UnknownObject:
        if not statement.if_exists:
            raise
        session.notice(f'{statement.kind} "{name}" does not exist, skipping')
        return set()
    if item.kind != statement.kind:
        raise WrongObjectType(f"{item.name} is a {item.kind} not a {statement.kind}", position=name.position)
    dependants = session.engine.catalog.dependants(item.id)  # also those that only another session sees
    going = {item.id}
    for other in sorted(dependants, key=lambda other: other.number):  # what comes with another comes after it
        if statement.cascade or other.part_of in going:
            going.add(other.id)
    return going
