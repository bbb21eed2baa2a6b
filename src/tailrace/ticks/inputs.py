"""Where a dataflow meets the outside: operators of sources, tables and materialized views.

A source that only appends needs no state of ours: its trace is the topic, and the tick log says which part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from tailrace.errors import InternalError
from tailrace.ivm.operator import Holding, Operator, absorb, open_trace
from tailrace.ivm.views import Views
from tailrace.ivm.zset import ZSet, columns, leading
from tailrace.plan.nodes import Scan
from tailrace.sources.contract import Offsets
from tailrace.sources.kafka_upsert import UpsertSource
from tailrace.state.layout import Layout, key_hash
from tailrace.state.replaced import replaced
from tailrace.state.store import Store
from tailrace.state.trace import Trace
from tailrace.ticks.log import TickLog
from tailrace.ticks.watermarks import Watermarks
from tailrace.types.core import BEGINNING, Tick
from tailrace.types.spark import spark_type

Reading = Callable[[Offsets, Offsets, Views], ZSet]
"""What a log holds between two positions."""

_FUSED = 200
"""So many ticks of an upsert source are caught up with in one step."""


@dataclass(kw_only=True, slots=True, eq=False)
class LogInput:
    """An append-only source.  What was read in a tick is remembered until the tick ends, for the other readers."""

    node: Scan
    read: Reading  # rows, or dead letters, or progress
    start: Offsets
    log: TickLog
    views: Views
    positions: str  # the id under which the tick log knows the source
    watermarks: Watermarks | None = None
    rule: str = "append-only source"
    below: Sequence[Operator] = ()

    def advance(self, t: Tick) -> None:
        pass

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        return self.views.remember((id(self), lo, hi), lambda: self._read(lo, hi))

    def _read(self, lo: Tick, hi: Tick) -> ZSet:
        since = self.start if lo == BEGINNING else self.log.position(self.positions, lo)
        until = self.log.position(self.positions, hi)
        if all(until[p] <= since.get(p, 0) for p in until):
            return ZSet.empty(len(self.node.schema))
        return self.read(since, until, self.views)

    def traces(self) -> Sequence[Trace]:
        return ()


@dataclass(kw_only=True, slots=True, eq=False)
class UpsertInput:
    """A keyed source: a message replaces its predecessor of the same key, or deletes it.

    Δ = the last message of each key in the tick − what the trace holds for these keys.
    """

    node: Scan
    source: UpsertSource
    log: TickLog
    store: Store
    trace: Trace
    rule: str = "upsert source"
    below: Sequence[Operator] = ()

    def advance(self, t: Tick) -> None:
        upper = self.trace.upper
        if upper >= t:
            return
        ticks = self.log.positions(self.node.relation, upper, t)
        for first in range(0, len(ticks), _FUSED):
            self._absorb_ticks(ticks[first : first + _FUSED])
        self.trace.append(t, None)

    def _absorb_ticks(self, ticks: Sequence[tuple[Tick, Offsets]]) -> None:
        """Several ticks in one step."""
        upper = self.trace.upper
        since = self.source.start() if upper == BEGINNING else self.log.position(self.node.relation, upper)
        t, until = ticks[-1]
        if all(until[p] <= since.get(p, 0) for p in until):
            self.trace.append(t, None)
            return
        between = [offsets for _, offsets in ticks[:-1]]
        messages = self.source.messages(since, until, self.store.views, between)
        self._absorb(t, messages.sql, messages.rows)

    def _absorb(self, t: Tick, messages: str, rows: int) -> None:
        """`messages`: c0 …, and `deleted`, one row per key."""
        layout = self.trace.layout
        row = columns(layout.arity)
        hash = key_hash([f"c{i}" for i in self.source.key])
        fresh = f"SELECT {hash} AS h, {row}, CAST(NOT deleted AS bigint) AS weight FROM ({messages})"
        if not self.trace.runs:
            there = f"SELECT * FROM ({fresh}) WHERE weight > 0"
            change = ZSet(arity=layout.arity, sql=there, rows=rows, positive=True)
            absorb(self.store, self.trace, t, change, consolidated=True)
            return
        with self.store.staged(fresh, layout, rows) as run:
            if run is None:
                self.trace.append(t, None)
                return
            before = self.store.matching(self.trace, self.trace.upper, [run])
            exchanged = replaced(run, before, self.source.key, layout)
            if exchanged is not None:
                self.trace.append(t, self.store.settled_run(exchanged, layout, self.trace.upper, t))
                return
            both = f"SELECT h, {row}, weight FROM {run.view}"
            if before.sql is not None:
                same_key = " AND ".join(f"s.c{i} <=> k.c{i}" for i in self.source.key)
                both += (
                    f" UNION ALL (SELECT /*+ BROADCAST(k) */ s.h, {columns(layout.arity, 's.c')}, -s.weight AS weight"
                    f" FROM ({before.sql}) s LEFT SEMI JOIN {run.view} k ON s.h = k.h AND {same_key})"
                )
            absorb(self.store, self.trace, t, ZSet(arity=layout.arity, sql=both, rows=2 * rows))

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        return bare(self.trace.between(lo, hi))

    def change_here(self, lo: Tick, hi: Tick) -> pa.Table | None:
        return _bare_here(self.trace, lo, hi)

    def traces(self) -> Sequence[Trace]:
        return (self.trace,)


@dataclass(kw_only=True, slots=True, eq=False)
class TableInput:
    """A table: the changes that statements made, from the tick log.

    There is a trace for each number of columns that the table has had, and what is in the table is their sum: rows of
    fewer columns have NULL in the others, and who knows of fewer columns reads the rest of a row.  Both are linear.
    """

    node: Scan
    log: TickLog
    store: Store
    versions: list[Trace]  # shared by all that read the table, however many columns they know of
    rule: str = "table"
    below: Sequence[Operator] = ()

    @property
    def trace(self) -> Trace:
        """The one that is behind the others, if one is."""
        return min(self.versions, key=lambda trace: trace.upper)

    def read_as(self, scan: Scan) -> TableInput:
        """The same table for a reader that knows of fewer columns."""
        return self if len(scan.schema) == len(self.node.schema) else replace(self, node=scan)

    def advance(self, t: Tick) -> None:
        upper = self.trace.upper
        if upper >= t:
            return
        for tick, rows in self.log.changes(self.node.relation, upper, t):
            trace = next(each for each in self.versions if each.layout.arity == rows.num_columns - 1)
            if tick > trace.upper:
                run = self.store.settled_run(_with_hash(rows), trace.layout, trace.upper, tick)
                trace.append(tick, run)
        for trace in self.versions:
            trace.append(t, None)

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        none, *others = (self._fitting(trace.between(lo, hi)) for trace in self.versions)
        return none.plus(*others)

    def change_here(self, lo: Tick, hi: Tick) -> pa.Table | None:
        only = self.versions[0] if len(self.versions) == 1 else None
        return _bare_here(only, lo, hi) if only and only.layout.arity == len(self.node.schema) else None

    def _fitting(self, change: ZSet) -> ZSet:
        """Rows of other columns as rows of these."""
        width = len(self.node.schema)
        if change.sql is None or change.arity == width:
            return bare(change)
        missing = (f"CAST(NULL AS {spark_type(c.type)})" for c in self.node.schema[change.arity :])
        fitted = change.mapped([*(f"c{i}" for i in range(min(change.arity, width))), *missing])
        return replace(fitted, is_settled=fitted.is_settled and change.arity < width)

    def traces(self) -> Sequence[Trace]:
        return tuple(self.versions)


@dataclass(kw_only=True, slots=True, eq=False)
class ViewInput:
    """A materialized view read by another object: the operator of its query.

    Nobody advances it from here: whoever reads it comes after it, and goes no further than it has come.
    """

    node: Scan
    root: Operator
    rule: str = "materialized view"

    @property
    def below(self) -> Sequence[Operator]:
        return (self.root,)

    def advance(self, t: Tick) -> None:
        pass

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        return self.root.delta(lo, hi)

    def change_here(self, lo: Tick, hi: Tick) -> pa.Table | None:
        return self.root.change_here(lo, hi) if isinstance(self.root, Holding) else None

    def traces(self) -> Sequence[Trace]:
        return ()


def bare(change: ZSet) -> ZSet:
    """A trace's change without the hash column."""
    if change.sql is None:
        return change
    return replace(change, sql=f"SELECT {leading(change.arity)}weight FROM ({change.sql})")


def _bare_here(trace: Trace, lo: Tick, hi: Tick) -> pa.Table | None:
    rows = trace.here(lo, hi)
    return None if rows is None else rows.drop_columns(["h"])


def table_trace(store: Store, scan: Scan, width: int) -> Trace:
    """Of the rows that were written when the table had so many columns."""
    return open_trace(store, f"table {scan.relation}", Layout.of(scan.schema[:width]))


def together(rows: Sequence[pa.Table]) -> pa.Table:
    """Changes of one table; some may have been made before it got another column."""
    return pa.concat_tables(sorted(rows, key=lambda each: -each.num_columns), promote_options="default")


def upsert_trace(store: Store, scan: Scan) -> Trace:
    return open_trace(store, f"upsert source {scan.relation}", Layout.of(scan.schema))


def _with_hash(rows: pa.Table) -> pa.Table:
    """Tables are kept in one bucket: they are read whole."""
    if rows.schema.names[0] == "h":
        raise InternalError("table rows have a hash already")
    return rows.add_column(0, "h", pa.repeat(pa.scalar(0, pa.int64()), rows.num_rows))
