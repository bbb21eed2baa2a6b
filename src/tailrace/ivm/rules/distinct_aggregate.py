"""count(DISTINCT x) and its like, beside any aggregates of sums:  sums per (group, x), then sums per group.

The first trace knows how often each x stands in its group; the change of a group's sums is the change below it, and
for the DISTINCT aggregates one contribution for every x that appears or vanishes.  The input is read once for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tailrace.ivm.operator import Operator, absorb, open_trace
from tailrace.ivm.rules.aggregate import Sum, finalized, sums_of, weighted
from tailrace.ivm.rules.sums import before_and_after
from tailrace.ivm.zset import ZSet
from tailrace.plan.expressions import AggregateCall, Ref
from tailrace.plan.fallible import node_can_fail
from tailrace.plan.nodes import Aggregate
from tailrace.plan.to_spark import render_expression
from tailrace.state.layout import Layout, key_hash
from tailrace.state.store import Store
from tailrace.state.trace import Trace
from tailrace.types.core import BEGINNING, Tick
from tailrace.types.spark import spark_type


def covers(node: Aggregate) -> bool:
    """All DISTINCT aggregates are over the same one expression, without FILTER."""
    distinct = [call for call in node.aggregates if call.distinct]
    return (
        len({call.arguments for call in distinct}) == 1
        and all(call.filter is None and len(call.arguments) == 1 for call in distinct)
    )


@dataclass(kw_only=True, slots=True, eq=False)
class DistinctAdditive:
    """`plain` and `distinct`: the sums of either kind of aggregate; `sums` both, in the aggregates' order."""

    node: Aggregate
    input: Operator
    sums: tuple[tuple[Sum, ...], ...]
    store: Store
    pairs: Trace
    trace: Trace
    value: str
    rule: str = "sums per group, counts per distinct value"

    @property
    def below(self) -> Sequence[Operator]:
        return (self.input,)

    def traces(self) -> Sequence[Trace]:
        return (self.pairs, self.trace)

    @property
    def _plain(self) -> list[Sum]:
        both = zip(self.node.aggregates, self.sums, strict=True)
        return [s for call, sums in both if not call.distinct for s in sums]

    @property
    def _distinct(self) -> list[Sum]:
        return [s for call, sums in zip(self.node.aggregates, self.sums, strict=True) if call.distinct for s in sums]

    def advance(self, t: Tick) -> None:
        if self.pairs.upper < t:
            self.input.advance(t)
            absorb(self.store, self.pairs, t, self._pair_contributions(self.input.delta(self.pairs.upper, t)))
        if self.trace.upper < t:
            absorb(self.store, self.trace, t, self._contributions(self.trace.upper, t))

    def _pair_contributions(self, change: ZSet) -> ZSet:
        if change.sql is None:
            return change
        if node_can_fail(self.node):
            change = change.settled(self.input.node.schema)
        key = [*(f"c{i}" for i in self.node.group_by), self.value]
        keys = "".join(f"{place} AS c{i}, " for i, place in enumerate(key))
        added = "".join(f", {weighted(sum)}" for sum in self._plain)
        rows = f"SELECT {key_hash(key)} AS h, {keys}weight{added} FROM ({change.sql})"
        return ZSet(arity=len(key), sql=rows, rows=change.rows)

    def _contributions(self, lo: Tick, hi: Tick) -> ZSet:
        """What the change of the pairs adds to their groups."""
        groups = len(self.node.group_by)
        keys = "".join(f"c{i}, " for i in range(groups))
        hash = key_hash([f"c{i}" for i in range(groups)])
        if lo == BEGINNING:
            source = self.pairs.settled(lo, hi).sql
            moved = "CAST(weight > 0 AS int)"
            plain = "".join(f", {sum.name}" for sum in self._plain)
            weight = "weight"
        else:
            both = before_and_after(self.store, self.pairs, lo, hi)
            source = None if both is None else both.sql
            moved = "(CAST(new_weight > 0 AS int) - CAST(old_weight > 0 AS int))"
            plain = "".join(f", new_{sum.name} - old_{sum.name} AS {sum.name}" for sum in self._plain)
            weight = "new_weight - old_weight AS weight"
        if source is None:
            return ZSet.empty(groups)
        distinct = "".join(
            f", CAST({moved} * {sum.contribution} AS {sum.type}) AS {sum.name}" for sum in self._distinct
        )
        names = self.trace.layout.columns
        rows = f"SELECT {hash} AS h, {keys}{weight}{plain}{distinct} FROM ({source})"
        return ZSet(arity=groups, sql=f"SELECT {names} FROM ({rows})", rows=self.pairs.rows_between(lo, hi))

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        return finalized(self.store, self.node, self.sums, self.trace, lo, hi)


def build(store: Store, node: Aggregate, input: Operator) -> DistinctAdditive:
    places = [f"c{i}" for i in range(len(node.input.schema))]
    argument = next(call.arguments[0] for call in node.aggregates if call.distinct)
    groups = [node.input.schema[i] for i in node.group_by]
    # In the trace of pairs the value stands behind the group; the DISTINCT contributions are computed from there.
    sums = tuple(
        tuple(_over(f"c{len(groups)}", call, n) if call.distinct else sums_of(call, n, places))
        for n, call in enumerate(node.aggregates)
    )
    plain = [s for call, parts in zip(node.aggregates, sums, strict=True) if not call.distinct for s in parts]
    row = tuple(spark_type(c.type) for c in groups)
    pairs = Layout(
        row=(*row, spark_type(argument.type)), sums=(("weight", "bigint"), *((s.name, s.type) for s in plain))
    )
    totals = Layout(row=row, sums=(("weight", "bigint"), *((s.name, s.type) for parts in sums for s in parts)))
    return DistinctAdditive(
        node=node,
        input=input,
        sums=sums,
        store=store,
        pairs=open_trace(store, f"{node!r} pairs", pairs),
        trace=open_trace(store, repr(node), totals),
        value=render_expression(argument, places),
    )


def _over(place: str, call: AggregateCall, number: int) -> list[Sum]:
    """The sums of a DISTINCT aggregate, over a row in which the value is the column `place`."""
    value = call.arguments[0]
    only = replace(call, arguments=(Ref(index=0, type=value.type, nullable=value.nullable),))
    return sums_of(only, number, [place])
