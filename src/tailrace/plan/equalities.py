"""The equalities of a join: pairs of expressions, one over each side, that the condition says are equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from tailrace.plan.expressions import Call, Expression, OuterRef, Ref
from tailrace.plan.nodes import Join
from tailrace.types.spark import spark_type

_INEXACT = ("float", "double")  # 0.0 = -0.0, but their hashes differ


def conjuncts(condition: Expression) -> Iterator[Expression]:
    """The parts of a condition that must all be true."""
    if isinstance(condition, Call) and condition.function == "and":
        for part in condition.arguments:
            yield from conjuncts(part)
    else:
        yield condition


def equalities(join: Join) -> list[tuple[Expression, Expression]]:
    """(left, right), each over its own side's row, and of types whose equal values hash alike."""
    width = len(join.left.schema)
    found = []
    for part in conjuncts(join.condition):
        if not (isinstance(part, Call) and part.function == "="):
            continue
        one, other = part.arguments
        if _side(one, width) == "right" and _side(other, width) == "left":
            one, other = other, one
        if _side(one, width) != "left" or _side(other, width) != "right":
            continue
        type = spark_type(one.type)
        if type == spark_type(other.type) and not any(word in type for word in _INEXACT):
            found.append((one, _shifted(other, -width)))
    return found


def _side(expression: Expression, width: int) -> str | None:
    places = {ref.index for ref in _refs(expression)}
    if not places or any(True for _ in _refs(expression, OuterRef)):
        return None
    if max(places) < width:
        return "left"
    return "right" if min(places) >= width else None


def _refs(value: Any, kind: type = Ref) -> Iterator[Any]:
    if isinstance(value, kind):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _refs(each, kind)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _refs(getattr(value, field.name), kind)


def _shifted(value: Any, by: int) -> Any:
    """The same expression with every column `by` places further."""
    if isinstance(value, Ref):
        return replace(value, index=value.index + by)
    if isinstance(value, tuple):
        return tuple(_shifted(each, by) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: _shifted(getattr(value, f.name), by) for f in fields(value) if f.init}
        return replace(value, **changed)
    return value
