"""Anything else:  Δ(f(R)) = f(R′) − what was there before.  Slow, correct, and EXPLAIN says so.

The last rule: it covers every query that Spark can express, and recursions, which take a job a step: see
plan/recursion.py.  Its state is the previous result.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from tailrace.ivm.maps import has_map
from tailrace.ivm.operator import Operator, absorb
from tailrace.ivm.rules.arrange import repeated
from tailrace.ivm.rules.keyed import nothing
from tailrace.ivm.zset import ZSet, columns, leading
from tailrace.plan.fallible import plan_can_fail
from tailrace.plan.nodes import Node, Scan
from tailrace.plan.to_spark import render
from tailrace.state.layout import Layout, key_hash
from tailrace.state.store import Store
from tailrace.state.trace import Trace
from tailrace.types.core import BEGINNING, Schema, Tick


@dataclass(kw_only=True, slots=True, eq=False)
class Recompute:
    """`below`: the operators of the relations that the query scans, by catalog id."""

    node: Node
    inputs: dict[str, Operator]
    store: Store
    trace: Trace
    rule: str = "recompute everything"

    @property
    def below(self) -> Sequence[Operator]:
        return tuple(self.inputs.values())

    def advance(self, t: Tick) -> None:
        upper = self.trace.upper
        if upper >= t:
            return
        for operator in self.below:
            operator.advance(t)
        if upper > BEGINNING and all(operator.delta(upper, t).is_empty for operator in self.below):
            self.trace.append(t, None)
            return
        with ExitStack() as kept:
            absorb(self.store, self.trace, t, self._change(upper, t, kept))

    def _change(self, lo: Tick, hi: Tick, kept: ExitStack) -> ZSet:
        arity = len(self.node.schema)
        row = leading(arity)
        hash = key_hash([f"c{i}" for i, type in enumerate(self.trace.layout.row) if not has_map(type)])
        fresh = f"SELECT {hash} AS h, {row}CAST(1 AS bigint) AS weight FROM ({self.content(hi, kept)})"
        before = self.trace.between(BEGINNING, lo)
        both = fresh
        if before.sql is not None:
            both = f"({fresh}) UNION ALL (SELECT h, {row}-weight AS weight FROM ({before.sql}))"
        return ZSet(arity=arity, sql=both, rows=self._rows_read(hi) + before.rows)

    def _rows_read(self, t: Tick) -> int:
        return sum(operator.delta(BEGINNING, t).rows for operator in self.below)

    def content(self, t: Tick, kept: ExitStack) -> str:
        """The batch meaning at `t`, as text.  What it reads beside the inputs is there until `kept` is closed."""

        def leaf(scan: Scan) -> str:
            content = self.inputs[scan.relation].delta(BEGINNING, t).consolidated(scan.schema)
            if content.sql is None:
                return f"({nothing(scan)})"
            return f"({repeated(content.sql, content.arity, sealed=sealed)})"

        rows = self._rows_read(t)

        def keep(text: str, schema: Schema) -> str | None:
            nonlocal rows
            row = leading(len(schema))
            hashed = f"SELECT CAST(0 AS bigint) AS h, {row}CAST(1 AS bigint) AS weight FROM ({text})"
            run = kept.enter_context(self.store.staged(hashed, Layout.of(schema), rows))
            if run is None:
                return None
            rows = max(rows, run.rows)
            return f"SELECT {columns(len(schema)) or '1 AS one'} FROM {run.view}"

        sealed = plan_can_fail(self.node)
        return render(self.node, leaf, keep)

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        change = self.trace.between(lo, hi)
        if change.sql is None:
            return change
        return replace(change, sql=f"SELECT {leading(change.arity)}weight FROM ({change.sql})")

    def traces(self) -> Sequence[Trace]:
        return (self.trace,)
