"""References from inside a subquery to the rows around it, and the same plan seen from another level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from tailrace.plan.expressions import Expression, OuterRef, Ref
from tailrace.plan.nodes import Node, inputs
from tailrace.plan.walk import (
    expressions,
    subexpressions,
    subquery,
    with_children,
    with_expressions,
    with_inputs,
    with_subquery,
)

Change = Callable[[OuterRef, int], Expression]
"""A reference out of the plan, and how many levels of subqueries lie between it and the plan, plus one."""


def with_free_refs(node: Node, change: Change, level: int = 1) -> Node:
    """The plan with every reference that leads out of it changed, also from deeper inside."""
    rebuilt = with_inputs(node, lambda below: with_free_refs(below, change, level))
    return with_expressions(rebuilt, lambda e: expression_with_free_refs(e, change, level))


def expression_with_free_refs(expression: Expression, change: Change, level: int = 1) -> Expression:
    if isinstance(expression, OuterRef):
        return change(expression, level) if expression.depth >= level else expression
    expression = with_subquery(expression, lambda query: with_free_refs(query, change, level + 1))
    return with_children(expression, lambda e: expression_with_free_refs(e, change, level))


def nearest_level(values: Iterable[Expression]) -> int:
    """How far out the nearest row is that the expressions look at: 0, their own, also if they look at none."""
    levels: set[int] = set()

    def note(ref: OuterRef, level: int) -> Expression:
        levels.add(ref.depth - level + 1)
        return ref

    for value in values:
        own = any(isinstance(part, Ref) for part in subexpressions(value))
        if own or next(expression_outer_refs(value, 0), None) is not None:
            return 0
        expression_with_free_refs(value, note)
    return min(levels, default=0)


def seen_from(expression: Expression, level: int) -> Expression:
    """An expression that looks at nothing nearer than `level` rows out, as it is over the row there."""

    def change(ref: OuterRef, _: int) -> Expression:
        if ref.depth == level:
            return Ref(index=ref.index, type=ref.type, nullable=ref.nullable)
        return replace(ref, depth=ref.depth - level)

    return expression_with_free_refs(expression, change)


def not_computed(number: int) -> int:
    """The index by which a subquery knows an aggregate of the query outside until that one's GROUP BY is bound, which
    replaces it; applied again, the aggregate's number.  No column has an index below 0.
    """
    return -1 - number


def with_outer_refs(node: Node, change: Callable[[OuterRef], Expression]) -> Node:
    """The plan with each reference to the row just outside it changed."""
    return with_free_refs(node, lambda ref, level: change(ref) if ref.depth == level else ref)


def outer_refs(node: Node, depth: int = 1) -> Iterator[OuterRef]:
    """All references from inside `node` to the row `depth` levels outside it."""
    for below in inputs(node):
        yield from outer_refs(below, depth)
    for value in expressions(node):
        yield from expression_outer_refs(value, depth)


def expression_outer_refs(expression: Expression, depth: int = 1) -> Iterator[OuterRef]:
    for part in subexpressions(expression):
        if isinstance(part, OuterRef) and part.depth == depth:
            yield part
        query = subquery(part)
        if query is not None:
            yield from outer_refs(query, depth + 1)


def outer_columns(node: Node) -> tuple[int, ...]:
    """The columns of the row just outside that a plan looks at, in order."""
    return tuple(sorted({ref.index for ref in outer_refs(node)}))
