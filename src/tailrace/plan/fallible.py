"""Whether an expression can fail on some row: divide by zero, overflow, meet a text that is no number.

Such an expression must only ever see rows that are there.  A change that is not consolidated holds
rows that merely cancel, and Spark moves filters to before the sum that takes them away.
"""

from __future__ import annotations

from tailrace.plan.expressions import Call, Cast, Expression
from tailrace.plan.functions.operators import AND, EQUALS, IN, IS_NULL, NOT, NOT_DISTINCT, NOT_EQUALS, OR
from tailrace.plan.nodes import Node
from tailrace.plan.walk import children, expressions, nodes
from tailrace.types.core import JSONB, UUID
from tailrace.types.spark import spark_type

_LOGIC = {AND, OR, NOT, IS_NULL, NOT_DISTINCT, "is true(boolean)", "is false(boolean)"}
_COMPARISONS = {EQUALS, NOT_EQUALS, "<", "<=", ">", ">=", IN}
_TOTAL = (
    _LOGIC
    | _COMPARISONS
    | {"coalesce", "nullif", "lower(text)", "upper(text)", "length(text)", "||(text, text)"}
)

_HELD_AS_TEXT = (JSONB, UUID)  # for Spark a text like any other; not every text is one

_WIDER = ("smallint", "int", "bigint", "double")


def can_fail(expression: Expression) -> bool:
    """False only for what is known to give a value, or NULL, for every row."""
    match expression:
        case Call(function=function) if function not in _TOTAL:
            return True
        case Cast(input=inner, type=type) if type in _HELD_AS_TEXT and inner.type != type:
            return True
        case Cast(input=inner, type=type) if not _widens(spark_type(inner.type), spark_type(type)):
            return True
        case _:
            return any(map(can_fail, children(expression)))


def node_can_fail(node: Node) -> bool:
    """One of the node's own expressions can fail."""
    return any(map(can_fail, expressions(node)))


def plan_can_fail(node: Node) -> bool:
    return any(map(node_can_fail, nodes(node)))


def _widens(one: str, other: str) -> bool:
    if one == other or other == "string":
        return True
    return one in _WIDER and other in _WIDER and _WIDER.index(one) <= _WIDER.index(other)
