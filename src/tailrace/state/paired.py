"""Rows of two relations that meet under a hash, by Arrow: for few rows that are on the driver already."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

MOST_PAIRS = 100_000
"""More than these are Spark's business."""


def paired(left: pa.Table, right: pa.Table) -> pa.Table | None:
    """Each row of `left` beside each of `right` with the same `h`, weights multiplied: c0 …, `weight`.  None if there
    are too many."""
    order = np.argsort(right["h"].to_numpy(), kind="stable")
    hashes, wanted = right["h"].to_numpy()[order], left["h"].to_numpy()
    first = np.searchsorted(hashes, wanted, side="left")
    partners = np.searchsorted(hashes, wanted, side="right") - first
    pairs = int(partners.sum())
    if pairs > MOST_PAIRS:
        return None
    begins = np.cumsum(partners) - partners
    which = np.repeat(first - begins, partners) + np.arange(pairs)
    lefts = left.take(pa.array(np.repeat(np.arange(len(wanted)), partners)))
    rights = right.take(pa.array(order[which]))
    weight = lefts["weight"].to_numpy() * rights["weight"].to_numpy()
    columns = [table[name] for table in (lefts, rights) for name in table.schema.names if name not in ("h", "weight")]
    return pa.table([*columns, pa.array(weight)], [*(f"c{i}" for i in range(len(columns))), "weight"])
