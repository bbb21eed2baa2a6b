"""`jsonb @> constant`, unrolled into lookups: Spark has no such function.

An object contains an object if each of its keys is there and contains the value; an array contains an array
if each of its members is contained in some member; scalars are equal.  An array also contains a scalar that
is among its members.
"""

from __future__ import annotations

from typing import Any

from tailrace.errors import NotSupported
from tailrace.plan.build import call, conjunction, equal, is_null
from tailrace.plan.context import Context
from tailrace.plan.expressions import Call, Case, Expression, Literal
from tailrace.plan.functions.conditional import COALESCE
from tailrace.plan.functions.json import CONTAINS_MEMBER, FIELD
from tailrace.plan.value_json import print_json, read_json
from tailrace.types.core import BOOLEAN, JSONB, TEXT


def contains(context: Context, whole: Expression, part: Expression) -> Expression:
    if not (isinstance(part, Literal) and part.text is not None):
        raise NotSupported("jsonb @> with a right side that is not a constant not yet supported")
    result = _contains(whole, read_json(part.text), top=True)
    if not whole.nullable:
        return result
    null = Literal(text=None, type=BOOLEAN)
    return Case(branches=((is_null(whole), null),), otherwise=result, type=BOOLEAN)


def _contains(whole: Expression, part: Any, *, top: bool = False) -> Expression:
    if isinstance(part, dict):
        kind = _is_kind(whole, "object")
        members = (_contains(_field(whole, key), value) for key, value in part.items())
        return conjunction((kind, *map(_known, members)))
    if isinstance(part, list):
        if any(isinstance(member, dict | list) for member in part):
            raise NotSupported("jsonb @> with nested arrays not yet supported")
        return conjunction((_is_kind(whole, "array"), *(_has_member(whole, member) for member in part)))
    value = Literal(text=print_json(part), type=JSONB)
    same = _known(equal(whole, value))
    return call("or", (same, _has_member(whole, part)), BOOLEAN) if top else same


def _known(condition: Expression) -> Expression:
    """False instead of NULL: a key that is not there."""
    if not condition.nullable:
        return condition
    no = Literal(text="false", type=BOOLEAN)
    return Call(function=COALESCE, arguments=(condition, no), type=BOOLEAN, nullable=False)


def _field(whole: Expression, key: str) -> Expression:
    return call(FIELD, (whole, Literal(text=key, type=TEXT)), JSONB)


def _is_kind(whole: Expression, kind: str) -> Expression:
    return equal(call("jsonb_typeof(jsonb)", (whole,), TEXT), Literal(text=kind, type=TEXT))


def _has_member(whole: Expression, member: Any) -> Expression:
    return call(CONTAINS_MEMBER, (whole, Literal(text=print_json(member), type=JSONB)), BOOLEAN)
