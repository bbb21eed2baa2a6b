"""Sums before and after a change, added up by Arrow: for few rows that are on the driver already."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tailrace.state.consolidate import can_consolidate
from tailrace.state.layout import Layout
from tailrace.state.run import Run


def adds_up(runs: Sequence[Run], layout: Layout) -> bool:
    """Whether Arrow adds these runs up exactly as Spark does."""
    exact = all(type == "bigint" or type.startswith("decimal") for _, type in layout.sums)
    return exact and layout.arity > 0 and can_consolidate(layout) and all(run.table is not None for run in runs)


def added_up(runs: Sequence[Run], before: pa.Table, layout: Layout) -> pa.Table:
    """c0 …, and for each additive column `s` its sums `old_s`, from `before`, and `new_s`, with `runs` as well."""
    keys = [f"c{i}" for i in range(layout.arity)]
    tables = [_aged(run.table, keys, layout, old=False) for run in runs if run.table is not None]
    both = pa.concat_tables([*tables, _aged(before, keys, layout, old=True)])
    sums = both.schema.names[len(keys) :]
    grouped = both.group_by(keys, use_threads=False).aggregate([(name, "sum") for name in sums])
    grouped = grouped.rename_columns([name.removesuffix("_sum") for name in grouped.column_names])
    return grouped.select(both.schema.names).cast(both.schema).combine_chunks()


def _aged(table: pa.Table, keys: Sequence[str], layout: Layout, *, old: bool) -> pa.Table:
    columns = {key: table[key] for key in keys}
    for name in layout.sum_names:
        column = table[name]
        zeros = pa.repeat(pa.scalar(0).cast(column.type), len(column))
        columns[f"old_{name}"] = column if old else zeros
        columns[f"new_{name}"] = column
    return pa.table(columns)
