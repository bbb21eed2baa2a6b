"""Which columns are never NULL, beyond what each expression says of itself: conditions prove more.

A row that passes `a > 1`, `a IS NOT NULL` or an inner join on `a = b` has no NULL there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from tailrace.plan.build import conjuncts
from tailrace.plan.expressions import Call, Cast, Expression, Ref
from tailrace.plan.functions.operators import AND, IN, IS_NULL, NOT, OR
from tailrace.plan.functions.registry import by_id
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
)
from tailrace.plan.walk import with_children
from tailrace.types.core import Schema

Columns = frozenset[int]


def schema_of(node: Node) -> Schema:
    """The node's schema with every column NOT NULL that provably is."""
    proven = not_null(node)
    return tuple(replace(c, nullable=c.nullable and i not in proven) for i, c in enumerate(node.schema))


def not_null(node: Node) -> Columns:
    """The columns that hold no NULL in any row."""
    own = frozenset(i for i, column in enumerate(node.schema) if not column.nullable)
    return own | _proven(node)


def _proven(node: Node) -> Columns:
    match node:
        case Scan() | Values() | Recursion() | Working():
            return frozenset()
        case Filter(input=rows, predicate=predicate):
            return not_null(rows) | demanded(predicate)
        case Project(input=rows, expressions=outputs):
            below = not_null(rows)
            return frozenset(i for i, e in enumerate(outputs) if not sharpened(e, below).nullable)
        case Join():
            return _join(node)
        case Aggregate(input=rows, group_by=groups):
            below = not_null(rows)
            return frozenset(i for i, column in enumerate(groups) if column in below)
        case Union(inputs=inputs):
            return frozenset.intersection(*map(not_null, inputs))
        case Distinct(input=rows) | TopK(input=rows) | FlatMap(input=rows) | Window(input=rows):
            return not_null(rows)
        case Except(left=left):
            return not_null(left)
        case Intersect(left=left, right=right):
            return not_null(left) | not_null(right)
        case _:
            assert_never(node)


def _join(node: Join) -> Columns:
    width = len(node.left.schema)
    left = not_null(node.left)
    right = frozenset(i + width for i in not_null(node.right))
    match node.kind:
        case "inner":
            return left | right | demanded(node.condition)
        case "semi":
            return left | frozenset(i for i in demanded(node.condition) if i < width)
        case "left" | "anti":
            return left
        case "right":
            return right
        case _:
            return frozenset()


def demanded(condition: Expression) -> Columns:
    """The columns that cannot be NULL where the condition is true."""
    found: set[int] = set()
    for part in conjuncts(condition):
        if isinstance(part, Call) and part.function == OR:
            found |= frozenset.intersection(*map(demanded, part.arguments))
        elif isinstance(part, Call) and part.function == NOT and _is(part.arguments[0], IS_NULL):
            found |= _strict_columns(part.arguments[0].arguments[0])  # type: ignore[union-attr]
        else:
            found |= _strict_columns(part)
    return frozenset(found)


def _is(expression: Expression, function: str) -> bool:
    return isinstance(expression, Call) and expression.function == function


def _strict_columns(expression: Expression) -> set[int]:
    """The columns whose NULL would make the expression NULL."""
    match expression:
        case Ref(index=index):
            return {index}
        case Cast(input=inner):
            return _strict_columns(inner)
        case Call(function=function, arguments=arguments):
            if function in (AND, OR):
                return set()
            if function == IN:
                return _strict_columns(arguments[0])
            entry = by_id(function)
            strict = entry.nulls == "strict" or function.startswith(("->", "#>"))
            return set().union(*map(_strict_columns, arguments)) if strict else set()
        case _:
            return set()


def sharpened(expression: Expression, proven: Columns) -> Expression:
    """The expression over rows in which these columns are never NULL."""
    if isinstance(expression, Ref):
        return replace(expression, nullable=expression.nullable and expression.index not in proven)
    changed = with_children(expression, lambda e: sharpened(e, proven))
    if isinstance(changed, Call) and changed.nullable:
        entry = by_id(changed.function)
        if changed.function == "coalesce":
            return replace(changed, nullable=all(a.nullable for a in changed.arguments))
        return replace(changed, nullable=entry.nullable(changed.arguments))
    return changed
