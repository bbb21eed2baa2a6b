"""Walking and rebuilding plans and expressions.  Every function here knows all kinds; others need not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tailrace.plan.expressions import (
    AggregateCall,
    Call,
    Case,
    Cast,
    Exists,
    Expression,
    InSubquery,
    Order,
    ScalarSubquery,
    WindowCall,
)
from tailrace.plan.nodes import (
    Aggregate,
    Distinct,
    Except,
    Filter,
    FlatMap,
    Intersect,
    Join,
    Node,
    Project,
    Recursion,
    Scan,
    TopK,
    Union,
    Values,
    Window,
    Working,
    inputs,
)

Change = Callable[[Expression], Expression]


def children(expression: Expression) -> tuple[Expression, ...]:
    """The expressions directly below.  The inside of subqueries is not among them."""
    match expression:
        case Call(arguments=arguments) | InSubquery(arguments=arguments):
            return arguments
        case Cast(input=inner):
            return (inner,)
        case Case():
            return (*(part for branch in expression.branches for part in branch), expression.otherwise)
        case _:
            return ()


def with_children(expression: Expression, change: Change) -> Expression:
    """The expression with each direct child changed."""
    match expression:
        case Call(arguments=arguments):
            return replace(expression, arguments=tuple(map(change, arguments)))
        case InSubquery(arguments=arguments):
            return replace(expression, arguments=tuple(map(change, arguments)))
        case Cast(input=inner):
            return replace(expression, input=change(inner))
        case Case():
            return replace(
                expression,
                branches=tuple((change(c), change(v)) for c, v in expression.branches),
                otherwise=change(expression.otherwise),
            )
        case _:
            return expression


def subexpressions(expression: Expression) -> Iterator[Expression]:
    """The expression and everything below it, from the outside in."""
    yield expression
    for child in children(expression):
        yield from subexpressions(child)


def subquery(expression: Expression) -> Node | None:
    match expression:
        case ScalarSubquery(query=query) | Exists(query=query) | InSubquery(query=query):
            return query
        case _:
            return None


def with_subquery(expression: Expression, change: Callable[[Node], Node]) -> Expression:
    """The expression with its own subquery changed, if it is one; its children stay."""
    match expression:
        case ScalarSubquery(query=query):
            return replace(expression, query=change(query))
        case Exists(query=query):
            return replace(expression, query=change(query))
        case InSubquery(query=query):
            return replace(expression, query=change(query))
        case _:
            return expression


def has_subquery(expression: Expression) -> bool:
    return any(subquery(part) is not None for part in subexpressions(expression))


def has_own_subquery(node: Node) -> bool:
    """One of the node's own expressions contains a subquery; nodes below do not count."""
    return any(map(has_subquery, expressions(node)))


def order_with(order: Order, change: Change) -> Order:
    return replace(order, by=change(order.by))


def aggregate_with(call: AggregateCall, change: Change) -> AggregateCall:
    return replace(
        call,
        arguments=tuple(map(change, call.arguments)),
        filter=None if call.filter is None else change(call.filter),
        order_by=tuple(order_with(order, change) for order in call.order_by),
    )


def window_with(call: WindowCall, change: Change) -> WindowCall:
    return replace(
        call,
        arguments=tuple(map(change, call.arguments)),
        partition_by=tuple(map(change, call.partition_by)),
        order_by=tuple(order_with(order, change) for order in call.order_by),
    )


def with_expressions(node: Node, change: Change) -> Node:
    """The node with every expression of its own changed; its inputs stay."""
    match node:
        case Values(rows=rows):
            return replace(node, rows=tuple(tuple(map(change, row)) for row in rows))
        case Filter(predicate=predicate):
            return replace(node, predicate=change(predicate))
        case Project(expressions=expressions):
            return replace(node, expressions=tuple(map(change, expressions)))
        case FlatMap(arguments=arguments):
            return replace(node, arguments=tuple(map(change, arguments)))
        case Join(condition=condition):
            return replace(node, condition=change(condition))
        case Aggregate(aggregates=calls):
            return replace(node, aggregates=tuple(aggregate_with(call, change) for call in calls))
        case TopK(order_by=orders):
            return replace(node, order_by=tuple(order_with(order, change) for order in orders))
        case Window(calls=calls):
            return replace(node, calls=tuple(window_with(call, change) for call in calls))
        case Scan() | Distinct() | Union() | Except() | Intersect() | Recursion() | Working():
            return node


def expressions(node: Node) -> list[Expression]:
    """Every expression of the node's own."""
    found: list[Expression] = []

    def note(expression: Expression) -> Expression:
        found.append(expression)
        return expression

    with_expressions(node, note)
    return found


def with_inputs(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node with each direct input changed."""
    match node:
        case Scan() | Values() | Working():
            return node
        case Recursion():
            return replace(node, seed=change(node.seed), step=change(node.step))
        case Join() | Except() | Intersect():
            return replace(node, left=change(node.left), right=change(node.right))
        case Union():
            return replace(node, inputs=tuple(map(change, node.inputs)))
        case _:
            return replace(node, input=change(node.input))


def nodes(node: Node) -> Iterator[Node]:
    """The node and everything below it, subqueries included."""
    yield node
    for expression in expressions(node):
        for part in subexpressions(expression):
            query = subquery(part)
            if query is not None:
                yield from nodes(query)
    for below in inputs(node):
        yield from nodes(below)


def scans(node: Node) -> frozenset[str]:
    """The catalog ids of all relations that a plan reads."""
    return frozenset(below.relation for below in nodes(node) if isinstance(below, Scan))
