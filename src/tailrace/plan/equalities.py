"""The equalities of a join: pairs of expressions, one over each side, that the condition says are equal."""

from __future__ import annotations

from dataclasses import replace

from tailrace.plan.build import conjuncts
from tailrace.plan.expressions import Call, Expression, OuterRef, Ref
from tailrace.plan.functions.operators import EQUALS, NOT_DISTINCT
from tailrace.plan.nodes import Join
from tailrace.plan.walk import subexpressions, with_children
from tailrace.types.spark import spark_type

_INEXACT = ("float", "double")  # 0.0 = -0.0, but their hashes differ


def equalities(join: Join) -> list[tuple[Expression, Expression]]:
    """(left, right), each over its own side's row, and of types whose equal values hash alike; NULLs do
    too.
    """
    found = (_equality(part, len(join.left.schema)) for part in conjuncts(join.condition))
    return [pair for pair in found if pair is not None]


def is_equality(part: Expression, join: Join) -> bool:
    """This part of the condition is one of the join's equalities."""
    return _equality(part, len(join.left.schema)) is not None


def _equality(part: Expression, width: int) -> tuple[Expression, Expression] | None:
    if not (isinstance(part, Call) and part.function in (EQUALS, NOT_DISTINCT)):
        return None
    one, other = part.arguments
    if _side(one, width) == "right" and _side(other, width) == "left":
        one, other = other, one
    if _side(one, width) != "left" or _side(other, width) != "right":
        return None
    type = spark_type(one.type)
    if type != spark_type(other.type) or any(word in type for word in _INEXACT):
        return None
    return one, _shifted(other, -width)


def _side(expression: Expression, width: int) -> str | None:
    parts = list(subexpressions(expression))
    places = {part.index for part in parts if isinstance(part, Ref)}
    if not places or any(isinstance(part, OuterRef) for part in parts):
        return None
    if max(places) < width:
        return "left"
    return "right" if min(places) >= width else None


def _shifted(expression: Expression, by: int) -> Expression:
    """The same expression with every column `by` places further."""
    if isinstance(expression, Ref):
        return replace(expression, index=expression.index + by)
    return with_children(expression, lambda part: _shifted(part, by))
