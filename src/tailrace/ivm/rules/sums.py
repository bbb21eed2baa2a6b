"""Sums before and after: what each touched group's additive columns were at one tick and are at a later one."""

from __future__ import annotations

from tailrace.ivm.zset import columns
from tailrace.state.store import Store
from tailrace.state.trace import Trace
from tailrace.types.core import Tick


def before_and_after(store: Store, trace: Trace, lo: Tick, hi: Tick) -> str | None:
    """Text with c0 …, and for each additive column `s` its sums `old_s` and `new_s`; touched groups only.

    None if no group was touched.  Reads the change and the old runs once each; groups are found by hash, so a group
    that merely shares one may appear, with equal sums.
    """
    change = trace.between(lo, hi)
    if change.sql is None:
        return None
    sums = trace.layout.sums
    row = columns(trace.layout.arity)
    prefix = f"{row}, " if row else ""
    fresh = ", ".join(f"CAST(0 AS {type}) AS old_{name}, {name} AS new_{name}" for name, type in sums)
    parts = [f"SELECT {prefix}{fresh} FROM ({change.sql})"]
    before = store.matching(trace, lo, trace.runs_between(lo, hi))
    if before.sql is not None:
        kept = ", ".join(f"{name} AS old_{name}, {name} AS new_{name}" for name, _ in sums)
        parts.append(f"SELECT {prefix}{kept} FROM ({before.sql})")
    union = " UNION ALL ".join(f"({part})" for part in parts)
    totals = ", ".join(
        f"CAST(sum({age}_{name}) AS {type}) AS {age}_{name}" for name, type in sums for age in ("old", "new")
    )
    group = f" GROUP BY {row}" if row else ""
    return f"SELECT {prefix}{totals} FROM ({union}){group}"
