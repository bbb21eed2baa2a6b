"""The order of inner joins: each next relation is one that an equality ties to those before it, if there is
one.

`FROM a, b, c WHERE a.x = c.x AND b.y = c.y` would otherwise begin with all pairs of a and b.  Relations that
are tied in the order they are written stay in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tailrace.plan.build import conjunction, conjuncts
from tailrace.plan.context import refs
from tailrace.plan.expressions import Call, Expression, Ref
from tailrace.plan.functions.operators import EQUALS
from tailrace.plan.nodes import Join, Node, Project
from tailrace.plan.pushdown import columns
from tailrace.plan.walk import has_subquery, with_children, with_inputs


def ordered_joins(node: Node) -> Node:
    if not _is_inner(node):
        return with_inputs(node, ordered_joins)
    relations, conditions = _flattened(node, 0)
    relations = [ordered_joins(each) for each in relations]
    order = _order(relations, conditions)
    if order == list(range(len(relations))):
        return _in_order(relations, conditions)
    return _reordered(relations, conditions, order)


def _is_inner(node: Node) -> bool:
    return isinstance(node, Join) and node.kind == "inner" and not has_subquery(node.condition)


def _flattened(node: Node, offset: int) -> tuple[list[Node], list[Expression]]:
    """The relations of a tree of inner joins, and all its conditions over their columns side by side."""
    if not _is_inner(node):
        return [node], []
    assert isinstance(node, Join)
    left, below_left = _flattened(node.left, offset)
    right, below_right = _flattened(node.right, offset + len(node.left.schema))
    own = [_moved(part, offset) for part in conjuncts(node.condition)]
    return [*left, *right], [*below_left, *below_right, *own]


def _moved(expression: Expression, by: int) -> Expression:
    if isinstance(expression, Ref):
        return replace(expression, index=expression.index + by)
    return with_children(expression, lambda e: _moved(e, by))


def _starts(relations: Sequence[Node]) -> list[int]:
    starts = [0]
    for relation in relations:
        starts.append(starts[-1] + len(relation.schema))
    return starts


def _touched(part: Expression, starts: Sequence[int]) -> set[int]:
    """The numbers of the relations that a condition looks at."""
    return {max(i for i, start in enumerate(starts[:-1]) if start <= column) for column in columns(part)}


def _order(relations: Sequence[Node], conditions: Sequence[Expression]) -> list[int]:
    starts = _starts(relations)
    ties = [
        _touched(part, starts) for part in conditions if isinstance(part, Call) and part.function == EQUALS
    ]
    order = [0]
    while len(order) < len(relations):
        left = [i for i in range(len(relations)) if i not in order]
        tied = [i for i in left if any(i in tie and tie - {i} and tie - {i} <= set(order) for tie in ties)]
        order.append((tied or left)[0])
    return order


def _in_order(relations: Sequence[Node], conditions: Sequence[Expression]) -> Node:
    """A left-deep tree; each condition stands at the first join that has all its columns."""
    node = relations[0]
    left = list(conditions)
    for relation in relations[1:]:
        width = len(node.schema) + len(relation.schema)
        ready = [part for part in left if all(column < width for column in columns(part))]
        left = [part for part in left if part not in ready]
        node = Join(left=node, right=relation, kind="inner", condition=conjunction(ready))
    return node


def _reordered(relations: Sequence[Node], conditions: Sequence[Expression], order: Sequence[int]) -> Node:
    starts = _starts(relations)
    new_starts, place = {}, 0
    for number in order:
        new_starts[number] = place
        place += len(relations[number].schema)
    moved = {
        starts[number] + i: new_starts[number] + i
        for number in order
        for i in range(len(relations[number].schema))
    }

    def change(expression: Expression) -> Expression:
        if isinstance(expression, Ref):
            return replace(expression, index=moved[expression.index])
        return with_children(expression, change)

    node = _in_order([relations[number] for number in order], [change(part) for part in conditions])
    made = refs(node)
    outputs = tuple(made[moved[i]] for i in range(len(moved)))
    return Project(input=node, expressions=outputs, names=tuple(node.schema[r.index].name for r in outputs))
