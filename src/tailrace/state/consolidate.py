"""Consolidation of rows that are on the driver: each row once, sums added, rows without sums gone."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.state.layout import Layout


def can_consolidate(layout: Layout) -> bool:
    """Arrow groups by plain values only; floats are left to Spark, where -0.0 and 0.0 are one group."""
    return not any("<" in type or type in ("float", "double") for type in layout.row)


def consolidate(table: pa.Table, layout: Layout) -> pa.Table:
    keys = ["h", *(f"c{i}" for i in range(layout.arity))]
    sums = list(layout.sum_names)
    grouped = table.group_by(keys, use_threads=False).aggregate([(name, "sum") for name in sums])
    grouped = grouped.rename_columns([name.removesuffix("_sum") for name in grouped.column_names])
    some = None
    for name in sums:
        zero = pa.scalar(0, pa.int64()).cast(grouped.schema.field(name).type)
        nonzero = pc.not_equal(grouped[name], zero)
        some = nonzero if some is None else pc.or_(some, nonzero)
    return grouped.filter(some).select([*keys, *sums]).cast(table.schema)
