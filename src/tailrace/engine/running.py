"""From catalog items to things that run: inputs, maintained views and deliveries of the cluster."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tailrace.catalog.items import Item
from tailrace.catalog.storage import Stored
from tailrace.engine import clusters, flink_jobs, flink_tables, generated_sources, sinks, sources, widening
from tailrace.engine.define import Identity, scan_of
from tailrace.engine.sink_switch import SWITCHED
from tailrace.errors import InternalError
from tailrace.plan.walk import scans
from tailrace.sinks.contract import Progress, Sink
from tailrace.sources.contract import Offsets, Source
from tailrace.sources.generated import Generated
from tailrace.sources.kafka_upsert import UpsertSource
from tailrace.sources.progress import progress
from tailrace.state.checkpoint import Frontiers
from tailrace.statements.registry import parse_statement
from tailrace.testing import defences
from tailrace.ticks.beside import Errand, Jobs
from tailrace.ticks.deliver import Delivery
from tailrace.ticks.inputs import LogInput, Reading, TableInput, UpsertInput, table_trace, upsert_trace
from tailrace.types.core import BEGINNING, Tick

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine
    from tailrace.engine.session import EngineSession


class Running:
    """Called by the tick loop's thread, or before it has started; `ask_ahead` by a statement's."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.frontiers: Frontiers = {}
        self.offsets = sources.SharedOffsets()
        self.beginning = threading.Lock()  # held while a table of Flink's is read for the first time
        self._ahead: dict[str, tuple[Sink, Errand[Progress]]] = {}

    def restore(self, stored: Stored, session: EngineSession) -> Item:
        """The item of a stored CREATE statement: parsed and planned again."""
        identity = Identity(id=stored.id, name=stored.name, facts=stored.facts)
        if stored.kind == "secret":
            return Item(id=stored.id, kind="secret", name=stored.name, statement=None, create_sql=stored.create_sql)
        if "dead_letters_of" in stored.facts:
            return sources.dead_letters(self._engine.catalog.items[stored.facts["dead_letters_of"]], identity)
        if "progress_of" in stored.facts:
            return sources.progress(self._engine.catalog.items[stored.facts["progress_of"]], identity)
        if "part_of" in stored.facts:
            return generated_sources.part(self._engine.catalog.items[stored.facts["part_of"]], identity)
        statement = parse_statement(stored.create_sql.rstrip().removesuffix(";"), types=session.type)
        define = getattr(sys.modules[type(statement).__module__], "define", None)
        if define is None:
            raise InternalError(f"the catalog holds {stored.kind} {stored.name}, which cannot be made again")
        item: Item = define(statement, session, identity)
        return item

    def pause(self) -> None:
        """Says to the tick loop, and to whoever looks, what stands still now."""
        before, now = self._engine.cluster.paused, clusters.paused(self._engine)
        self._engine.cluster.paused = now
        for id in sorted(now - before):  # here, as nobody waits for a lane to say so
            self._engine.statuses.note(id, "paused")
        going_on = before - now
        waited = {each.id for id in going_on for each in self._engine.catalog.dependants(id)} - now
        for id in sorted(going_on | {id for id in waited if self._engine.statuses.of(id).status == "paused"}):
            self._engine.statuses.note(id, "starting")

    def retain(self, item: Item) -> None:
        """As much of its past as its statement says."""
        length = getattr(item.statement, "retain_history", None)
        self._engine.cluster.retained.pop(item.id, None)
        if length is not None and item.kind in ("table", "source", "materialized view"):
            self._engine.cluster.retained[item.id] = int(length.length.total_seconds() * 1000)

    def ask_ahead(self, items: Iterable[Item]) -> None:
        """Has the targets of new sinks asked while the tick loop is still busy with what they read.

        Called by the thread of the statement that makes them.
        """
        paused = clusters.paused(self._engine)
        for item in items:
            if item.kind in ("sink", "job") and item.id not in paused:
                sink = self._open_sink(item)
                self._ahead[item.id] = sink, Errand.begun(sink.progress)

    def start(self, item: Item) -> None:
        if item.broken is not None:
            self._engine.cluster.broken |= {item.id}
            for id in filter(None, (item.id, item.facts.get("sink"))):
                self._engine.statuses.note(id, "stalled", item.broken.message, item.broken.hint)
            return
        self.pause()
        self.retain(item)
        match item.kind:
            case "table" if flink_tables.is_flink(item):
                if "start" in item.facts:  # else nobody reads it yet
                    self._start_source(item)
            case "table" if "source" in item.facts:
                self._start_source(item)
            case "table":
                self._start_table(item)
            case "source":
                self._start_source(item)
            case "materialized view":
                assert item.plan is not None
                reads = tuple(sorted(scans(item.plan)))
                proven, _ = self.frontiers.get(item.id, (BEGINNING, BEGINNING))
                self._engine.cluster.maintain(item.id, str(item.name), item.plan, reads, proven, self._lane(item))
            case "sink":
                self._start_sink(item)
            case "job":
                self._start_job(item)
            case _:
                pass  # connections, secrets and views do not run

    def _lane(self, item: Item) -> str:
        return self._engine.clusters.lane(item.cluster)

    def _start_table(self, item: Item) -> None:
        engine, scan = self._engine, scan_of(item)
        versions = [table_trace(engine.store, scan, width) for width in widening.widths(item)]
        engine.cluster.inputs[item.id] = TableInput(node=scan, log=engine.log, store=engine.store, versions=versions)

    def widen(self, item: Item) -> None:
        """A table with one more column.  Called by the tick loop's thread."""
        engine, scan = self._engine, scan_of(item)
        before = engine.cluster.inputs[item.id]
        assert isinstance(before, TableInput)
        trace = table_trace(engine.store, scan, len(scan.schema))
        trace.append(before.trace.upper, None)
        before.versions.append(trace)
        engine.cluster.inputs[item.id] = replace(before, node=scan)

    def _start_source(self, item: Item) -> None:
        engine, cluster = self._engine, self._engine.cluster
        if "dead_letters_of" in item.facts:
            owner = item.facts["dead_letters_of"]
            if owner in cluster.sources:  # else nobody reads it yet
                log = cluster.sources[owner]
                self._read(item, owner, log.start(), log.dead_letters)
            return
        if "progress_of" in item.facts:
            self._read(item, item.facts["progress_of"], {}, progress).rule = "progress of a source"
            return
        if "part" in item.facts:
            owner = item.part_of or item.facts["source"]
            generated = cluster.sources[owner]
            assert isinstance(generated, Generated)
            self._read(item, owner, generated.start(), partial(generated.changes_of, item.facts["part"]))
            return
        if item.schema is None and not generated_sources.is_generated(item):
            engine.statuses.note(item.id, "running")  # its tables read the topic, each by itself
            return
        source = self._open_source(item)
        cluster.sources[item.id] = source
        engine.statuses.note(item.id, "starting")
        if not engine.log.position(item.id, Tick(1)):
            engine.log.start(item.id, BEGINNING, source.start())
        if item.schema is None:
            return
        scan = scan_of(item)
        if isinstance(source, UpsertSource):
            trace = upsert_trace(engine.store, scan)
            cluster.inputs[item.id] = UpsertInput(
                node=scan, source=source, log=engine.log, store=engine.store, trace=trace
            )
        else:
            read = self._read(item, item.id, source.start(), source.changes)
            read.watermarks = flink_tables.watermarks(engine, item, source)

    def _read(self, item: Item, positions: str, start: Offsets, read: Reading) -> LogInput:
        """The item's rows come out of a log whose positions are known by an id."""
        engine = self._engine
        made = LogInput(
            node=scan_of(item), read=read, start=start, log=engine.log, views=engine.views, positions=positions
        )
        engine.cluster.inputs[item.id] = made
        return made

    def _start_sink(self, item: Item) -> None:
        engine, relation = self._engine, self._read_by(item)
        kept, written = self.frontiers.get(item.id, (BEGINNING, BEGINNING))
        kept = max(kept, Tick(item.facts.get(SWITCHED, BEGINNING)))  # up to it nothing of this relation is owed
        sink, asking = self._target(item)
        engine.cluster.deliveries[item.id] = delivery = Delivery(
            id=item.id,
            name=str(item.name),
            relation=relation.id,
            lane=self._lane(item),
            root=engine.cluster.operator(scan_of(relation), self._lane(item)),
            sink=sink,
            start=Tick(item.facts["start"]),
            kept=kept,
            written=written,
            knows=defences.known_ticks(engine.log),
            interval=item.statement.commit_interval.total_seconds(),
            beside=True,
            jobs=Jobs(store=engine.store, name=f"sink {item.id}"),
        )
        delivery.await_progress(asking)
        engine.statuses.note(item.id, "starting")

    def _read_by(self, sink: Item) -> Item:
        """The relation of a sink, as the sink knows it."""
        return widening.read_by(sink.facts, self._engine.catalog.items[sink.facts["from"]])

    def _open_sink(self, item: Item) -> Sink:
        if item.kind == "job":
            return flink_jobs.open_sink(self._engine, item)
        return sinks.open_sink(self._engine, item, self._read_by(item))

    def _target(self, item: Item) -> tuple[Sink, Errand[Progress] | None]:
        """A sink, and if it is being asked already, that."""
        ahead = self._ahead.pop(item.id, None)
        return (self._open_sink(item), None) if ahead is None else ahead

    def _start_job(self, item: Item) -> None:
        """A query that is kept up to date, and its delivery."""
        engine = self._engine
        assert item.plan is not None
        reads = tuple(sorted(scans(item.plan)))
        engine.cluster.maintain(item.id, str(item.name), item.plan, reads, lane=self._lane(item))
        kept, written = self.frontiers.get(item.facts["sink"], (BEGINNING, BEGINNING))
        sink, asking = self._target(item)
        engine.cluster.deliveries[item.facts["sink"]] = delivery = Delivery(
            id=item.facts["sink"],
            name=str(item.name),
            relation=item.id,
            lane=self._lane(item),
            root=engine.cluster.operator(scan_of(item), self._lane(item)),
            sink=sink,
            kept=kept,
            written=written,
            knows=defences.known_ticks(engine.log),
            beside=True,
            jobs=Jobs(store=engine.store, name=f"sink {item.facts['sink']}"),
        )
        delivery.await_progress(asking)
        engine.statuses.note(item.facts["sink"], "starting")

    def reopen(self, item: Item) -> None:
        """A running source or sink again, with clients of its own: what they connect with has changed."""
        engine = self._engine
        cluster = engine.cluster
        if item.id in cluster.deliveries:
            cluster.deliveries[item.id].reopen(self._open_sink(item))
        elif item.id in cluster.sources:
            old, new = cluster.sources[item.id], self._open_source(item)
            cluster.sources[item.id] = new
            rows = cluster.inputs[item.id]
            if isinstance(new, UpsertSource):
                assert isinstance(rows, UpsertInput)
                rows.source = new
            else:
                assert isinstance(rows, LogInput)
                rows.read = new.changes
                if rows.watermarks is not None:
                    rows.watermarks.read, rows.watermarks.is_done = new.placed, new.is_done
            for other in engine.catalog.items.values():
                letters = cluster.inputs.get(other.id)
                if other.facts.get("dead_letters_of") == item.id and isinstance(letters, LogInput):
                    letters.read = new.dead_letters
            old.close()

    def _open_source(self, item: Item) -> Source | UpsertSource:
        if generated_sources.is_generated(item):
            return generated_sources.open_generated(item)
        opening = flink_tables.open_table if flink_tables.is_flink(item) else sources.open_source
        return opening(self._engine, item, self.offsets)

    def stop(self, ids: Iterable[str]) -> None:
        gone = set(ids)
        self._engine.cluster.paused -= gone
        self._engine.cluster.drop(gone)
        self._engine.log.drop(gone)

    def close(self) -> None:
        self.offsets.close()
