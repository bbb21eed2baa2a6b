"""EXPOSE PROGRESS AS: how far a source has been read at a tick, as rows.

One row for each partition from which something has been read: `[p,p]`, PostgreSQL's text of a range, and the offset
that is read next.  It is a function of the tick log, and shows the tick that the source's own rows show.
"""

from __future__ import annotations

from tailrace.ivm.views import Views
from tailrace.ivm.zset import ZSet
from tailrace.sources.contract import Offsets
from tailrace.types.core import TEXT, UINT8, Column, Schema

PROGRESS: Schema = (Column("partition", TEXT, nullable=False), Column("offset", UINT8, nullable=False))


def progress(since: Offsets, until: Offsets, views: Views) -> ZSet:
    """Δ = the rows of the new position − those of the old one, where they differ.  Runs no job."""
    moved = [p for p in sorted(until) if until[p] != since.get(p, 0)]
    rows = [(p, since[p], -1) for p in moved if since.get(p)] + [(p, until[p], 1) for p in moved]
    values = ", ".join(f"('[{p},{p}]', CAST({offset} AS decimal(20,0)), {weight}L)" for p, offset, weight in rows)
    text = f"SELECT c0, c1, weight FROM VALUES {values} AS t(c0, c1, weight)"
    return ZSet(arity=len(PROGRESS), sql=text, rows=len(rows))
