"""Making bound expressions by hand: calls, conjunctions, comparisons.  The binder and the rewrites use
these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tailrace.plan.expressions import Call, Expression, Literal
from tailrace.plan.functions.json import CANONICAL
from tailrace.plan.functions.operators import AND, EQUALS, IS_NULL, NOT, NOT_DISTINCT, OR
from tailrace.plan.functions.registry import by_id
from tailrace.types.core import BOOLEAN, JSONB, SqlType

TRUE = Literal(text="true", type=BOOLEAN)
FALSE = Literal(text="false", type=BOOLEAN)


def call(function: str, arguments: Sequence[Expression], type: SqlType) -> Call:
    """A call of the entry with this id; its nullability follows from the arguments."""
    return Call(
        function=function,
        arguments=tuple(arguments),
        type=type,
        nullable=by_id(function).nullable(arguments),
    )


def negation(expression: Expression) -> Expression:
    return call(NOT, (expression,), BOOLEAN)


def is_null(expression: Expression) -> Expression:
    return call(IS_NULL, (expression,), BOOLEAN)


def equal(left: Expression, right: Expression) -> Expression:
    """`left = right`, of one type."""
    return call(EQUALS, (canonical(left), canonical(right)), BOOLEAN)


def same(left: Expression, right: Expression) -> Expression:
    """`left IS NOT DISTINCT FROM right`."""
    return call(NOT_DISTINCT, (canonical(left), canonical(right)), BOOLEAN)


def conjuncts(expression: Expression) -> list[Expression]:
    """The parts of a condition that must all be true."""
    if isinstance(expression, Call) and expression.function == AND:
        return [part for argument in expression.arguments for part in conjuncts(argument)]
    return [] if expression == TRUE else [expression]


def conjunction(parts: Iterable[Expression]) -> Expression:
    """All of these; nothing to say: true."""
    flat = [part for each in parts for part in conjuncts(each)]
    if not flat:
        return TRUE
    return flat[0] if len(flat) == 1 else call(AND, flat, BOOLEAN)


def disjunction(parts: Sequence[Expression]) -> Expression:
    if not parts:
        return FALSE
    return parts[0] if len(parts) == 1 else call(OR, parts, BOOLEAN)


def is_canonical(expression: Expression) -> bool:
    """Is this jsonb known to be in its canonical form?"""
    return isinstance(expression, Literal) or (
        isinstance(expression, Call) and expression.function in _CANONICAL_RESULTS
    )


_CANONICAL_RESULTS = frozenset(
    {CANONICAL, "->(jsonb, text)", "->(jsonb, integer)", "#>(jsonb, text[])", "||(jsonb, jsonb)"}
)


def canonical(expression: Expression) -> Expression:
    """A jsonb expression in its canonical form, so that equal documents are equal texts; others as they
    are.
    """
    if expression.type != JSONB or is_canonical(expression):
        return expression
    return call(CANONICAL, (expression,), JSONB)
