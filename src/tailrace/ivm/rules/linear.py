"""Filter, project, unnest, UNION ALL, constants:  Δ(f(R)) = f(ΔR).  No state.

A whole stack of such nodes is one Spark text, so that a JSON document is parsed once however many columns, filters
and views look into it.  The weight travels as one more column, behind the last, and after it, if
that is known, where a row comes from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa

from tailrace.ivm.operator import Holding, Operator, Stateless
from tailrace.ivm.zset import Placed, ZSet, leading
from tailrace.plan.build import FALSE, call
from tailrace.plan.expressions import Case, Expression, Literal, Ref
from tailrace.plan.fallible import can_fail, plan_can_fail
from tailrace.plan.functions.operators import NOT_EQUALS
from tailrace.plan.nodes import Filter, FlatMap, Node, Project, Scan, Union, Values
from tailrace.plan.temporal import is_temporal
from tailrace.plan.to_spark import render
from tailrace.plan.walk import has_own_subquery, nodes
from tailrace.types.core import BEGINNING, BIGINT, BOOLEAN, INTEGER, Column, Tick

_WEIGHT = Column("weight", BIGINT, nullable=False)
_MANY = 1_000_000
_PLACE = Column("place", INTEGER, nullable=False)


def is_linear(node: Node) -> bool:
    """What a subquery or mz_now() says of a row may change though the row does not."""
    kind = isinstance(node, Filter | Project | FlatMap | Union | Values)
    return kind and not has_own_subquery(node) and not is_temporal(node)


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
            pairs = zip(changes, self.below, strict=True)
            changes = [change.settled(operator.node.schema) for change, operator in pairs]
        constants = lo == BEGINNING  # constant rows came into being before every tick
        segment = _without_empty(self.segment, changes, constants)
        arity = len(self.node.schema)
        if _is_nothing(segment):
            return ZSet.empty(arity)
        text = render(_carrying(segment, _WEIGHT), lambda scan: _leaf(changes[int(scan.relation)]))
        return ZSet(
            arity=arity,
            sql=f"SELECT {leading(arity)}c{arity} AS weight FROM ({text})",
            placed=_placed(segment, changes),
            rows=sum(change.rows for change in changes) + constants * _constant_rows(segment),
            positive=all(change.positive for change in changes),
            is_settled=all(change.is_settled or change.is_empty for change in changes),
        )

    def change_here(self, lo: Tick, hi: Tick) -> pa.Table | None:
        """Only of a segment that picks columns."""
        places = _picked(self.segment)
        if places is None:
            return None
        [below] = self.below
        rows = below.change_here(lo, hi) if isinstance(below, Holding) else None
        if rows is None:
            return None
        picked = [rows[f"c{place}"] for place in places]
        return pa.table([*picked, rows["weight"]], [*(f"c{i}" for i in range(len(picked))), "weight"])


def _picked(segment: Node) -> list[int] | None:
    """Which columns of its only input these are; None if it does more than to pick."""
    match segment:
        case Scan():
            return list(range(len(segment.schema)))
        case Project():
            below = _picked(segment.input)
            places = [each.index for each in segment.expressions if isinstance(each, Ref)]
            if below is None or len(places) < len(segment.expressions):
                return None
            return [below[i] for i in places]
        case _:
            return None


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


def _constant_rows(node: Node) -> int:
    """A guess of how many rows there are without any input.  What a function makes of one may be any number."""
    match node:
        case Values():
            return len(node.rows)
        case FlatMap():
            return _MANY if _constant_rows(node.input) else 0
        case Filter() | Project():
            return _constant_rows(node.input)
        case Union():
            return sum(map(_constant_rows, node.inputs))
        case _:
            return 0


def _placed(segment: Node, changes: list[ZSet]) -> Placed | None:
    """The change with its rows' places, if they all come from one log."""
    changed = [change for change in changes if not change.is_empty]
    if len(changed) != 1 or changed[0].placed is None or any(isinstance(each, Values) for each in nodes(segment)):
        return None
    placed, arity = changed[0].placed, len(segment.schema)
    leaf = f"(SELECT {leading(changed[0].arity)}weight AS c{changed[0].arity}, place AS c{changed[0].arity + 1}"
    text = render(_carrying(segment, _WEIGHT, _PLACE), lambda _: f"{leaf} FROM ({placed.sql}))")
    sql = f"SELECT {leading(arity)}c{arity} AS weight, c{arity + 1} AS place FROM ({text})"
    return Placed(sql=sql, rows=placed.rows)


def _carrying(node: Node, *columns: Column) -> Node:
    """The same segment with what its leaves have behind their columns: the weight first."""
    arity = len(node.schema)
    match node:
        case Scan():
            return replace(node, schema=(*node.schema, *columns))
        case Values():
            one = Literal(text="1", type=BIGINT)
            return Values(rows=tuple((*row, one) for row in node.rows), schema=(*node.schema, *columns))
        case Filter():
            weight = Ref(index=arity, type=BIGINT, nullable=False)
            return Filter(input=_carrying(node.input, *columns), predicate=_for_rows_there(node.predicate, weight))
        case Project():
            inner = len(node.input.schema)
            refs = (Ref(index=inner + i, type=each.type, nullable=False) for i, each in enumerate(columns))
            return Project(
                input=_carrying(node.input, *columns),
                expressions=(*node.expressions, *refs),
                names=(*node.names, *(each.name for each in columns)),
            )
        case Union():
            return replace(node, inputs=tuple(_carrying(each, *columns) for each in node.inputs))
        case FlatMap():
            inner, carried = len(node.input.schema), len(columns)
            flat = replace(node, input=_carrying(node.input, *columns))
            order = [*range(inner), *range(inner + carried, arity + carried), *range(inner, inner + carried)]
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
