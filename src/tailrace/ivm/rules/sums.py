"""Sums before and after: what each touched group's additive columns were at one tick and are at a later one."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.ivm.zset import columns
from tailrace.state.layout import Layout
from tailrace.state.old_and_new import added_up, adds_up
from tailrace.state.store import Store
from tailrace.state.trace import Trace
from tailrace.types.core import Tick


@dataclass(frozen=True, kw_only=True, slots=True)
class Both:
    """`is_here`: the rows are a small table, which may be read twice."""

    sql: str
    is_here: bool


def before_and_after(store: Store, trace: Trace, lo: Tick, hi: Tick) -> Both | None:
    """Text with c0 …, and for each additive column `s` its sums `old_s` and `new_s`; touched groups only.

    None if no group was touched.  Reads the change and the old runs once each; groups are found by hash, so a group
    that merely shares one may appear, with equal sums.
    """
    runs = trace.runs_between(lo, hi)
    if not runs:
        return None
    before = store.matching(trace, lo, runs)
    if before.is_here and adds_up(runs, trace.layout):
        key = ("before and after", trace.id, lo, hi)
        table = added_up(runs, before.found, trace.layout)
        view = store.views.remember(key, lambda: store.views.add_arrow(table, _ddl(trace.layout)))
        return Both(sql=f"SELECT * FROM {view}", is_here=True)
    change = trace.between(lo, hi)
    sums = trace.layout.sums
    row = columns(trace.layout.arity)
    prefix = f"{row}, " if row else ""
    fresh = ", ".join(f"CAST(0 AS {type}) AS old_{name}, {name} AS new_{name}" for name, type in sums)
    parts = [f"SELECT {prefix}{fresh} FROM ({change.sql})"]
    if before.sql is not None:
        kept = ", ".join(f"{name} AS old_{name}, {name} AS new_{name}" for name, _ in sums)
        parts.append(f"SELECT {prefix}{kept} FROM ({before.sql})")
    union = " UNION ALL ".join(f"({part})" for part in parts)
    totals = ", ".join(
        f"CAST(sum({age}_{name}) AS {type}) AS {age}_{name}" for name, type in sums for age in ("old", "new")
    )
    group = f" GROUP BY {row}" if row else ""
    return Both(sql=f"SELECT {prefix}{totals} FROM ({union}){group}", is_here=False)


def _ddl(layout: Layout) -> str:
    parts = [f"c{i} {type}" for i, type in enumerate(layout.row)]
    return ", ".join([*parts, *(f"{age}_{name} {type}" for name, type in layout.sums for age in ("old", "new"))])
