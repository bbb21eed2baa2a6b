"""A trace: the history of one relation's changes under a key, as runs over ranges of ticks.  All state is traces.

The runs lie end to end:  (0, hi₁] (hi₁, hi₂] … (…, upper].  Before `since` single ticks can no longer be told apart;
after it every tick that had changes is a boundary.  Writing a run reads no old state, because addition commutes.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

import pyarrow as pa

from tailrace.errors import InternalError
from tailrace.ivm.tables import arrow_schema
from tailrace.ivm.zset import ZSet
from tailrace.state.layout import Layout
from tailrace.state.run import Run
from tailrace.types.core import BEGINNING, Tick


@dataclass(frozen=True, slots=True)
class Frozen:
    """What a trace was at some moment."""

    since: Tick
    upper: Tick
    runs: tuple[Run, ...]


@dataclass(kw_only=True, slots=True, eq=False)
class Trace:
    """`id` is a function of what the trace holds, so that a restart finds it again.

    `by_time`: the key is no hash but a time, and all times up to `since` are one.  `owner`: the cluster whose lane
    appends to it (ticks/lane.py); "" for the first one's, and for inputs.
    """

    id: str
    layout: Layout
    since: Tick = BEGINNING
    upper: Tick = BEGINNING
    runs: list[Run] = field(default_factory=list)
    by_time: bool = False
    owner: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def append(self, upper: Tick, run: Run | None) -> None:
        """Absorbs the ticks up to `upper`; no run if nothing changed."""
        if upper < self.upper:
            raise InternalError(f"trace {self.id} is at {self.upper} already, not at {upper}")
        with self.lock:
            if run is not None:
                self.runs = [*self.runs, run]
            self.upper = upper

    def freeze(self) -> Frozen:
        with self.lock:
            return Frozen(self.since, self.upper, tuple(self.runs))

    def between(self, lo: Tick, hi: Tick) -> ZSet:
        """The change from `lo` to `hi` with all columns of the layout, not consolidated.  Runs no job."""
        runs = self.runs_between(lo, hi)
        texts = [f"SELECT {self.layout.columns} FROM {run.view}" for run in runs]
        sql = " UNION ALL ".join(texts) if texts else None
        return ZSet(
            arity=self.layout.arity,
            sql=sql,
            rows=sum(run.rows for run in runs),
            positive=all(run.positive for run in runs),
            is_settled=len(runs) <= 1 and all(run.is_settled for run in runs),
        )

    def here(self, lo: Tick, hi: Tick) -> pa.Table | None:
        """The same change, if it is on the driver."""
        tables = [run.table for run in self.runs_between(lo, hi)]
        if any(table is None for table in tables):
            return None
        return pa.concat_tables([arrow_schema(self.layout.ddl).empty_table(), *tables]).combine_chunks()

    def runs_between(self, lo: Tick, hi: Tick) -> list[Run]:
        """The runs that make up the change from `lo` to `hi`."""
        if hi > self.upper or (lo < self.since and lo != BEGINNING):
            raise InternalError(f"trace {self.id} knows ({self.since}, {self.upper}], not ({lo}, {hi}]")
        runs = [run for run in self.runs if run.hi > lo and run.lo < hi]
        for run in runs:
            if run.lo < lo or run.hi > hi:
                raise InternalError(f"run ({run.lo}, {run.hi}] of trace {self.id} straddles ({lo}, {hi}]")
        return runs

    def knows(self, t: Tick) -> bool:
        """Can the relation be read as of `t`?"""
        return t <= self.upper and not any(run.lo < t < run.hi for run in self.runs)

    def rows_between(self, lo: Tick, hi: Tick) -> int:
        """An upper bound of the rows of a change."""
        return sum(run.rows for run in self.runs_between(lo, hi))

    def settled(self, lo: Tick, hi: Tick) -> ZSet:
        """The same change with each row once.  A single run of a trace of sums is that already; else one shuffle."""
        change = self.between(lo, hi)
        if change.sql is None or change.is_settled:
            return change
        return replace(change, sql=self.layout.consolidated(change.sql), is_settled=True)

    def allow_compaction(self, frontier: Tick) -> None:
        """Nobody will ask for single ticks before `frontier` any more."""
        self.since = max(self.since, min(frontier, self.upper))

    @property
    def rows(self) -> int:
        """Rows in all runs; an upper bound of the rows of the relation."""
        return sum(run.rows for run in self.runs)
