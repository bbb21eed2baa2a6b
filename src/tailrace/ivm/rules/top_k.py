"""Top-k per group of rows that only ever arrive:  new = top(old ∪ ΔR);  Δ = new − old.

A row that is beaten can never come back when nothing is taken away, so the state is the result itself, not the input.
Inputs that also retract go through keyed.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tailrace.ivm.operator import Operator, absorb, open_trace
from tailrace.ivm.rules.arrange import repeated
from tailrace.ivm.zset import ZSet, leading
from tailrace.plan.nodes import Scan, TopK
from tailrace.plan.to_spark import render
from tailrace.state.layout import Layout, key_hash
from tailrace.state.run import Run
from tailrace.state.store import Store
from tailrace.state.trace import Trace
from tailrace.types.core import Tick


@dataclass(kw_only=True, slots=True, eq=False)
class AppendOnlyTopK:
    """`trace` holds the rows that are among the first k of their partition."""

    node: TopK
    input: Operator
    store: Store
    trace: Trace
    rule: str = "top k of append-only rows"

    @property
    def below(self) -> Sequence[Operator]:
        return (self.input,)

    def traces(self) -> Sequence[Trace]:
        return (self.trace,)

    def advance(self, t: Tick) -> None:
        if self.trace.upper >= t:
            return
        self.input.advance(t)
        arriving = self.input.delta(self.trace.upper, t)
        upper = self.trace.upper
        if arriving.sql is None:
            self.trace.append(t, None)
            return
        fresh = self._under_key(self._top(repeated(arriving.sql, arriving.arity)))
        if not self.trace.runs:
            first = ZSet(arity=arriving.arity, sql=fresh, rows=arriving.rows, positive=True)
            absorb(self.store, self.trace, t, first, consolidated=True)
            return
        with self.store.staged(fresh, self.trace.layout, arriving.rows) as run:
            absorb(self.store, self.trace, t, ZSet.empty(arriving.arity) if run is None else self._merged(run, upper))

    def _under_key(self, rows: str) -> str:
        hash = key_hash([f"c{i}" for i in self.node.partition_by])
        return f"SELECT {hash} AS h, {leading(len(self.node.schema))}CAST(1 AS bigint) AS weight FROM ({rows})"

    def _merged(self, fresh: Run, upper: Tick) -> ZSet:
        """The first rows of the touched partitions among old and fresh ones, minus the old ones."""
        layout = self.trace.layout
        touched = self.store.matching(self.trace, upper, [fresh])
        if touched.sql is None:
            rows = f"SELECT {layout.columns} FROM {fresh.view}"
            return ZSet(arity=layout.arity, sql=rows, rows=fresh.rows)
        old = layout.consolidated(touched.sql)
        names = layout.columns
        candidates = f"SELECT {names} FROM {fresh.view} UNION ALL SELECT {names} FROM ({old})"
        best = self._under_key(self._top(repeated(candidates, layout.arity)))
        negated = f"SELECT h, {leading(layout.arity)}-weight AS weight FROM ({old})"
        change = f"({best}) UNION ALL ({negated})"
        return ZSet(arity=layout.arity, sql=change, rows=2 * fresh.rows)

    def _top(self, bag: str) -> str:
        scan = Scan(relation="rows", schema=self.node.schema)
        return render(replace(self.node, input=scan), lambda _: f"({bag})")

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        change = self.trace.between(lo, hi)
        if change.sql is None:
            return change
        return replace(change, sql=f"SELECT {leading(change.arity)}weight FROM ({change.sql})")


def build(store: Store, node: TopK, input: Operator) -> AppendOnlyTopK:
    trace = open_trace(store, f"{node!r} of append-only rows", Layout.of(node.schema))
    return AppendOnlyTopK(node=node, input=input, store=store, trace=trace)
