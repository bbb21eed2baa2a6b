"""Aggregates of sums:  state is Σ weight·contribution per group;  Δ = finalize(new sums) − finalize(old sums).

count, sum, avg, bool_and … over exact numbers are functions of sums, and sums add: a tick's contribution is appended
without reading the state, and only the touched groups are read for the output.  DISTINCT is the same rule with no
aggregates: a row is there while its weight is above zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tailrace.ivm.operator import Operator, absorb, open_trace
from tailrace.ivm.rules.sums import before_and_after
from tailrace.ivm.zset import ZSet, leading
from tailrace.plan.expressions import AggregateCall
from tailrace.plan.fallible import node_can_fail
from tailrace.plan.functions.additive import Additive as AdditiveFunction
from tailrace.plan.functions.aggregates import additive
from tailrace.plan.nodes import Aggregate
from tailrace.plan.to_spark import render_expression
from tailrace.state.layout import Layout, key_hash
from tailrace.state.store import Store
from tailrace.state.trace import Trace
from tailrace.types.core import BEGINNING, Tick
from tailrace.types.spark import spark_type


@dataclass(frozen=True, kw_only=True, slots=True)
class Sum:
    """One additive column: its name, its Spark type, and the text of what one input row adds to it."""

    name: str
    type: str
    contribution: str


def as_sums(call: AggregateCall) -> AdditiveFunction | None:
    """How the aggregate is made of sums, whether over all values or over the distinct ones; None if it is not."""
    return additive(replace(call, distinct=False))


def sums_of(call: AggregateCall, number: int, places: Sequence[str]) -> list[Sum]:
    """The additive columns behind one aggregate, over an input row whose columns are `places`."""
    rule = as_sums(call)
    assert rule is not None
    texts = [render_expression(argument, places) for argument in call.arguments]
    found = []
    for i, part in enumerate(rule.contributions(call, texts)):
        if call.filter is not None:
            part = part.filtered(render_expression(call.filter, places))
        found.append(Sum(name=f"a{number}_{i}", type=part.ddl, contribution=f"CAST({part.text} AS {part.ddl})"))
    return found


def weighted(sum: Sum, weight: str = "weight") -> str:
    """What a row of this weight adds.  Most rows have weight one."""
    product = f"CASE WHEN {weight} = 1 THEN {sum.contribution} ELSE {weight} * {sum.contribution} END"
    return f"CAST({product} AS {sum.type}) AS {sum.name}"


@dataclass(kw_only=True, slots=True, eq=False)
class Additive:
    """`sums[i]`: the additive columns of the i-th aggregate."""

    node: Aggregate
    input: Operator
    sums: tuple[tuple[Sum, ...], ...]
    store: Store
    trace: Trace
    rule: str = "sums per group"

    @property
    def below(self) -> Sequence[Operator]:
        return (self.input,)

    def traces(self) -> Sequence[Trace]:
        return (self.trace,)

    def advance(self, t: Tick) -> None:
        if self.trace.upper >= t:
            return
        self.input.advance(t)
        absorb(self.store, self.trace, t, self._contributions(self.input.delta(self.trace.upper, t)))

    def _contributions(self, change: ZSet) -> ZSet:
        if change.sql is None:
            return change
        if node_can_fail(self.node):
            change = change.settled(self.input.node.schema)
        group = [f"c{i}" for i in self.node.group_by]
        keys = "".join(f"{place} AS c{i}, " for i, place in enumerate(group))
        added = "".join(f", {weighted(sum)}" for sums in self.sums for sum in sums)
        rows = f"SELECT {key_hash(group)} AS h, {keys}weight{added} FROM ({change.sql})"
        return ZSet(arity=len(group), sql=rows, rows=change.rows)

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        return finalized(self.store, self.node, self.sums, self.trace, lo, hi)


def finalized(
    store: Store, node: Aggregate, sums: tuple[tuple[Sum, ...], ...], trace: Trace, lo: Tick, hi: Tick
) -> ZSet:
    """The change of an aggregate's rows that the change of its sums means."""
    arity = len(node.schema)
    if lo == BEGINNING:
        return _content(node, sums, trace, hi)
    both = before_and_after(store, trace, lo, hi)
    if both is None:
        return ZSet.empty(arity)
    old, new = (_row(node, sums, age) for age in ("old_", "new_"))
    was, is_ = ("old_weight > 0", "new_weight > 0") if node.group_by else ("true", "true")
    changed = " OR ".join(f"NOT ({a} <=> {b})" for a, b in zip(old, new, strict=True) if a != b) or "false"
    moves = f"({was}) <> ({is_}) OR {changed}"
    rows = 2 * trace.rows_between(lo, hi)
    if both.is_here:
        # Spark computes this by planning it; a generator it runs.  No constant weights: see _content.
        gone, come = (
            f"SELECT {_named(row)}CASE WHEN {here} THEN {weight}L ELSE 0L END AS weight FROM ({both.sql})"
            f" WHERE ({moves}) AND {here}"
            for weight, here, row in ((-1, was, old), (1, is_, new))
        )
        return ZSet(arity=arity, sql=f"({gone}) UNION ALL ({come})", rows=rows, is_settled=True)
    texts = [
        f"named_struct('weight', CAST({weight} AS bigint), 'here', {here}{_fields(row)})"
        for weight, here, row in ((-1, was, old), (1, is_, new))
    ]
    sql = (
        f"SELECT {leading(arity, 'x.c')}x.weight FROM (SELECT inline_outer(array({', '.join(texts)})) FROM ({both.sql})"
        f" WHERE {moves}) x WHERE x.here"
    )
    return ZSet(arity=arity, sql=sql, rows=rows, is_settled=True)


def _content(node: Aggregate, sums: tuple[tuple[Sum, ...], ...], trace: Trace, t: Tick) -> ZSet:
    content = trace.between(BEGINNING, t)
    arity = len(node.schema)
    outputs = _named(_row(node, sums, ""))
    one = "CAST(1 AS bigint)"
    if content.sql is None:
        if node.group_by:
            return ZSet.empty(arity)
        zeros = ", ".join(f"CAST(0 AS {type}) AS {name}" for name, type in trace.layout.sums)
        groups = f"SELECT {zeros}"
    elif node.group_by:
        groups = f"SELECT * FROM ({trace.settled(BEGINNING, t).sql}) WHERE weight > 0"
        one = "least(weight, 1L)"  # not a constant: Spark would ask a condition above before the weights are summed
    else:
        totals = ", ".join(f"CAST(coalesce(sum({n}), 0) AS {t}) AS {n}" for n, t in trace.layout.sums)
        groups = f"SELECT {totals} FROM ({content.sql})"
    sql = f"SELECT {outputs}{one} AS weight FROM ({groups})"
    return ZSet(arity=arity, sql=sql, rows=content.rows + 1, positive=True)


def _row(node: Aggregate, sums: tuple[tuple[Sum, ...], ...], age: str) -> list[str]:
    """Texts of the output row, from sums whose names begin with `age`."""
    outputs = [f"c{i}" for i in range(len(node.group_by))]
    for call, parts in zip(node.aggregates, sums, strict=True):
        rule = as_sums(call)
        assert rule is not None
        text = rule.finalize(call, [f"{age}{part.name}" for part in parts])
        outputs.append(f"CAST({text} AS {spark_type(call.type)})")
    return outputs


def _named(row: list[str]) -> str:
    return "".join(f"{text} AS c{i}, " for i, text in enumerate(row))


def _fields(row: list[str]) -> str:
    return "".join(f", 'c{i}', {text}" for i, text in enumerate(row))


def build(store: Store, node: Aggregate, input: Operator) -> Additive:
    places = [f"c{i}" for i in range(len(node.input.schema))]
    sums = tuple(tuple(sums_of(call, n, places)) for n, call in enumerate(node.aggregates))
    layout = Layout.of(
        tuple(node.input.schema[i] for i in node.group_by), [(s.name, s.type) for parts in sums for s in parts]
    )
    return Additive(node=node, input=input, sums=sums, store=store, trace=open_trace(store, repr(node), layout))
