"""DROP OWNED BY role,… [CASCADE | RESTRICT]; REASSIGN OWNED BY role,… TO role: before a role goes."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.catalog.namespaces import FIRST
from tailrace.catalog.roles import DATABASE, SCHEMA
from tailrace.engine import clusters, namespaces
from tailrace.engine.context import Arguments, Session
from tailrace.engine.privileges import require_membership, require_rights_of, role_named
from tailrace.sql.names import Name
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result

STARTS = (("DROP", "OWNED"), ("REASSIGN", "OWNED"))


@dataclass(frozen=True, kw_only=True, slots=True)
class DropOwned:
    """What the roles own goes, and every privilege that they were granted."""

    roles: tuple[str, ...]
    cascade: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ReassignOwned:
    roles: tuple[str, ...]
    to: str


OwnedStatement = DropOwned | ReassignOwned


def parse(p: Parser) -> OwnedStatement:
    drops = p.keyword("DROP", "REASSIGN") == "DROP"
    p.expect("OWNED", "BY")
    roles = p.several(lambda: p.identifier("role name"))
    if not drops:
        p.expect("TO")
        return ReassignOwned(roles=roles, to=p.identifier("role name"))
    cascade = p.accept("CASCADE")
    if not cascade:
        p.accept("RESTRICT")
    return DropOwned(roles=roles, cascade=cascade)


def execute(statement: OwnedStatement, session: Session, arguments: Arguments) -> Result:
    what = "drop objects" if isinstance(statement, DropOwned) else "reassign objects"
    store = session.engine.role_store
    roles = [role_named(session, name) for name in statement.roles]
    for role in roles:
        require_rights_of(session, role, what)
    owners = {role.id for role in roles}
    if isinstance(statement, DropOwned):
        _drop(session, owners, cascade=statement.cascade)
        store.revoke(grant for grant in store.grants() if grant.role in owners)
        return Result(tag="DROP OWNED")
    heir = role_named(session, statement.to)
    require_membership(session, heir)
    items, spaces = session.engine.catalog.items, session.engine.catalog.namespaces
    own = [*(each.key for each in session.engine.clusters.all()), *(each.key for each in spaces.all)]
    for id in (*(id for id in items if not id.startswith("s")), *own):
        if store.owner(id) in owners:
            store.own(id, heir)
    return Result(tag="REASSIGN OWNED")


def _drop(session: Session, owners: set[str], *, cascade: bool) -> None:
    """All or nothing of the objects; then schemas and clusters, which are empty by then or need CASCADE."""
    engine = session.engine
    catalog, store = engine.catalog, engine.role_store
    going = {id for id in catalog.items if not id.startswith("s") and store.owner(id) in owners}
    for item in sorted(catalog.items.values(), key=lambda item: item.rank):
        if item.part_of in going or (cascade and item.depends_on & going):
            going.add(item.id)
    for id in going:
        catalog.refuse_if_needed(catalog.items[id], going)
    if going:
        engine.drop(going)
    for kind in (SCHEMA, DATABASE):
        made = (each for each in engine.catalog.namespaces.all if each.kind == kind and each not in FIRST)
        theirs = [each for each in made if store.owner(each.key) in owners]
        names = [Name((each.name,) if each.database is None else (each.database, each.name)) for each in theirs]
        namespaces.drop(session, kind, names, if_exists=False, cascade=cascade)
    for cluster in engine.clusters.all():
        if store.owner(cluster.key) in owners:
            clusters.drop(session, cluster, cascade=cascade)
