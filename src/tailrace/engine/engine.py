"""The engine: everything between SQL text and the outside world, in one process.

    with Engine(spark, data_dir="pipeline") as engine:
        engine.sql("CREATE TABLE bids (item int, price int)")
        engine.sql("INSERT INTO bids VALUES (1, 30)")
        engine.table("bids").show()

Opening it recovers: after any end of an earlier process, also `kill -9`, it goes on where that one stopped.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tailrace.catalog.catalog import Catalog
from tailrace.catalog.clusters import Clusters
from tailrace.catalog.database import Database, temporary_directory
from tailrace.catalog.items import TEMPORARY, Item
from tailrace.catalog.namespaces import Namespace
from tailrace.catalog.roles import Role, Roles
from tailrace.catalog.storage import Storage
from tailrace.engine import clusters, flink_tables, widening
from tailrace.engine.advisory import AdvisoryLocks
from tailrace.engine.changes import Changes
from tailrace.engine.contents import reading, text_of
from tailrace.engine.restoring import restored
from tailrace.engine.running import Running
from tailrace.engine.session import EngineSession
from tailrace.engine.sessions import Sessions
from tailrace.engine.sizes import Sizes
from tailrace.engine.subscription import Subscription
from tailrace.engine.system import registry as system
from tailrace.engine.temporaries import Temporaries
from tailrace.errors import SqlError, noted
from tailrace.ivm.views import Views
from tailrace.plan.nodes import Scan
from tailrace.plan.walk import scans
from tailrace.secret import Secret
from tailrace.server.startup import StartupInfo
from tailrace.spark import configure
from tailrace.state import checkpoint
from tailrace.state.store import Store
from tailrace.testing import defences
from tailrace.ticks.cluster import Cluster
from tailrace.ticks.loop import Loop, Pace
from tailrace.ticks.recovery import recover
from tailrace.ticks.status import Statuses
from tailrace.verifier import Verifier


class Engine:
    """One data directory, opened.  Without `data_dir` everything is gone when the engine closes."""

    def __init__(
        self,
        spark: SparkSession,
        data_dir: str | Path | None = None,
        *,
        pace: Pace | None = None,
        sizes: Sizes | None = None,
    ) -> None:
        self._temporary = data_dir is None
        self.directory = temporary_directory() if data_dir is None else Path(data_dir).absolute()
        self._is_closed = False
        self.database = Database(self.directory)
        self.region = self.database.region
        self.storage = Storage(self.database)
        self.role_store = Roles(self.database)
        self.clusters = Clusters(self.database)
        self.spark = configure(spark.newSession())
        self.views = Views(self.spark)
        state = self.directory / "state"
        state.mkdir(exist_ok=True)
        self.sizes = sizes or Sizes()
        self.store = Store(views=self.views, directory=state, small_rows=self.sizes.small_rows)
        self.statuses = Statuses(self.database)
        self.log = defences.open_tick_log(self.database)
        self.cluster = Cluster(store=self.store, log=self.log, statuses=self.statuses)
        self.catalog = Catalog(namespaces=self.storage.namespaces())
        for item in system.items():
            self.catalog = self.catalog.with_item(item)
        self.lock = threading.RLock()  # held while the catalog changes
        self.seen: dict[str, Item] = {}  # every item that was there since the start, for histories
        self.sessions = Sessions()
        self.advisory_locks = AdvisoryLocks()
        self._temporaries = Temporaries()  # of this program, whose every `sql` is a session
        self.exports: dict[str, str] = {}  # of each path of a bucket that COPY writes to now, the COPY's id
        self.started_at = time.time()
        self.running = Running(self)
        try:
            self._recover()
        except BaseException:
            self._let_go()
            raise
        self.loop = Loop(self.cluster, pace or Pace())
        self.loop.start()
        self.drop_with_dependants([item.id for item in self.catalog.items.values() if item.is_temporary])

    def _recover(self) -> None:
        tick, frontiers = checkpoint.load(self.store)
        self.running.frontiers = frontiers
        self.storage.remove([stored.id for stored in self.storage.items() if stored.facts.get(TEMPORARY)])
        replay = widening.Replay()
        for stored in self.storage.items():
            number = float("inf") if stored.kind == "sink" else int(stored.id[1:])
            self.catalog = replay.before(self.catalog, number)
            item = restored(self, stored)
            self.catalog = self.catalog.with_item(replay.first(item))
            self.seen[item.id] = item
            if item.cluster is not None and self.clusters.find(item.cluster) is None:
                self.clusters.adopt(item.cluster)
            self.running.start(item)
        self.catalog = replay.before(self.catalog, float("inf"))
        self.cluster.keep_needed()
        recover(self.cluster, tick)

    # ── the catalog ──

    def add(self, *items: Item, secret: Secret | None = None, instead_of: Iterable[str] = ()) -> None:
        """Makes items exist instead of others: in the catalog, durably, all or none; then in the tick loop."""
        gone = set(instead_of)
        for item in items:
            if item.kind in ("materialized view", "sink"):
                flink_tables.begin(self, item.depends_on)
            elif item.kind == "job" and item.plan is not None:
                flink_tables.begin(self, scans(item.plan))
        with self.lock:
            catalog = self.catalog.without(gone)
            for item in items:
                if not item.is_temporary:
                    catalog.namespaces.expect(item.name.database, item.name.schema)
                catalog = catalog.with_item(item)
            self.storage.add(*items, secret=secret, instead_of=gone)
            self.catalog = catalog
            self.seen |= {item.id: item for item in items}
        if gone:
            self._stop(gone)
        self.running.ask_ahead(items)
        for item in items:
            if item.kind in ("source", "table", "materialized view", "sink", "job"):
                self.loop.do(partial(self.running.start, item))

    def drop(self, ids: set[str], namespaces: Sequence[Namespace] = ()) -> None:
        """Makes items end, and the namespaces that they are all of what is in them: all of it, or nothing."""
        ids = ids | {self.catalog.items[id].facts["sink"] for id in ids if self.catalog.items[id].kind == "job"}
        with self.lock:
            inside = {(each.database, each.name) for each in namespaces}
            for item in self.catalog.items.values():
                if item.id not in ids and (item.name.database, item.name.schema) in inside:
                    raise widening.altered_meanwhile(item)
            self.storage.remove(ids, namespaces)
            left = self.catalog.namespaces.without(each.key for each in namespaces)
            self.catalog = replace(self.catalog.without(ids), namespaces=left)
        if ids:
            self._stop(ids)

    def add_namespaces(self, *namespaces: Namespace) -> None:
        with self.lock:
            self.storage.add_namespaces(*namespaces)
            self.catalog = replace(self.catalog, namespaces=self.catalog.namespaces.changed(namespaces))

    def drop_with_dependants(self, ids: Iterable[str]) -> None:
        """Those of them that are still there, and what needs them."""
        found = self.catalog.with_dependants(id for id in ids if id in self.catalog.items)
        if found:
            self.drop(found)

    def _stop(self, ids: set[str]) -> None:
        self.loop.do(lambda: self.running.stop(ids), lanes=self.cluster.lanes.of(ids), hurries=True)

    def swap(self, *items: Item, namespaces: Sequence[Namespace] = ()) -> None:
        """The same items and namespaces after an ALTER: all of them change, or none."""
        with self.lock:
            catalog = self.catalog.without({item.id for item in items})
            for item in items:
                catalog = catalog.with_item(item)
            self.storage.replace(*items, namespaces=namespaces)
            self.catalog = replace(catalog, namespaces=catalog.namespaces.changed(namespaces))

    def pause(self) -> None:
        """Lets what is in clusters without replicas stand still, and the rest go on.  Waits until it has."""
        lanes = self.cluster.lanes.of(clusters.paused(self))
        self.loop.do(self.running.pause, lanes=lanes, hurries=True)
        self.loop.change(dict)

    @property
    def roles(self) -> tuple[Role, ...]:
        return self.role_store.all()

    # ── for programs ──

    def session(self) -> EngineSession:
        return EngineSession(self, temporaries=self._temporaries)

    def open_session(self, startup: StartupInfo) -> EngineSession:
        """For a client that has been let in."""
        role = self.role_store.find(startup.user)
        if role is None or not role.login:
            reason = "does not exist" if role is None else "is not permitted to log in"
            raise SqlError(f'role "{startup.user}" {reason}', sqlstate="28000")
        session = EngineSession(self, startup.user)
        session.variables.take(self.role_store.settings(role))
        # Clients name some database whether they were told one or not: one that is not there keeps nobody out.
        if startup.database is not None and self.catalog.namespaces.database(startup.database) is not None:
            session.variables.take({"database": startup.database})
        self.sessions.add(session, startup.address)
        return session

    def verifier_of(self, user: str) -> Verifier | None:
        """What a client's password is checked with."""
        role = self.role_store.find(user)
        return role.verifier if role is not None and role.login else None

    def sql(self, text: str) -> pa.Table | None:
        """Runs the statements of `text`; the rows of the last one, if it has any, under their own column names."""
        answer: pa.Table | None = None
        session = self.session()
        for result in session.sql(text):
            with noted():
                batches = list(result.rows)
            answer = None
            if result.columns is not None:
                answer = session.as_table(result, batches)
        return answer

    def table(self, name: str) -> DataFrame:
        """A relation as of the last tick, as a DataFrame with the relation's own column names.

        It stays what it is while views move on: its rows are read now, by one Spark job, and kept by Spark.
        """
        with noted(name):
            relation = self.catalog.relation(self.session().parse_name(name).parts, None)
        node = relation.plan or Scan(relation=relation.id, schema=relation.schema)
        with reading(self, node) as t:
            rows = self.views.large.sql(text_of(self, node, t)).localCheckpoint(eager=True)
        return rows.toDF(*(column.name for column in relation.schema))

    def subscribe(self, query: str) -> Changes:
        """The changes of a relation or query as they happen, beginning with its content.  Ends with the engine, or
        when it is closed."""
        with noted():
            return Changes(Subscription.open(self, self.session().plan_subscription(query)))

    def has_unbounded_inputs(self) -> bool:
        """Something outside may still bring new rows."""
        log, last = self.cluster.log, self.loop.clock.last
        return any(not source.is_done(log.position(id, last)) for id, source in list(self.cluster.sources.items()))

    def settle(self) -> None:
        """Waits for one more tick and what it leaves behind: whatever was said before is done, sinks included."""
        self.loop.settle()

    def close(self) -> None:
        """Ends after the tick in progress; nothing is lost.  A second time it does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        self.loop.stop()
        self._let_go()

    def _let_go(self) -> None:
        """Of whatever was opened, so that somebody else can have it."""
        for delivery in self.cluster.deliveries.values():
            delivery.close()
        for source in self.cluster.sources.values():
            source.close()
        self.running.close()
        self.statuses.save()
        self.store.close()
        self.database.close()
        if self._temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
