"""Correlation that is only a condition:  L, LATERAL (R WHERE p)  =  L ⋈ R ON p.

Where a subquery looks at the outer row in its filters and outputs alone, and what lies below them does not,
the filters are the join's condition.  EXISTS, IN and most LATERALs are of this kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tailrace.plan.build import conjunction, conjuncts
from tailrace.plan.context import refs
from tailrace.plan.expressions import Expression, JoinKind, OuterRef, Ref
from tailrace.plan.merge import composed
from tailrace.plan.nodes import Filter, Join, Node, Project
from tailrace.plan.outer import expression_with_free_refs, outer_refs, with_free_refs
from tailrace.plan.walk import has_subquery, with_children


def joined_directly(left: Node, right: Node, kind: JoinKind, condition: Expression) -> Node | None:
    """The lateral join as a plain one; None if `right` looks at the outer row further down."""
    outputs, predicates, rows = _peeled(right)
    if next(outer_refs(rows), None) is not None or any(map(has_subquery, (*outputs, *predicates))):
        return None
    if kind == "left" and not all(isinstance(output, Ref) for output in outputs):
        return None  # of a row without partner every output is NULL, not what it would compute from NULLs
    lefts = len(left.schema)
    rows = with_free_refs(rows, lambda ref, level: replace(ref, depth=ref.depth - 1))
    made = [_lifted(output, lefts) for output in outputs]
    parts = [_lifted(part, lefts) for predicate in predicates for part in conjuncts(predicate)]
    on = _with_outputs(condition, lefts, made)
    join = Join(left=left, right=rows, kind=kind, condition=conjunction((*parts, on)))
    if kind in ("semi", "anti"):
        return join
    names = (*(c.name for c in left.schema), *(c.name for c in right.schema))
    kept = [replace(e, nullable=True) if kind == "left" and isinstance(e, Ref) else e for e in made]
    return Project(input=join, expressions=(*refs(join)[:lefts], *kept), names=names)


def _peeled(node: Node) -> tuple[Sequence[Expression], list[Expression], Node]:
    """The outputs and filters of a stack of projections and filters, over the node below them."""
    outputs: Sequence[Expression] = refs(node)
    predicates: list[Expression] = []
    while isinstance(node, Project | Filter):
        if isinstance(node, Filter):
            predicates.insert(0, node.predicate)
        elif any(map(has_subquery, (*outputs, *predicates))):
            break
        else:
            row = node.expressions
            outputs = [composed(e, row) for e in outputs]
            predicates = [composed(e, row) for e in predicates]
        node = node.input
    return outputs, predicates, node


def _lifted(expression: Expression, lefts: int) -> Expression:
    """Into the joined row: the subquery's own columns move right, the outer row's become plain."""
    moved = _moved(expression, lefts)
    return with_outer_as_left(moved)


def _moved(expression: Expression, by: int) -> Expression:
    if isinstance(expression, Ref):
        return replace(expression, index=expression.index + by)
    return with_children(expression, lambda e: _moved(e, by))


def with_outer_as_left(expression: Expression) -> Expression:
    """References to the outer row as columns of a joined row whose first columns are that row's."""

    def change(ref: OuterRef, level: int) -> Expression:
        if ref.depth > level:
            return replace(ref, depth=ref.depth - 1)
        if level > 1:
            return replace(ref, depth=level - 1)
        return Ref(index=ref.index, type=ref.type, nullable=ref.nullable)

    return expression_with_free_refs(expression, change)


def _with_outputs(condition: Expression, lefts: int, outputs: Sequence[Expression]) -> Expression:
    """The condition with the subquery's outputs, which stand behind the left row, put in."""
    if isinstance(condition, Ref) and condition.index >= lefts:
        return outputs[condition.index - lefts]
    return with_children(condition, lambda e: _with_outputs(e, lefts, outputs))
