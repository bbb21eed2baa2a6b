"""EXPOSE PROGRESS AS: how far a source has been read at a tick, as rows.

One row for each partition from which something has been read: the range `[p,p]`, and the offset that is read next.  It
is a function of the tick log, and shows the tick that the source's own rows show.
"""

from __future__ import annotations

from tailrace.ivm.views import Views
from tailrace.ivm.zset import ZSet
from tailrace.sources.contract import Offsets
from tailrace.types.core import RANGES, UINT8, Column, Schema
from tailrace.types.spark import spark_type

_RANGE = RANGES["numrange"]
PROGRESS: Schema = (Column("partition", _RANGE, nullable=False), Column("offset", UINT8, nullable=False))

_BOUND = f"CAST(p AS {spark_type(_RANGE.element)})"
_ONE_NUMBER = (
    f"CAST(named_struct('holds', true, 'lower', {_BOUND}, 'after', false, 'endless', false, 'upper', {_BOUND},"
    f" 'until', true) AS {spark_type(_RANGE)})"
)
"""The range that holds nothing but `p`."""


def progress(since: Offsets, until: Offsets, views: Views) -> ZSet:
    """Δ = the rows of the new position − those of the old one, where they differ.  Runs no job."""
    moved = [p for p in sorted(until) if until[p] != since.get(p, 0)]
    rows = [(p, since[p], -1) for p in moved if since.get(p)] + [(p, until[p], 1) for p in moved]
    values = ", ".join(f"({p}, CAST({offset} AS decimal(20,0)), {weight}L)" for p, offset, weight in rows)
    text = f"SELECT {_ONE_NUMBER} AS c0, c1, weight FROM VALUES {values} AS t(p, c1, weight)"
    return ZSet(arity=len(PROGRESS), sql=text, rows=len(rows))
