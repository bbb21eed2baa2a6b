"""Compaction: few runs instead of many, without a change of meaning.

Runs before `since` may be merged.  A run is merged into its elder neighbour when it has grown to half its size, so a
row is rewritten about log₂(n) times and a trace has about log₂(n) runs.  Up to a quarter of a million rows are merged
on the driver by Arrow, which costs no job; more by a Spark job beside the ticks, which do not wait for it.

In a trace by time everything that happened before `since` happened then: a row that has come and gone is gone.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tailrace.ivm.tables import arrow_schema
from tailrace.state.consolidate import can_consolidate, consolidate
from tailrace.state.run import Run
from tailrace.state.store import Store
from tailrace.state.trace import Trace

_log = logging.getLogger("tailrace.state")

_MAX_SMALL_RUNS = 4
_MERGED_HERE = 250_000  # rows
_JOBS = "tailrace-compaction"


class Compactor:
    """Merges the runs of one store's traces.  Used by one thread; a Spark merge runs in another."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._worker: ThreadPoolExecutor | None = None
        self._merge: tuple[Trace, list[Run], Future[list[Run]]] | None = None

    def compact(self, trace: Trace) -> None:
        """Merges what is worth merging, now or beside what follows."""
        self._take()
        victims = _victims([run for run in trace.runs if run.hi <= trace.since])
        if len(victims) < 2 or (self._merge is not None and self._merge[0] is trace):
            return
        most = _MERGED_HERE if can_consolidate(trace.layout) else self._store.small_rows
        if sum(run.rows for run in victims) <= most:
            self._replace(trace, victims, _merge_here(self._store, trace, victims))
        elif self._merge is None:
            self._begin(trace, victims)

    def settle(self) -> None:
        """Returns when no merge is under way."""
        if self._merge is not None:
            self._merge[2].exception()
            self._take()

    def close(self) -> None:
        """Ends a merge that is under way; nothing needs it."""
        if self._worker is not None:
            self._store.views.large.sparkContext.cancelJobGroup(_JOBS)
            self._worker.shutdown(cancel_futures=True)
            self._worker = None

    def _begin(self, trace: Trace, victims: list[Run]) -> None:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="compaction")
        self._store.merging = True
        self._merge = trace, victims, self._worker.submit(_merge_by_spark, self._store, trace, victims)

    def _take(self) -> None:
        """Puts the result of a finished merge into its place."""
        if self._merge is None or not self._merge[2].done():
            return
        trace, victims, future = self._merge
        self._merge = None
        self._store.merging = False
        if future.exception() is not None:
            _log.warning("compaction failed trace=%s error=%s", trace.id, future.exception())
        elif self._store.traces.get(trace.id) is trace:
            self._replace(trace, victims, future.result())
        else:
            self._store.retire(future.result())  # the trace was dropped meanwhile

    def _replace(self, trace: Trace, victims: list[Run], merged: list[Run]) -> None:
        with trace.lock:
            at = next(i for i, run in enumerate(trace.runs) if run.id == victims[0].id)
            trace.runs = [*trace.runs[:at], *merged, *trace.runs[at + len(victims) :]]
        self._store.retire(victims)


def _victims(runs: list[Run]) -> list[Run]:
    """The longest tail of `runs` in which each run is at least half as large as all that follow it together."""
    start, size = len(runs) - 1, runs[-1].rows if runs else 0
    while start > 0 and runs[start - 1].rows <= 2 * size:
        start -= 1
        size += runs[start].rows
    small = [run for run in runs[start:] if run.table is not None]
    if len(small) == len(runs) - start and len(small) < _MAX_SMALL_RUNS:
        return []  # a few small runs are cheaper to read than to merge at every tick
    return runs[start:]


def _merge_here(store: Store, trace: Trace, runs: Sequence[Run]) -> list[Run]:
    schema = arrow_schema(trace.layout.ddl)
    tables = [run.table if run.table is not None else _read(run, schema) for run in runs]
    table = pa.concat_tables(tables)
    if trace.by_time:
        table = table.set_column(0, "h", pc.max_element_wise(table["h"], pa.scalar(trace.since, pa.int64())))
    settles = can_consolidate(trace.layout)
    table = consolidate(table, trace.layout) if settles else table
    merged = store.run_of(table, trace.layout, runs[0].lo, runs[-1].hi)
    if merged is None:
        return []
    merged = replace(merged, is_settled=settles, positive=_all_positive(runs))
    return [store.spill(merged, trace.layout)] if merged.rows > store.small_rows else [merged]


def _read(run: Run, schema: pa.Schema) -> pa.Table:
    return pq.read_table(run.path).select(schema.names).cast(schema)


def _merge_by_spark(store: Store, trace: Trace, runs: Sequence[Run]) -> list[Run]:
    with store.reading():
        store.views.large.sparkContext.setJobGroup(_JOBS, "compaction", interruptOnCancel=True)
        union = " UNION ALL ".join(f"SELECT {trace.layout.columns} FROM {run.view}" for run in runs)
        if trace.by_time:
            union = f"SELECT greatest(h, {trace.since}L) AS h, * EXCEPT (h) FROM ({union})"
        sql = f"SELECT * FROM ({trace.layout.consolidated(union)}) DISTRIBUTE BY h SORT BY h"
        merged = store.merged(sql, trace.layout, runs[0].lo, runs[-1].hi)
        if merged is not None:
            store.lookups.prepare(merged, arrow_schema(trace.layout.ddl))
    return [] if merged is None else [replace(merged, is_settled=True, positive=_all_positive(runs))]


def _all_positive(runs: Sequence[Run]) -> bool:
    return all(run.positive for run in runs)
