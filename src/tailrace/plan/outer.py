"""References from inside a subquery to the rows around it, and the same plan seen from another level."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tailrace.plan.expressions import Expression, OuterRef
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
