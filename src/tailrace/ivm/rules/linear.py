"""Filter, project, unnest, UNION ALL, constants:  Δ(f(R)) = f(ΔR).  No state.

A whole stack of such nodes is one Spark text, so that a JSON document is parsed once however many columns, filters
and views look into it.  The weight travels as one more column, behind the last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tailrace.ivm.operator import Operator, Stateless
from tailrace.ivm.zset import ZSet, leading
from tailrace.plan.build import FALSE, call
from tailrace.plan.expressions import Case, Expression, Literal, Ref
from tailrace.plan.fallible import can_fail, plan_can_fail
from tailrace.plan.functions.operators import NOT_EQUALS
from tailrace.plan.nodes import Filter, FlatMap, Node, Project, Scan, Union, Values
from tailrace.plan.to_spark import render
from tailrace.plan.walk import has_own_subquery
from tailrace.types.core import BEGINNING, BIGINT, BOOLEAN, Column, Tick

_WEIGHT = Column("weight", BIGINT, nullable=False)


def is_linear(node: Node) -> bool:
    """A subquery reads relations of its own: what it says of a row may change though the row does not."""
    return isinstance(node, Filter | Project | FlatMap | Union | Values) and not has_own_subquery(node)


@dataclass(frozen=True, kw_only=True, slots=True)
class Linear(Stateless):
    """`segment`: the stack of linear nodes, over Scans that stand for the operators `below`, by number."""

    segment: Node

    @property
    def can_fail(self) -> bool:
        return plan_can_fail(self.segment)

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        changes = [operator.delta(lo, hi) for operator in self.below]
        if self.can_fail:
            changes = [change.settled() for change in changes]
        constants = lo == BEGINNING  # constant rows came into being before every tick
        segment = _weighted(_without_empty(self.segment, changes, constants))
        arity = len(self.node.schema)
        if isinstance(segment, Values) and not segment.rows:
            return ZSet.empty(arity)
        text = render(segment, lambda scan: _leaf(changes[int(scan.relation)]))
        return ZSet(
            arity=arity,
            sql=f"SELECT {leading(arity)}c{arity} AS weight FROM ({text})",
            rows=sum(change.rows for change in changes) + 1000 * constants,
            positive=all(change.positive for change in changes),
            is_settled=all(change.is_settled or change.is_empty for change in changes),
        )


def build(node: Node, below: Callable[[Node], Operator]) -> Linear:
    operators: list[Operator] = []

    def cut(inner: Node) -> Node:
        match inner:
            case Filter() | Project() | FlatMap() if is_linear(inner):
                return replace(inner, input=cut(inner.input))
            case Union():
                return replace(inner, inputs=tuple(cut(each) for each in inner.inputs))
            case Values() if is_linear(inner):
                return inner
            case _:
                operators.append(below(inner))
                return Scan(relation=str(len(operators) - 1), schema=inner.schema)

    segment = cut(node)
    return Linear(node=node, rule="linear", below=tuple(operators), segment=segment)


def _without_empty(node: Node, changes: list[ZSet], constants: bool) -> Node:
    """The segment without the branches that nothing changed in.  Nothing left: Values without rows."""
    nothing = Values(rows=(), schema=node.schema)
    match node:
        case Scan():
            return nothing if changes[int(node.relation)].is_empty else node
        case Values():
            return node if constants else nothing
        case Union():
            kept = [_without_empty(each, changes, constants) for each in node.inputs]
            kept = [each for each in kept if not _is_nothing(each)]
            if len(kept) <= 1:
                return kept[0] if kept else nothing
            return replace(node, inputs=tuple(kept))
        case Filter() | Project() | FlatMap():
            inner = _without_empty(node.input, changes, constants)
            return nothing if _is_nothing(inner) else replace(node, input=inner)
        case _:
            raise TypeError(node)


def _is_nothing(node: Node) -> bool:
    return isinstance(node, Values) and not node.rows


def _weighted(node: Node) -> Node:
    """The same segment with the weight as a last column."""
    arity = len(node.schema)
    match node:
        case Scan():
            return replace(node, schema=(*node.schema, _WEIGHT))
        case Values():
            one = Literal(text="1", type=BIGINT)
            return Values(rows=tuple((*row, one) for row in node.rows), schema=(*node.schema, _WEIGHT))
        case Filter():
            weight = Ref(index=arity, type=BIGINT, nullable=False)
            return Filter(input=_weighted(node.input), predicate=_for_rows_there(node.predicate, weight))
        case Project():
            weight = Ref(index=len(node.input.schema), type=BIGINT, nullable=False)
            return Project(
                input=_weighted(node.input),
                expressions=(*node.expressions, weight),
                names=(*node.names, "weight"),
            )
        case Union():
            return replace(node, inputs=tuple(_weighted(each) for each in node.inputs))
        case FlatMap():
            inner = len(node.input.schema)
            flat = replace(node, input=_weighted(node.input))
            order = [*range(inner), *range(inner + 1, arity + 1), inner]
            refs = (Ref(index=i, type=flat.schema[i].type, nullable=flat.schema[i].nullable) for i in order)
            return Project(input=flat, expressions=tuple(refs), names=tuple(flat.schema[i].name for i in order))
        case _:
            raise TypeError(node)


def _for_rows_there(predicate: Expression, weight: Expression) -> Expression:
    """A condition that Spark cannot ask before weights are summed, if it can fail: see plan/fallible.py."""
    if not can_fail(predicate):
        return predicate
    there = call(NOT_EQUALS, (weight, Literal(text="0", type=BIGINT)), BOOLEAN)
    return Case(branches=((there, predicate),), otherwise=FALSE, type=BOOLEAN)


def _leaf(change: ZSet) -> str:
    return f"(SELECT {leading(change.arity)}weight AS c{change.arity} FROM ({change.sql}))"
