"""Rows while their time lasts:  R(t) = Σ of what is due by t;  Δ = what becomes due, of old rows and of new ones.

A row that is there from tick b on, until tick e, is two events: it comes at b and goes at e.  The trace holds events
under their time, so a tick reads what is due and nothing else.  The result depends on the ticks' logged times alone,
so that a replay gives the same changes at the same ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tailrace.ivm.operator import Operator, absorb, open_trace
from tailrace.ivm.zset import ZSet, leading
from tailrace.plan.build import conjunction
from tailrace.plan.expressions import Expression
from tailrace.plan.fallible import node_can_fail
from tailrace.plan.nodes import Filter, Node
from tailrace.plan.temporal import bounds, is_temporal
from tailrace.plan.to_spark import render_expression
from tailrace.state.layout import Layout
from tailrace.state.store import Store
from tailrace.state.trace import Trace
from tailrace.types.core import BEGINNING, Tick

_NEVER = f"{2**63 - 1}L"


@dataclass(kw_only=True, slots=True, eq=False)
class Temporal:
    """`begin` and `end`: Spark text over c0 …, the first tick at which the row is there and the first at which it is
    no more; NULL if that is so of any bound.  Without `end` it stays."""

    node: Filter
    input: Operator
    begin: str
    end: str | None
    store: Store
    trace: Trace
    rule: str = "rows while their time lasts"

    @property
    def below(self) -> Sequence[Operator]:
        return (self.input,)

    def traces(self) -> Sequence[Trace]:
        return (self.trace,)

    def advance(self, t: Tick) -> None:
        upper = self.trace.upper
        if upper >= t:
            return
        self.input.advance(t)
        absorb(self.store, self.trace, t, self._events(self.input.delta(upper, t)))

    def _events(self, change: ZSet) -> ZSet:
        """When each row of the change comes and goes."""
        if change.sql is None:
            return change
        if node_can_fail(self.node):
            change = change.settled(self.input.node.schema)
        row = leading(change.arity)
        end = f", {self.end} AS e" if self.end is not None else f", {_NEVER} AS e"
        rows = f"SELECT {row}weight, {self.begin} AS b{end} FROM ({change.sql})"
        coming = "named_struct('h', b, 'w', weight)"
        going = ", named_struct('h', e, 'w', -weight)" if self.end is not None else ""
        sql = (
            f"SELECT x.h, {row}x.w AS weight FROM (SELECT {row}inline(array({coming}{going})) AS (h, w)"
            f" FROM ({rows}) WHERE b < e) x"
        )
        return ZSet(arity=change.arity, sql=sql, rows=2 * change.rows)

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        arity = self.trace.layout.arity
        parts = [
            ZSet(arity=arity, sql=f"SELECT {leading(arity)}weight FROM ({found.sql})", rows=found.rows)
            for found in self.store.due(self.trace, lo, hi)
            if found.sql is not None
        ]
        change = ZSet.empty(arity).plus(*parts)
        return change if change.is_empty else replace(change, positive=False)

    def due(self, t: Tick) -> Tick | None:
        return self.store.first_due(self.trace, t)


def covers(node: Filter) -> bool:
    return is_temporal(node) and bounds(node.predicate) is not None


def build(store: Store, node: Filter, below: Callable[[Node], Operator]) -> Temporal:
    found = bounds(node.predicate)
    assert found is not None
    rows = Filter(input=node.input, predicate=conjunction(found.plain)) if found.plain else node.input
    places = [f"c{i}" for i in range(len(node.schema))]
    trace = open_trace(store, f"{node!r} by time", Layout.of(node.schema))
    trace.by_time = True
    return Temporal(
        node=node,
        input=below(rows),
        begin=_extreme("greatest", [f"{BEGINNING}L", *(_limit(*each, places) for each in found.begins)]),
        end=_extreme("least", [_limit(*each, places) for each in found.ends]) if found.ends else None,
        store=store,
        trace=trace,
    )


def _limit(limit: Expression, add: int, places: Sequence[str]) -> str:
    """The limit, or the tick after it; there is none after the last."""
    text = render_expression(limit, places)
    return f"CASE WHEN {text} = {_NEVER} THEN {_NEVER} ELSE {text} + {add}L END" if add else text


def _extreme(function: str, texts: list[str]) -> str:
    """The greatest or least of all; NULL if any is, which Spark's own would pass over."""
    if len(texts) == 1:
        return texts[0]
    nulls = " OR ".join(f"({text}) IS NULL" for text in texts)
    return f"CASE WHEN {nulls} THEN NULL ELSE {function}({', '.join(texts)}) END"
