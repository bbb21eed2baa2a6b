"""Compaction: few runs instead of many, without a change of meaning.

Runs before `since` may be merged.  A run is merged into its elder neighbour when it has grown to half its size, so a
row is rewritten about log₂(n) times and a trace has about log₂(n) runs.  Small runs are merged on the driver by
Arrow and cost no job; a trace of Parquet runs is merged by one Spark job.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from tailrace.state.consolidate import can_consolidate, consolidate
from tailrace.state.run import Run
from tailrace.state.store import Store
from tailrace.state.trace import Trace

_MAX_SMALL_RUNS = 4


def compact(store: Store, trace: Trace) -> bool:
    """Merges what is worth merging.  Runs a Spark job only for runs too large for the driver; says if it did."""
    old = [run for run in trace.runs if run.hi <= trace.since]
    victims = _victims(old)
    if len(victims) < 2:
        return False
    large = any(run.table is None for run in victims)
    merged = _merge_large(store, trace, victims) if large else _merge_small(store, trace, victims)
    with trace.lock:
        at = trace.runs.index(victims[0])
        trace.runs = [*trace.runs[:at], *merged, *trace.runs[at + len(victims) :]]
    store.retire(victims)
    return large


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


def _merge_small(store: Store, trace: Trace, runs: list[Run]) -> list[Run]:
    table = pa.concat_tables([run.table for run in runs])
    if can_consolidate(trace.layout):
        table = consolidate(table, trace.layout)
    merged = store.run_of(table, trace.layout, runs[0].lo, runs[-1].hi)
    if merged is None:
        return []
    return [store.spill(merged, trace.layout)] if merged.rows > store.small_rows else [merged]


def _merge_large(store: Store, trace: Trace, runs: list[Run]) -> list[Run]:
    union = " UNION ALL ".join(f"SELECT {trace.layout.columns} FROM {run.view}" for run in runs)
    sql = f"SELECT * FROM ({trace.layout.consolidated(union)}) DISTRIBUTE BY h SORT BY h"
    merged = store.materialize(sql, trace.layout, runs[0].lo, runs[-1].hi, store.small_rows + 1)
    return [] if merged is None else [replace(merged, is_settled=True)]
