"""Expressions as people write them: operators between their operands, columns by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from tailrace.plan.expressions import (
    Call,
    Case,
    Cast,
    Exists,
    Expression,
    InSubquery,
    Literal,
    OuterRef,
    Parameter,
    Ref,
    ScalarSubquery,
)
from tailrace.types.core import BOOLEAN, NUMERIC, SqlType

_BARE = frozenset(("smallint", "integer", "bigint", "real", "double precision", "uint2", "uint4", "uint8"))


def shown(expression: Expression, names: Sequence[str]) -> str:
    """The expression over columns of these names."""
    match expression:
        case Ref(index=index):
            return names[index] if index < len(names) else f"#{index}"
        case OuterRef(depth=depth, index=index):
            return f"outer{depth}.#{index}"
        case Literal():
            return _literal(expression)
        case Parameter(number=number):
            return f"${number}"
        case Call():
            return _call(expression, [shown(a, names) for a in expression.arguments])
        case Cast(input=inner, type=type):
            return f"{shown(inner, names)}::{_short(type)}"
        case Case():
            branches = " ".join(
                f"when {shown(c, names)} then {shown(v, names)}" for c, v in expression.branches
            )
            return f"case {branches} else {shown(expression.otherwise, names)} end"
        case ScalarSubquery():
            return "(subquery)"
        case Exists():
            return "exists (subquery)"
        case InSubquery(arguments=arguments):
            return f"({', '.join(shown(a, names) for a in arguments)}) in (subquery)"
        case _:
            assert_never(expression)


def _literal(literal: Literal) -> str:
    if literal.text is None:
        return "null"
    if literal.type in (BOOLEAN, NUMERIC) or str(literal.type) in _BARE:
        return literal.text
    quoted = "'" + literal.text.replace("'", "''") + "'"
    return quoted if str(literal.type) == "text" else f"{quoted}::{_short(literal.type)}"


def _short(type: SqlType) -> str:
    return str(type).removesuffix(" without time zone")


def _call(call: Call, arguments: Sequence[str]) -> str:
    name = call.function.partition("(")[0]
    match name, arguments:
        case (("and" | "or"), _):
            return "(" + f" {name} ".join(arguments) + ")"
        case "not", (inner,):
            return f"not {inner}"
        case "is null", (inner,):
            return f"{inner} is null"
        case (("is true" | "is false"), (inner,)):
            return f"{inner} {name}"
        case "is not distinct from", (one, other):
            return f"({one} is not distinct from {other})"
        case "in", (value, *members):
            return f"{value} in ({', '.join(members)})"
        case "canonical", (inner,):
            return inner
        case _, (one, other) if not name[0].isalpha() and name != "[]":
            return f"({one} {name} {other})"
        case _, (one,) if not name[0].isalpha():
            return f"{name}{one}"
        case _:
            return f"{name}({', '.join(arguments)})"
