"""From a constant's PostgreSQL text form to a Python value, strictly: every text that is none is an error.

int, Decimal, float, bool, str and bytes stand for themselves; a date is a date, a timestamp a datetime
(without zone; timestamptz in UTC), a time the µs of the day, an interval (months, days, µs), jsonb its
canonical text; lists are lists, maps dicts, records tuples, ranges RangeValues.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, assert_never

from tailrace.errors import DataError, InvalidText
from tailrace.plan.value_json import canonical_json
from tailrace.plan.value_nested import array_value, map_value, record_value
from tailrace.plan.value_ranges import range_value
from tailrace.plan.value_times import date_value, interval_value, time_value, timestamp_value
from tailrace.types.core import (
    ArrayOf,
    Char,
    Letter,
    ListOf,
    MapOf,
    Numeric,
    RangeOf,
    Record,
    Scalar,
    SqlType,
    Timestamp,
    TimestampTz,
    Varchar,
    VectorOf,
)
from tailrace.types.spark import UNSCALED_DIGITS

RANGES = {
    "smallint": (-(2**15), 2**15 - 1),
    "integer": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
    "uint2": (0, 2**16 - 1),
    "uint4": (0, 2**32 - 1),
    "uint8": (0, 2**64 - 1),
    "oid": (0, 2**32 - 1),
    "mz_timestamp": (0, 2**63 - 1),
}
"""Least and greatest value of each integer type."""


def parse_value(text: str, type: SqlType) -> Any:
    """The value of a text form.  Raises InvalidText (22P02), or DataError 22003 for a number out of range."""
    match type:
        case Scalar(name=name):
            return _scalar(text, name)
        case Numeric(scale=scale):
            return _numeric(text, UNSCALED_DIGITS if scale is None else scale)
        case Letter():
            return text[:1]
        case Varchar(length=length):
            return _varchar(text, length)
        case Char(length=length):
            return _varchar(text.rstrip(" "), length).ljust(length)
        case Timestamp(precision=precision):
            return timestamp_value(text, "timestamp", precision, zoned=False)
        case TimestampTz(precision=precision):
            return timestamp_value(text, "timestamp with time zone", precision, zoned=True)
        case VectorOf(element=element):
            return [parse_value(part, element) for part in text.split()]
        case ListOf(element=element) | ArrayOf(element=element):
            values = array_value(text, str(type), lambda part: parse_value(part, element), _braced(element))
            if isinstance(element, ArrayOf) and len({None if v is None else len(v) for v in values}) > 1:
                raise InvalidText(f'malformed array literal: "{text}"')
            return values
        case MapOf(value=value):
            return map_value(text, str(type), lambda part: parse_value(part, value))
        case Record(fields=fields):
            return record_value(text, [_parser(f.type) for f in fields])
        case RangeOf(element=element):
            return range_value(text, type, _parser(element))
        case _:
            assert_never(type)


def invalid(type_name: str, text: str) -> InvalidText:
    return InvalidText(f'invalid input syntax for type {type_name}: "{text}"')


def _parser(type: SqlType) -> Callable[[str], Any]:
    return lambda part: parse_value(part, type)


def _braced(element: SqlType) -> bool:
    """Are the elements themselves written in braces?"""
    return isinstance(element, ListOf | ArrayOf | MapOf)


def _scalar(text: str, name: str) -> Any:
    if name in RANGES:
        return _integer(text, name)
    reader = _READERS.get(name)
    return reader(text) if reader is not None else text


_WHOLE = re.compile(
    r"(?P<sign>[+-]?)(?:0(?P<base>[xXoObB])(?=_?[0-9a-fA-F]))?(?P<digits>_?[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)"
)


def _integer(text: str, name: str) -> int:
    stripped = text.strip()
    found = _WHOLE.fullmatch(stripped)
    if not found:
        raise invalid(name, text)
    base = {"x": 16, "o": 8, "b": 2}.get((found["base"] or "").lower(), 10)
    try:
        value = int(found["sign"] + found["digits"].replace("_", ""), base)
    except ValueError:
        raise invalid(name, text) from None
    least, most = RANGES[name]
    if not least <= value <= most:
        raise DataError(f'value "{text}" is out of range for type {name}', sqlstate="22003")
    return value


def _numeric(text: str, scale: int) -> Decimal:
    try:
        value = Decimal(re.sub(r"(?<=\d)_(?=\d)", "", text.strip()))
    except InvalidOperation:
        raise invalid("numeric", text) from None
    if not value.is_finite():
        raise DataError(f"numeric {text.strip()} is not supported", sqlstate="0A000")
    rounded = _rounded(value, scale)
    if abs(rounded) >= Decimal(10) ** (38 - scale):
        raise DataError("numeric field overflow", sqlstate="22003")
    return rounded


def _rounded(value: Decimal, scale: int) -> Decimal:
    """Half away from zero, exactly, whatever the context's precision."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits)) or "0")
    shift = exponent + scale
    if shift >= 0:
        number *= 10 ** min(shift, 200)
    else:
        unit = 10**-shift
        number = (number + unit // 2) // unit
    return Decimal((sign if number else 0, tuple(map(int, str(number))), -scale))


_MOST_REAL = 3.4028235677973366e38
"""Halfway from the greatest real to what would be the next: no real is as near to this or more."""


def _float(name: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        word = text.strip()
        if not re.fullmatch(
            r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf(inity)?|nan)", word, re.I
        ):
            raise invalid(name, text)
        value = float(word)
        if abs(value) >= (_MOST_REAL if name == "real" else float("inf")) and "inf" not in word.lower():
            raise DataError(f'"{text}" is out of range for type {name}', sqlstate="22003")
        return value

    return read


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word and ("true".startswith(word) or "yes".startswith(word) or word in ("on", "1")):
        return True
    if word and ("false".startswith(word) or "no".startswith(word) or word in ("of", "off", "0")):
        return False
    raise invalid("boolean", text)


def _bytea(text: str) -> bytes:
    if text.startswith("\\x"):
        for digit in text[2:]:
            if not digit.isspace() and digit not in "0123456789abcdefABCDEF":
                raise DataError(f'invalid hexadecimal digit: "{digit}"', sqlstate="22023")
        try:
            return bytes.fromhex(text[2:])
        except ValueError:
            raise DataError("invalid hexadecimal data: odd number of digits", sqlstate="22023") from None
    return re.sub(
        rb"\\(\\|[0-3][0-7]{2})",
        lambda m: b"\\" if m.group(1) == b"\\" else bytes([int(m.group(1), 8)]),
        text.encode(),
    )


def _uuid(text: str) -> str:
    try:
        return str(uuid.UUID(text.strip().strip("{}")))
    except ValueError:
        raise invalid("uuid", text) from None


def _varchar(text: str, length: int | None) -> str:
    """A literal's spare blanks are cut off; anything else too long is an error, as in an assignment."""
    if length is None or len(text) <= length:
        return text
    if text[length:].strip(" "):
        raise DataError(f"value too long for type character varying({length})", sqlstate="22001")
    return text[:length]


_READERS: dict[str, Callable[[str], Any]] = {
    "real": _float("real"),
    "double precision": _float("double precision"),
    "boolean": _boolean,
    "bytea": _bytea,
    "uuid": _uuid,
    "date": date_value,
    "time": time_value,
    "interval": interval_value,
    "jsonb": canonical_json,
}
