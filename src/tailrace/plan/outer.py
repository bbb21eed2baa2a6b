"""References from inside a subquery to the rows around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tailrace.plan.expressions import Expression, OuterRef
from tailrace.plan.nodes import Node, inputs
from tailrace.plan.walk import (
    expressions,
    subexpressions,
    subquery,
    with_children,
    with_expressions,
    with_inputs,
)


def with_outer_refs(node: Node, change: Callable[[OuterRef], Expression], depth: int = 1) -> Node:
    """The plan with each reference to the row `depth` levels outside it changed, also from deeper inside."""

    def expression(value: Expression, levels: int) -> Expression:
        if isinstance(value, OuterRef):
            return change(value) if value.depth == levels else value
        query = subquery(value)
        if query is not None:
            value = replace(value, query=with_outer_refs(query, change, levels + 1))  # type: ignore[call-arg]
        return with_children(value, lambda e: expression(e, levels))

    rebuilt = with_inputs(node, lambda below: with_outer_refs(below, change, depth))
    return with_expressions(rebuilt, lambda e: expression(e, depth))


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
