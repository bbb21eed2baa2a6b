"""Operators that work key by key:  Δ(f(R)) = f(R′ of the touched keys) − f(R of the touched keys).

Outer, semi and anti joins, aggregates that cannot subtract, top-k per group, window functions, EXCEPT, INTERSECT: what
they say of one key depends only on the rows of that key.  Keys are told apart by their hash; two keys that share one
are recomputed together, which changes nothing.  Without a key everything is touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.ivm.rules.arrange import Arranged
from tailrace.ivm.zset import ZSet, leading
from tailrace.plan.fallible import node_can_fail
from tailrace.plan.nodes import Node, Scan
from tailrace.plan.to_spark import render
from tailrace.state.run import Run
from tailrace.state.trace import Trace
from tailrace.types.core import BEGINNING, Tick
from tailrace.types.spark import spark_type


@dataclass(kw_only=True, slots=True, eq=False)
class Keyed:
    """`pattern` is the node over Scans "0", "1" that stand for the arranged inputs `below`."""

    node: Node
    rule: str
    pattern: Node
    below: Sequence[Arranged]

    def advance(self, t: Tick) -> None:
        for side in self.below:
            side.advance(t)

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        arity = len(self.node.schema)
        rows = sum(side.delta(lo, hi).rows for side in self.below)
        if lo == BEGINNING:
            return ZSet(arity=arity, sql=self._after(hi, None, 1), rows=rows, positive=True)
        touched = [run for side in self.below for run in side.touched(lo, hi)]
        if not touched:
            return ZSet.empty(arity)
        both = f"({self._after(hi, touched, 1)}) UNION ALL ({self._after(lo, touched, -1)})"
        return ZSet(arity=arity, sql=f"SELECT * FROM ({both})", rows=2 * rows).consolidated(self.node.schema)

    def _after(self, t: Tick, touched: Sequence[Run] | None, weight: int) -> str:
        """What the operator says at `t` of the touched keys, each row with this weight."""

        def leaf(scan: Scan) -> str:
            side = self.below[int(scan.relation)]
            return f"({side.bag(t, touched, sealed=sealed) or nothing(side.node)})"

        sealed = node_can_fail(self.pattern)
        text = render(self.pattern, leaf)
        return f"SELECT {leading(len(self.node.schema))}CAST({weight} AS bigint) AS weight FROM ({text})"

    def traces(self) -> Sequence[Trace]:
        return tuple(side.trace for side in self.below)


def nothing(node: Node) -> str:
    """Text of a relation with this node's columns and no row."""
    nulls = [f"CAST(NULL AS {spark_type(c.type)}) AS c{i}" for i, c in enumerate(node.schema)] or ["1 AS one"]
    return f"SELECT {', '.join(nulls)} WHERE false"
