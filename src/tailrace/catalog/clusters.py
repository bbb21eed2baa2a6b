"""Clusters: names for where objects run, and whether they run.  They have a namespace of their own."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, replace

from tailrace.catalog.database import Database
from tailrace.catalog.items import DEFAULT_CLUSTER
from tailrace.catalog.roles import CLUSTER
from tailrace.errors import DuplicateObject, UnknownObject

Replica = tuple[str, str | None]
"""Its name and its size."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """A managed cluster has `factor` replicas of `size`; an unmanaged one those that were named."""

    name: str
    id: str = ""
    size: str | None = None
    factor: int = 1
    named: tuple[Replica, ...] | None = None

    @property
    def key(self) -> str:
        """What its owner, grants and comment are kept under; the first one's is older than that there are others."""
        return CLUSTER if self.id == "u1" else f"{CLUSTER} {self.id}"

    @property
    def replicas(self) -> tuple[Replica, ...]:
        return self.named if self.named is not None else tuple((f"r{i + 1}", self.size) for i in range(self.factor))

    @property
    def is_paused(self) -> bool:
        """Nothing in it runs."""
        return not self.replicas


class Clusters:
    """All clusters: in memory, and in the database before a change returns."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._by_id = {cluster.id: cluster for cluster in _stored(database)}
        if not _was_one_ever_made(database):
            self.create(Cluster(name=DEFAULT_CLUSTER, size="local"))

    def all(self) -> list[Cluster]:
        """In order of creation."""
        return sorted(self._by_id.values(), key=lambda cluster: int(cluster.id[1:]))

    def find(self, name: str) -> Cluster | None:
        return next((cluster for cluster in self._by_id.values() if cluster.name == name), None)

    def get(self, name: str, position: int | None = None) -> Cluster:
        found = self.find(name)
        if found is None:
            raise UnknownObject(f"unknown cluster '{name}'", sqlstate="42704", position=position)
        return found

    def lane(self, name: str | None) -> str:
        """Where the objects of a cluster are brought from tick to tick: its own lane (ticks/lane.py).

        That of what is in no cluster, and of clusters from before there was CREATE CLUSTER, is the first one's.
        """
        cluster = None if name is None else self.find(name)
        return "u1" if cluster is None else self._database.fact(f"lane {cluster.id}", cluster.id)

    def adopt(self, name: str) -> None:
        """A cluster that objects were in before there was CREATE CLUSTER."""
        made = self.create(Cluster(name=name, size="local"))
        self._database.fact(f"lane {made.id}", "u1")

    def create(self, cluster: Cluster) -> Cluster:
        self._refuse_taken(cluster.name)
        with self._database.transaction() as sql:
            sql.execute("INSERT OR IGNORE INTO facts VALUES ('next_cluster', '1')")
            [[number]] = sql.execute("SELECT value FROM facts WHERE name = 'next_cluster'").fetchall()
            sql.execute("UPDATE facts SET value = ? WHERE name = 'next_cluster'", (str(int(number) + 1),))
            made = replace(cluster, id=f"u{number}")
            _write(sql, made)
        self._by_id[made.id] = made
        return made

    def alter(self, *clusters: Cluster) -> None:
        """The same clusters, otherwise: all of them, or none."""
        with self._database.transaction() as sql:
            for cluster in clusters:
                _write(sql, cluster)
        self._by_id |= {cluster.id: cluster for cluster in clusters}

    def rename(self, cluster: Cluster, to: str) -> None:
        self._refuse_taken(to)
        self.alter(replace(cluster, name=to))

    def drop(self, cluster: Cluster) -> None:
        with self._database.transaction() as sql:
            sql.execute("DELETE FROM clusters WHERE id = ?", (cluster.id,))
        del self._by_id[cluster.id]

    def _refuse_taken(self, name: str) -> None:
        if self.find(name) is not None:
            raise DuplicateObject(f'cluster "{name}" already exists')


def _was_one_ever_made(database: Database) -> bool:
    with database.transaction() as sql:
        return bool(sql.execute("SELECT 1 FROM facts WHERE name = 'next_cluster'").fetchall())


def _write(sql: sqlite3.Connection, cluster: Cluster) -> None:
    named = None if cluster.named is None else json.dumps(cluster.named)
    values = (cluster.id, cluster.name, cluster.size, cluster.factor, named)
    sql.execute("INSERT OR REPLACE INTO clusters VALUES (?, ?, ?, ?, ?)", values)


def _stored(database: Database) -> list[Cluster]:
    with database.transaction() as sql:
        rows = sql.execute("SELECT id, name, size, factor, named FROM clusters").fetchall()
    return [
        Cluster(id=id, name=name, size=size, factor=factor, named=_named(named))
        for id, name, size, factor, named in rows
    ]


def _named(stored: str | None) -> tuple[Replica, ...] | None:
    return None if stored is None else tuple((name, size) for name, size in json.loads(stored))
