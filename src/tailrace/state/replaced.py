"""New rows in the place of old ones with the same key, by Arrow: for few rows that are on the driver already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.state.consolidate import can_consolidate
from tailrace.state.layout import Layout
from tailrace.state.matching import Matching
from tailrace.state.run import Run


def replaced(fresh: Run, before: Matching, key: Sequence[int], layout: Layout) -> pa.Table | None:
    """The rows of `fresh`, of which each key has one, minus those of `before` with the same keys.

    None if that is Spark's business: rows are not here, or two new keys share a hash.
    """
    if fresh.table is None or not before.is_here or not can_consolidate(layout):
        return None
    new, old = fresh.table, before.found
    order = np.argsort(new["h"].to_numpy(), kind="stable")
    hashes = new["h"].to_numpy()[order]
    if bool(np.any(hashes[1:] == hashes[:-1])):
        return None
    partners = new.take(pa.array(order[np.searchsorted(hashes, old["h"].to_numpy())]))
    gone = old
    for place in key:
        name = f"c{place}"
        same = _same(gone[name], partners[name])
        gone, partners = gone.filter(same), partners.filter(same)
    taken = gone.set_column(gone.schema.get_field_index("weight"), "weight", pc.negate(gone["weight"]))
    return pa.concat_tables([new, taken.cast(new.schema)])


def _same(a: pa.ChunkedArray, b: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.or_(pc.fill_null(pc.equal(a, b), False), pc.and_(pc.is_null(a), pc.is_null(b)))
