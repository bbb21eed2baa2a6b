"""An engine with a few small tables whose rows the test knows too, and subscribers who add up what they are given.

The loop of the engine stands still but for commands, so ticks are exactly those that a test makes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import SparkSession

from tailrace.catalog.items import Item
from tailrace.engine.define import scan_of
from tailrace.engine.engine import Engine
from tailrace.engine.rows import arrow_schema
from tailrace.state import checkpoint
from tailrace.state.store import SMALL_ROWS
from tailrace.testing.oracle import (
    Bag,
    assert_equal,
    assert_runs_are_as_they_say,
    bags,
    batch_text,
    changed_text,
    kept_text,
)
from tailrace.testing.standing_clock import StandingClock
from tailrace.ticks.loop import Pace
from tailrace.types.core import BEGINNING, Tick
from tailrace.types.spark import ddl

TABLES = {
    "t": ("k int", "v int", "s text"),
    "u": ("k int", "w int", "f double precision"),
    "r": ("a int", "s text"),
}

Row: TypeAlias = tuple[int | float | str | Decimal | date | datetime | None, ...]

# Plans here are used once: compiling them costs more than interpreting them.
_INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to one table in a tick: rows that come, and which of the rows there leave, by number or in full."""

    table: str
    arriving: tuple[Row, ...] = ()
    leaving: tuple[int | Row, ...] = ()


@dataclass(slots=True)
class Subscriber:
    """Given the change since `frontier`, one tick or many; `total` is the sum of all it was given."""

    frontier: Tick = BEGINNING
    total: dict[str, Bag] = field(default_factory=dict)
    pin: AbstractContextManager[Tick] | None = None


class World:
    """`views`: name → query.  Changes of more than `small_rows` rows are written to files by Spark.

    With a `time` (milliseconds, still to come) the clock stands until `wait`.
    """

    def __init__(
        self,
        spark: SparkSession,
        directory: Path,
        views: Mapping[str, str],
        *,
        tables: Mapping[str, Sequence[str]] = TABLES,
        small_rows: int = SMALL_ROWS,
        time: int | None = None,
        clusters: int = 1,
    ) -> None:
        """Views are dealt out to so many clusters."""
        self._spark = spark
        self._directory = directory
        self._small_rows = small_rows
        self._time = time
        self._clusters = clusters
        self._rows: dict[str, list[Row]] = {name: [] for name in tables}
        self.history: list[str | dict[str, list[tuple[Row, int]]]] = []  # ticks, and what happened between them
        self.each_tick, self.now_and_then = Subscriber(), Subscriber()
        self.engine = self._opened()
        for name, columns in tables.items():
            self.engine.sql(f"CREATE TABLE {name} ({', '.join(columns)})")
        for number in range(1, clusters):
            self.engine.sql(f"CREATE CLUSTER c{number} SIZE '1'")
        places = ["quickstart", *(f"c{number}" for number in range(1, clusters))]
        for number, (name, query) in enumerate(views.items()):
            place = places[number % clusters]
            self.engine.sql(f"CREATE MATERIALIZED VIEW {name} IN CLUSTER {place} AS {query}")
        self.engine.settle()

    def _opened(self) -> Engine:
        engine = Engine(self._spark, self._directory, pace=Pace(interval=3600, checkpoint=float("inf")))
        engine.store.small_rows = self._small_rows
        for session in (engine.views.small, engine.views.large):
            for name, value in _INTERPRETED.items():
                session.conf.set(name, value)
        if self._time is not None:
            engine.loop.clock = StandingClock(engine.loop.clock.last)
            engine.loop.clock.time = self._time
        return engine

    @property
    def views(self) -> list[Item]:
        return list(self.engine.catalog.of_kind("materialized view"))

    def rows(self, table: str) -> list[Row]:
        return list(self._rows[table])

    # ── what happens ──

    def tick(self, changes: Sequence[Change]) -> None:
        """One tick of all `changes` together."""
        self._hold(self.each_tick)
        self._hold(self.now_and_then)
        rows: dict[str, list[tuple[Row, int]]] = {}
        for change in changes:
            rows.setdefault(change.table, []).extend(self._apply(change))
        self.history.append(rows)
        deltas = {self._id(name): self._table(name, weighted) for name, weighted in rows.items() if weighted}
        self.engine.loop.change(lambda: deltas)
        if self._clusters > 1:
            self.engine.settle()  # none is behind
        self._rest()

    def wait(self, milliseconds: int) -> None:
        """Time passes, and nothing else happens."""
        self._hold(self.each_tick)
        self._hold(self.now_and_then)
        clock = self.engine.loop.clock
        assert isinstance(clock, StandingClock)
        clock.time = self._time = max(clock.time, clock.last) + milliseconds
        self._rest()

    def checkpoint(self) -> None:
        self.history.append("checkpoint")
        self._hold(self.each_tick)
        self._hold(self.now_and_then)
        cluster = self.engine.cluster
        self.engine.loop.do(lambda: checkpoint.write(cluster.store, cluster.log.last, cluster.frontiers()))
        self.engine.settle()

    def restart(self, *, crash: bool) -> None:
        """A new process in the same directory; after a crash the last checkpoint is all there is, and the tick log."""
        self.check(self.each_tick, self.now_and_then)
        self.history.append("crash" if crash else "restart")
        if crash:
            self.engine.loop._checkpointed = Tick(1 << 62)  # nothing is left to write at the end
        self.engine.close()
        self.engine = self._opened()
        if self._time is not None:
            self._rest()
            for each in (self.each_tick, self.now_and_then):  # what was due meanwhile is done, and nobody held it apart
                each.frontier, each.total = BEGINNING, {}

    def close(self) -> None:
        for each in (self.each_tick, self.now_and_then):
            self._release(each)
        self.engine.close()

    # ── what must be ──

    def check(self, *subscribers: Subscriber) -> dict[str, Bag]:
        """Every view is what its query says of the rows the test knows, and so is what each subscriber was given;
        and runs and changes that are said to take nothing away do not.

        Returns what the views hold.
        """
        statuses = {str(view.name): self.engine.statuses.of(view.id) for view in self.views}
        assert {name: status.error for name, status in statuses.items() if status.status != "running"} == {}
        with self.engine.cluster.pinned() as t, self.engine.views.scratch():
            assert_runs_are_as_they_say(self.engine)
            leaves = {self._id(name): self._view(name) for name in self._rows}
            texts = {("fresh", v.id): self._fresh(v, leaves, t) for v in self.views}
            texts |= {("kept", v.id): kept_text(self.engine, v, t) for v in self.views}
            for i, each in enumerate(subscribers):
                texts |= {(f"given {i}", v.id): changed_text(self.engine, v, each.frontier, t) for v in self.views}
            growing = [(i, v.id) for i, each in enumerate(subscribers) for v in self.views if self._grows(v, each, t)]
            found = bags(self.engine, texts)
        for i, id in growing:
            assert all(weight > 0 for weight in found[f"given {i}", id].values()), self.engine.catalog.items[id]
        for i, each in enumerate(subscribers):
            self._release(each)
            each.frontier = t
            for view in self.views:
                total = each.total.setdefault(view.id, Counter())
                total.update(found[f"given {i}", view.id])
        for view in self.views:
            fresh = found["fresh", view.id]
            assert_equal(f"the content of {view.create_sql}", found["kept", view.id], fresh)
            for each in subscribers:
                assert_equal(f"the sum of the changes of {view.create_sql}", each.total[view.id], fresh)
        return {view.name.item: found["fresh", view.id] for view in self.views}

    def changes(self, session: SparkSession) -> dict[str, Bag]:
        """How each view changed since `each_tick` was last given something, as this session computes it."""
        lo, hi = self.each_tick.frontier, self.engine.cluster.done
        texts = {str(view.name): changed_text(self.engine, view, lo, hi) for view in self.views}
        return bags(self.engine, texts, session)

    # ── details ──

    def _grows(self, view: Item, subscriber: Subscriber, t: Tick) -> bool:
        """Is the change said to take nothing away?"""
        return self.engine.cluster.reader(scan_of(view)).delta(subscriber.frontier, t).positive

    def _rest(self) -> None:
        """Until no tick will come by itself: while a run has no index yet, something in it may be due."""
        for _ in range(3 if self._time is not None else 0):
            self.engine.store.lookups.settle()
            self.engine.settle()

    def _hold(self, subscriber: Subscriber) -> None:
        """Single ticks after the subscriber's frontier stay readable."""
        if subscriber.pin is None and subscriber.frontier != BEGINNING:
            subscriber.pin = self.engine.cluster.pinned()
            assert subscriber.pin.__enter__() == subscriber.frontier

    def _release(self, subscriber: Subscriber) -> None:
        if subscriber.pin is not None:
            subscriber.pin.__exit__(None, None, None)
            subscriber.pin = None

    def _apply(self, change: Change) -> list[tuple[Row, int]]:
        rows = self._rows[change.table]
        leaving = [self._take(rows, which) for which in change.leaving if rows]
        rows.extend(change.arriving)
        rows.sort(key=repr)  # whichever way they came, the same numbers leave next time
        return [*((row, -1) for row in leaving), *((row, 1) for row in change.arriving)]

    @staticmethod
    def _take(rows: list[Row], which: int | Row) -> Row:
        return rows.pop(which % len(rows) if isinstance(which, int) else rows.index(which))

    def _item(self, name: str) -> Item:
        return next(item for item in self.engine.catalog.items.values() if item.name.item == name)

    def _id(self, name: str) -> str:
        return self._item(name).id

    def _table(self, name: str, weighted: Sequence[tuple[Row, int]]) -> pa.Table:
        rows = self._arrow(name, [row for row, _ in weighted])
        return rows.append_column("weight", pa.array([weight for _, weight in weighted], pa.int64()))

    def _arrow(self, name: str, rows: Sequence[Row]) -> pa.Table:
        schema = arrow_schema(self._item(name).schema or ())
        arrays = [pa.array([row[i] for row in rows], column.type) for i, column in enumerate(schema)]
        return pa.Table.from_arrays(arrays, schema=schema)

    def _view(self, name: str) -> str:
        return self.engine.views.add_arrow(self._arrow(name, self._rows[name]), ddl(self._item(name).schema or ()))

    def _fresh(self, view: Item, leaves: Mapping[str, str], t: Tick) -> str | None:
        return batch_text(self.engine, view, lambda scan: leaves[scan.relation], t)
