"""Which type becomes which, and when: implicitly (in any expression), by assignment (into a column), or when
asked.

A constant of unknown type and a parameter have no type of their own: they take the one they are wanted in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal as OneOf

from tailrace.errors import TypeMismatch
from tailrace.plan.expressions import Call, Cast, Expression, Literal, Parameter
from tailrace.plan.values import parse_value
from tailrace.types.core import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    JSONB,
    MZ_TIMESTAMP,
    NUMERIC,
    OID,
    REAL,
    SMALLINT,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UINT2,
    UINT4,
    UINT8,
    UNKNOWN,
    UUID,
    ArrayOf,
    Char,
    ListOf,
    MapOf,
    Numeric,
    Record,
    SqlType,
    Timestamp,
    TimestampTz,
    Varchar,
)

Context = OneOf["implicit", "assignment", "explicit"]

SIGNED = (SMALLINT, INTEGER, BIGINT)
UNSIGNED = (UINT2, UINT4, UINT8)
INTEGERS = (*SIGNED, *UNSIGNED, OID, MZ_TIMESTAMP)
FLOATS = (REAL, DOUBLE)
NUMBERS = (*SIGNED, *UNSIGNED, OID, NUMERIC, *FLOATS)

_IMPLICIT: dict[SqlType, tuple[SqlType, ...]] = {
    SMALLINT: (INTEGER, BIGINT, NUMERIC, DOUBLE, REAL, OID),
    INTEGER: (BIGINT, NUMERIC, DOUBLE, REAL, OID),
    BIGINT: (NUMERIC, DOUBLE, REAL, OID),
    UINT2: (UINT4, UINT8, INTEGER, BIGINT, NUMERIC, REAL, DOUBLE),
    UINT4: (UINT8, BIGINT, NUMERIC, REAL, DOUBLE),
    UINT8: (NUMERIC, REAL, DOUBLE),
    OID: (BIGINT,),
    NUMERIC: (DOUBLE, REAL),
    REAL: (DOUBLE,),
    DATE: (TIMESTAMP, TIMESTAMPTZ),
    TIMESTAMP: (TIMESTAMPTZ,),
    TIME: (INTERVAL,),
    MZ_TIMESTAMP: (NUMERIC, TIMESTAMP, TIMESTAMPTZ),
}
"""What a type becomes by itself, the nearest first."""

_ASSIGNMENT: dict[SqlType, tuple[SqlType, ...]] = {
    **{integer: (*INTEGERS, NUMERIC, *FLOATS) for integer in INTEGERS},
    NUMERIC: (*INTEGERS, *FLOATS),
    REAL: (*SIGNED, NUMERIC, *FLOATS, *UNSIGNED),
    DOUBLE: (*SIGNED, NUMERIC, *FLOATS, *UNSIGNED),
    TIMESTAMP: (DATE, TIME, TIMESTAMPTZ, MZ_TIMESTAMP),
    TIMESTAMPTZ: (DATE, TIME, TIMESTAMP, MZ_TIMESTAMP),
    INTERVAL: (TIME,),
}

_EXPLICIT: dict[SqlType, tuple[SqlType, ...]] = {
    BOOLEAN: (INTEGER, BIGINT),
    INTEGER: (BOOLEAN, BYTEA),
    BIGINT: (BOOLEAN, BYTEA),
    SMALLINT: (BYTEA,),
    JSONB: (BOOLEAN, *SIGNED, NUMERIC, *FLOATS, TEXT),
    UUID: (BYTEA,),
    DATE: (MZ_TIMESTAMP,),
}


def family(type: SqlType) -> SqlType:
    """The type without its length, scale or precision."""
    match type:
        case Numeric():
            return NUMERIC
        case Varchar() | Char():
            return TEXT
        case Timestamp():
            return TIMESTAMP
        case TimestampTz():
            return TIMESTAMPTZ
        case _:
            return type


def can_cast(source: SqlType, target: SqlType, context: Context) -> bool:
    if source in (target, UNKNOWN):
        return True
    one, other = family(source), family(target)
    if one == other:
        return context != "implicit" or target in (one, Varchar())
    if other in _IMPLICIT.get(one, ()):
        return context != "implicit" or target == other
    if context == "implicit":
        return _nested(source, target, context)
    if other == TEXT or other in _ASSIGNMENT.get(one, ()):
        return True
    if context == "explicit" and (one == TEXT or other in _EXPLICIT.get(one, ())):
        return True
    return _nested(source, target, context)


def _nested(source: SqlType, target: SqlType, context: Context) -> bool:
    match source, target:
        case (ListOf(element=a), ListOf(element=b)) | (ArrayOf(element=a), ArrayOf(element=b)):
            return can_cast(a, b, context)
        case (ListOf(element=a), ArrayOf(element=b)) | (ArrayOf(element=a), ListOf(element=b)):
            return context == "explicit" and can_cast(a, b, context)
        case MapOf(value=a), MapOf(value=b):
            return can_cast(a, b, context)
        case Record(fields=a), Record(fields=b):
            return len(a) == len(b) and all(
                can_cast(x.type, y.type, context) for x, y in zip(a, b, strict=True)
            )
        case _:
            return False


def distance(source: SqlType, target: SqlType) -> int | None:
    """How far the implicit cast is, 0 for none needed; None if there is none."""
    if source == target:
        return 0
    if not can_cast(source, target, "implicit"):
        return None
    nearest = _IMPLICIT.get(family(source), ())
    other = family(target)
    return 10 + nearest.index(other) * 10 if other in nearest else 1


def common_type(types: Iterable[SqlType]) -> SqlType | None:
    """The type that all of these become implicitly; unknowns do not count.  All unknown: text.  None: there
    is none.
    """
    result: SqlType = UNKNOWN
    for type in types:
        if type in (UNKNOWN, result):
            continue
        if result == UNKNOWN:
            result = type
        elif family(type) == family(result) or can_cast(result, family(type), "implicit"):
            result = family(type)
        elif not can_cast(type, family(result), "implicit"):
            return None
        else:
            result = family(result)
    return TEXT if result == UNKNOWN else result


def merged_type(types: Sequence[SqlType]) -> SqlType | None:
    """The type of what comes of several values: their common one.  Of varchar and text it is the first one's."""
    found = common_type(types)
    first = next((type for type in types if type != UNKNOWN), UNKNOWN)
    return Varchar() if found == TEXT and isinstance(first, Varchar) else found


def cast(expression: Expression, target: SqlType) -> Expression:
    """The expression as `target`; constants are converted at once.  Raises DataError for a bad constant."""
    if expression.type == target:
        return expression
    if isinstance(expression, Literal) and (expression.text is None or expression.type == UNKNOWN):
        return typed_literal(expression.text, target)
    if isinstance(expression, Parameter) and expression.type == UNKNOWN:
        return Parameter(number=expression.number, type=target)
    if isinstance(expression, Literal) and _widens(expression.type, target):
        return typed_literal(expression.text, target)
    return Cast(input=expression, type=target)


def _widens(source: SqlType, target: SqlType) -> bool:
    """Is a constant's text good for the wider type as well?"""
    return (source in SIGNED and target in (*SIGNED, NUMERIC, *FLOATS)) or (
        source == NUMERIC and target in FLOATS
    )


def typed_literal(text: str | None, type: SqlType) -> Literal:
    """A checked constant."""
    if text is not None:
        parse_value(text, type)
    return Literal(text=text, type=type)


def assign(expression: Expression, type: SqlType, column: str | None = None) -> Expression:
    """The expression as the value of a column of this type.  Raises TypeMismatch if there is no assignment
    cast.
    """
    if not can_cast(expression.type, type, "assignment"):
        place = f'column "{column}"' if column is not None else "target"
        raise TypeMismatch(
            f"{place} is of type {type} but expression is of type {expression.type}",
            hint="You will need to rewrite or cast the expression.",
        )
    if isinstance(type, Varchar | Char) and not isinstance(expression, Literal | Parameter):
        return Cast(input=_fitting(cast(expression, TEXT), type.length), type=type)
    return cast(expression, type)


def _fitting(text: Expression, length: int | None) -> Expression:
    """Text that may lose blanks at its end, and nothing else, to fit into so many characters."""
    if length is None:
        return text
    limit = Literal(text=str(length), type=INTEGER)
    return Call(function="fits(text, integer)", arguments=(text, limit), type=TEXT, nullable=text.nullable)
