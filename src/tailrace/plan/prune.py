"""Columns that nobody looks at, gone below joins and aggregates: what a join keeps of its inputs is state.

`_kept(node, needed)` gives a node with at least the needed columns, and where each of them now stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tailrace.plan.context import refs
from tailrace.plan.expressions import Expression, OuterRef, Ref
from tailrace.plan.nodes import (
    Aggregate,
    Filter,
    FlatMap,
    Join,
    Node,
    Project,
    Union,
)
from tailrace.plan.outer import with_free_refs
from tailrace.plan.pushdown import columns
from tailrace.plan.walk import aggregate_with, with_children, with_inputs, with_subquery

Places = Mapping[int, int]
"""From a column's old place to its new one."""


def pruned(node: Node) -> Node:
    """The plan with the same columns, narrower inside."""
    everything = range(len(node.schema))
    result, places = _kept(node, set(everything))
    assert all(places[i] == i for i in everything)
    return result


def _kept(node: Node, needed: set[int]) -> tuple[Node, Places]:
    match node:
        case Project():
            return _project(node, needed)
        case Filter():
            inner, places = _kept(node.input, needed | columns(node.predicate))
            return Filter(input=inner, predicate=_replaced(node.predicate, places)), places
        case Join():
            return _join(node, needed)
        case Aggregate():
            return _aggregate(node, needed)
        case FlatMap():
            return _flat_map(node, needed)
        case Union():
            return _union(node, needed)
        case _:
            # Everything below counts: DISTINCT compares all columns, top-k breaks ties by all of them.
            return with_inputs(node, pruned), {i: i for i in range(len(node.schema))}


def _project(node: Project, needed: set[int]) -> tuple[Node, Places]:
    chosen = sorted(needed)
    inner, places = _kept(node.input, _used(node.expressions[i] for i in chosen))
    outputs = tuple(_replaced(node.expressions[i], places) for i in chosen)
    names = tuple(node.names[i] for i in chosen)
    return Project(input=inner, expressions=outputs, names=names), {c: i for i, c in enumerate(chosen)}


def _join(node: Join, needed: set[int]) -> tuple[Node, Places]:
    width = len(node.left.schema)
    used = needed | columns(node.condition)
    left, left_places = _narrow(node.left, {i for i in used if i < width})
    right, right_places = _narrow(node.right, {i - width for i in used if i >= width})
    shift = len(left.schema)
    places = {**left_places, **{old + width: new + shift for old, new in right_places.items()}}
    join = replace(node, left=left, right=right, condition=_replaced(node.condition, places))
    if node.kind in ("semi", "anti"):
        return join, left_places
    return join, places


def _narrow(node: Node, needed: set[int]) -> tuple[Node, Places]:
    """The node with exactly the needed columns."""
    inner, places = _kept(node, needed)
    if len(inner.schema) == len(needed):
        return inner, places
    chosen = sorted(needed)
    outputs = tuple(refs(inner)[places[i]] for i in chosen)
    names = tuple(inner.schema[places[i]].name for i in chosen)
    project = Project(input=inner, expressions=outputs, names=names)
    return project, {column: i for i, column in enumerate(chosen)}


def _aggregate(node: Aggregate, needed: set[int]) -> tuple[Node, Places]:
    """Groups stay, they decide what the rows are; aggregates that nobody looks at go."""
    groups = len(node.group_by)
    chosen = [i for i in range(len(node.aggregates)) if i + groups in needed]
    calls = [node.aggregates[i] for i in chosen]
    used: set[int] = set(node.group_by)
    for call in calls:
        aggregate_with(call, lambda e: _noted(e, used))
    inner, places = _narrow(node.input, used)
    aggregate = Aggregate(
        input=inner,
        group_by=tuple(places[i] for i in node.group_by),
        aggregates=tuple(aggregate_with(call, lambda e: _replaced(e, places)) for call in calls),
        names=tuple(node.names[i] for i in chosen),
    )
    kept = {i: i for i in range(groups)} | {old + groups: new + groups for new, old in enumerate(chosen)}
    return aggregate, kept


def _noted(expression: Expression, used: set[int]) -> Expression:
    used |= columns(expression)
    return expression


def _flat_map(node: FlatMap, needed: set[int]) -> tuple[Node, Places]:
    width = len(node.input.schema)
    used = {i for i in needed if i < width} | _used(node.arguments)
    inner, places = _narrow(node.input, used)
    flat = replace(node, input=inner, arguments=tuple(_replaced(a, places) for a in node.arguments))
    made = {width + i: len(inner.schema) + i for i in range(len(node.columns))}
    return flat, {**places, **made}


def _union(node: Union, needed: set[int]) -> tuple[Node, Places]:
    branches = [_narrow(each, needed) for each in node.inputs]
    return Union(inputs=tuple(branch for branch, _ in branches)), {c: i for i, c in enumerate(sorted(needed))}


def _used(outputs: Iterable[Expression]) -> set[int]:
    return set().union(*(columns(e) for e in outputs))


def _replaced(expression: Expression, places: Places) -> Expression:
    """The expression over the new places, also in what its subqueries see of this row."""
    if isinstance(expression, Ref):
        return replace(expression, index=places[expression.index])

    def outward(ref: OuterRef, level: int) -> Expression:
        return replace(ref, index=places[ref.index]) if ref.depth == level else ref

    expression = with_subquery(expression, lambda query: with_free_refs(query, outward))
    return with_children(expression, lambda e: _replaced(e, places))
