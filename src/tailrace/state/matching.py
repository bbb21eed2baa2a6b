"""The part of a trace that a change touches: the rows under the change's hashes, and others at most by chance.

A change that is on the driver is looked up there (lookup.py), and what it touches becomes a small relation of its own;
otherwise, and for runs without an index, Spark scans for it with the hashes sent to every task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.ivm.tables import arrow_schema
from tailrace.ivm.views import Views
from tailrace.state.lookup import Hashes, Lookups
from tailrace.state.run import Run, ViewName
from tailrace.state.trace import Trace
from tailrace.types.core import BEGINNING, Tick

MOST_HASHES = 100_000
"""A change that touches more is none for the driver."""

MOST_FOUND = 100_000
"""More rows than these are left to Spark, however few hashes they are under."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Matching:
    """Rows with the layout's columns, not consolidated: `found` on the driver, and what Spark must scan for.

    `rows` is an upper guess.
    """

    found: pa.Table
    scan: str | None
    rows: int
    name: ViewName

    @property
    def is_here(self) -> bool:
        """All of it is in `found`."""
        return self.scan is None

    @property
    def sql(self) -> str | None:
        """As Spark text; None if there are no rows."""
        here = [f"SELECT * FROM {self.name.get()}"] if self.found.num_rows else []
        texts = [*here, *([self.scan] if self.scan else [])]
        return " UNION ALL ".join(texts) if texts else None

    @staticmethod
    def between(
        views: Views, lookups: Lookups, trace: Trace, runs: Sequence[Run], after: Tick, until: Tick
    ) -> Matching:
        """The rows of some runs of a trace by time with after < h ≤ until.  Runs no job."""
        schema = arrow_schema(trace.layout.ddl)
        found: list[pa.RecordBatch] = []
        scanned: list[Run] = []
        for run in runs:
            index = lookups.of(run, schema) if views.in_scratch else None
            batches = None if index is None else index.between(after, until, MOST_FOUND)
            if batches is None:
                scanned.append(run)
            else:
                found += batches
        table = pa.Table.from_batches(found, schema).combine_chunks()
        rows = " UNION ALL ".join(f"SELECT {trace.layout.columns} FROM {run.view}" for run in scanned)
        return Matching(
            found=table,
            scan=f"(SELECT * FROM ({rows}) WHERE h > {after}L AND h <= {until}L)" if scanned else None,
            rows=table.num_rows + sum(run.rows for run in scanned),
            name=ViewName(lambda: views.add_arrow(table, trace.layout.ddl)),
        )

    @staticmethod
    def find(views: Views, lookups: Lookups, trace: Trace, t: Tick, touched: Sequence[Run]) -> Matching:
        """Looks on the driver for whatever can be found there.  Runs no job."""
        runs = trace.runs_between(BEGINNING, t)
        hashes = _hashes(touched) if views.in_scratch else None
        found: list[pa.RecordBatch] = []
        scanned: list[Run] = []
        schema = arrow_schema(trace.layout.ddl)
        for run in runs:
            index = lookups.of(run, schema) if hashes is not None else None
            batches = index.find(hashes, MOST_FOUND) if index is not None and hashes is not None else None
            if batches is None:
                scanned.append(run)
            else:
                found += batches
        table = pa.Table.from_batches(found, schema).combine_chunks()
        return Matching(
            found=table,
            scan=_scan(trace.layout.columns, scanned, touched) if scanned and touched else None,
            rows=table.num_rows + sum(run.rows for run in scanned),
            name=ViewName(lambda: views.add_arrow(table, trace.layout.ddl)),
        )


def _hashes(touched: Sequence[Run]) -> Hashes | None:
    tables = [run.table for run in touched]
    if any(table is None for table in tables) or sum(run.rows for run in touched) > MOST_HASHES:
        return None
    columns = [table["h"].to_numpy() for table in tables if table is not None]
    return np.unique(np.concatenate(columns)) if columns else np.array([], np.int64)


def _scan(columns: str, runs: Sequence[Run], touched: Sequence[Run]) -> str:
    rows = " UNION ALL ".join(f"SELECT {columns} FROM {run.view}" for run in runs)
    hashes = " UNION ALL ".join(f"SELECT h FROM {run.view}" for run in touched)
    return f"(SELECT /*+ BROADCAST(k) */ s.* FROM ({rows}) s LEFT SEMI JOIN ({hashes}) k ON s.h = k.h)"
