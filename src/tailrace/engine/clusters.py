"""CREATE, ALTER, DROP CLUSTER: what a cluster is, and what that means for the objects in it.

A cluster with no replicas stands still, and everything in it: its sources are not read, its views not advanced, its
sinks not written.  docs/design/013 says what a cluster does not do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tailrace.catalog.clusters import Cluster
from tailrace.catalog.items import Item
from tailrace.engine.privileges import PermissionDenied, require_superuser
from tailrace.errors import DependentObjects, InvalidOption, NotSupported, SqlError, UnknownObject
from tailrace.sql.names import Name
from tailrace.sql.options import Options
from tailrace.sql.unparse import quote_ident, quote_literal

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine
    from tailrace.engine.session import EngineSession
    from tailrace.statements.alter_cluster import AlterCluster
    from tailrace.statements.create_cluster import CreateCluster


def create(session: EngineSession, statement: CreateCluster) -> None:
    from tailrace.statements.create_cluster import SIZE

    require_superuser(session, "create cluster", "CREATECLUSTER")
    clusters, name = session.engine.clusters, statement.name.item
    if statement.if_not_exists and clusters.find(name) is not None:
        session.notice(f'cluster "{name}" already exists, skipping', sqlstate="42710")
        return
    named = None
    if statement.replicas is not None:
        named = tuple((replica, options.get(SIZE)) for replica, options in statement.replicas)
    elif statement.size is None:
        raise InvalidOption(
            "SIZE must be specified for managed clusters",
            hint=f"CREATE CLUSTER {quote_ident(name)} (SIZE 'local'): any name will do, it is kept and shown.",
            position=statement.name.position,
        )
    made = clusters.create(Cluster(name=name, size=statement.size, factor=statement.replication_factor, named=named))
    session.engine.role_store.own(made.key, session.role)


def alter(session: EngineSession, statement: AlterCluster) -> None:
    from tailrace.statements.create_cluster import REPLICATION_FACTOR, SIZE

    cluster = owned(session, statement.name, if_exists=statement.if_exists)
    if cluster is None:
        return
    _refuse_unmanaged(cluster, statement.change)
    change = statement.change
    size = change.get(SIZE) if change.has(SIZE) else cluster.size
    factor = change.value(REPLICATION_FACTOR) if change.has(REPLICATION_FACTOR) else cluster.factor
    if statement.reset.has(SIZE):
        raise InvalidOption("cannot RESET SIZE of a managed cluster")
    if statement.reset.has(REPLICATION_FACTOR):
        factor = 1
    if factor < 0:
        raise InvalidOption(
            "REPLICATION FACTOR must not be negative", position=change.position(REPLICATION_FACTOR)
        )
    session.engine.clusters.alter(replace(cluster, size=size, factor=factor))
    session.engine.pause()


def _refuse_unmanaged(cluster: Cluster, change: Options) -> None:
    from tailrace.statements.create_cluster import MANAGED

    if cluster.named is not None or (change.has(MANAGED) and not change.value(MANAGED)):
        hint = "DROP it and CREATE it again."
        raise NotSupported("ALTER CLUSTER of an unmanaged cluster not yet supported", hint=hint)


def swap(session: EngineSession, name: Name, other: str) -> None:
    """Each takes the other's name; objects stay where they are."""
    one, two = owned(session, name), owned(session, Name((other,)))
    assert one is not None
    assert two is not None
    engine = session.engine
    engine.clusters.alter(replace(one, name=two.name), replace(two, name=one.name))
    restated = {item.id: _restated(session, item, two.name) for item in objects_in(engine, one.name)}
    restated |= {item.id: _restated(session, item, one.name) for item in objects_in(engine, two.name)}
    engine.swap(*restated.values())


def rename(session: EngineSession, cluster: Cluster, to: str) -> None:
    engine = session.engine
    engine.clusters.rename(cluster, to)
    engine.swap(*(_restated(session, item, to) for item in objects_in(engine, cluster.name)))


def drop(session: EngineSession, cluster: Cluster, *, cascade: bool) -> None:
    engine = session.engine
    inside = objects_in(engine, cluster.name)
    if inside and not cascade:
        raise DependentObjects(
            f'cannot drop cluster "{cluster.name}": still depended upon by {inside[0].kind} "{inside[0].name.item}"',
            hint="Use DROP ... CASCADE to drop the dependent objects too.",
        )
    engine.drop_with_dependants(item.id for item in inside)
    engine.clusters.drop(cluster)


def objects_in(engine: Engine, name: str) -> list[Item]:
    return sorted((item for item in engine.catalog.items.values() if item.cluster == name), key=lambda i: i.number)


def owned(session: EngineSession, name: Name, *, if_exists: bool = False) -> Cluster | None:
    """The cluster of a name, to be changed.  None: there is none, and that is fine."""
    try:
        cluster = session.engine.clusters.get(name.item, name.position)
    except UnknownObject:
        if not if_exists:
            raise
        session.notice(f'cluster "{name.item}" does not exist, skipping')
        return None
    if not session.engine.role_store.owns(session.role, cluster.key):
        raise PermissionDenied(f"must be owner of CLUSTER {cluster.name}")
    return cluster


def _restated(session: EngineSession, item: Item, cluster: str) -> Item:
    """The same object in a cluster of another name."""
    item = replace(item, cluster=cluster)
    if "cluster" in item.facts:
        item = replace(item, facts={**item.facts, "cluster": cluster})
    if not hasattr(item.statement, "cluster"):
        return item
    statement = replace(item.statement, cluster=cluster)
    return replace(item, statement=statement, create_sql=statement.create_sql(session.printer()))


def restated(cluster: Cluster) -> str:
    """The statement that would make it."""
    if cluster.named is None:
        options = f"(SIZE = {quote_literal(str(cluster.size))}, REPLICATION FACTOR = {cluster.factor})"
        return f"CREATE CLUSTER {quote_ident(cluster.name)} {options};"
    replicas = (f"{quote_ident(name)} (SIZE = {quote_literal(str(size))})" for name, size in cluster.named)
    return f"CREATE CLUSTER {quote_ident(cluster.name)} REPLICAS ({', '.join(replicas)});"


def paused(engine: Engine) -> frozenset[str]:
    """Ids of everything that stands still."""
    still = {cluster.name for cluster in engine.clusters.all() if cluster.is_paused}
    items = [each for each in engine.catalog.items.values() if each.cluster in still and each.broken is None]
    return frozenset(id for item in items for id in (item.id, item.facts.get("sink")) if id is not None)


def pool(session: EngineSession) -> str:
    """The scheduler pool that a session's queries run in."""
    cluster = session.engine.clusters.get(session.variables.get("cluster"))
    if not session.engine.role_store.may(session.role, "USAGE", cluster.key):
        raise PermissionDenied(
            f'permission denied for CLUSTER "{cluster.name}"',
            detail=f"The '{session.user}' role needs USAGE privileges on cluster \"{cluster.name}\".",
        )
    if cluster.is_paused:
        raise SqlError(
            f'cluster "{cluster.name}" has no replicas available to service request',
            hint="ALTER CLUSTER ... SET (REPLICATION FACTOR 1), or SET cluster to another one.",
            sqlstate="55000",
        )
    return f"cluster {cluster.id}"
