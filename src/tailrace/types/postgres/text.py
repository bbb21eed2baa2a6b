"""PostgreSQL's text form of a column: what psql shows, what COPY writes, what `FORMAT TEXT` sends.

Whole Arrow columns become string columns; Python sees single values only of bytea, interval and odd floats.
Numbers come without trailing zeros, timestamps in UTC, map keys sorted.
"""

from __future__ import annotations

from typing import Any, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.types.core import (
    ArrayOf,
    Char,
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
from tailrace.types.postgres.columns import concat, list_parts, plain, strings, where_valid

# RE2's \s lacks \v, which PostgreSQL counts as a space.
_SPACE = r"\t\n\v\f\r "
ODD_ELEMENT = r'(?i)^$|^null$|[{}",\\' + _SPACE + "]"
"""Matches what needs quotes as an element of an array; for RE2 and for Python."""
_ODD_ENTRY = r'(?i)^$|^null$|[{}",=>\\' + _SPACE + "]"
_ODD_BOUND = r'[()\[\]",\\' + _SPACE + "]"
_ODD_FIELD = r'^$|[()",\\' + _SPACE + "]"

_DAY_MICROS = 86_400_000_000


def text_form(values: pa.Array, type: SqlType) -> pa.Array:
    """A string column of the same length; NULL stays NULL."""
    values = plain(values)
    if pa.types.is_null(values.type):
        return values.cast(pa.string())
    match type:
        case Scalar(name=name):
            return _scalar(values, name)
        case Numeric():
            return numeric_text(values)
        case Varchar():
            return values.cast(pa.string())
        case Char(length=length):
            return pc.utf8_rpad(values.cast(pa.string()), width=length)
        case Timestamp():
            return timestamp_text(values)
        case TimestampTz():
            return timestamp_text(values, zone="+00")
        case VectorOf(element=element):
            offsets, elements = list_parts(values)
            return where_valid(values, _joined(offsets, text_form(elements, element), " "))
        case ListOf(element=element) | ArrayOf(element=element):
            return _list(values, element)
        case MapOf(value=value):
            return _map(values, value)
        case Record():
            return _record(values, type)
        case RangeOf(element=element):
            return _range(values, element)
        case _:
            assert_never(type)


def _scalar(values: pa.Array, name: str) -> pa.Array:
    match name:
        case "boolean":
            return pc.if_else(values, "t", "f")
        case "real" | "double precision":
            return float_text(values)
        case "bytea":
            return strings(None if v is None else "\\x" + v.hex() for v in values.to_pylist())
        case "date":
            return _christian_era(values.cast(pa.string()))
        case "time":
            return time_text(values)
        case "interval":
            return _interval(values)
        case "uint8":
            return numeric_text(values)
        case _:  # integers, and what is held as text already
            return values.cast(pa.string())


def numeric_text(values: pa.Array) -> pa.Array:
    """Plain digits, never an exponent, no trailing zeros: Arrow's own cast writes 0E-18."""
    if not pa.types.is_decimal(values.type):
        return values.cast(pa.string())
    scale = values.type.scale
    values = values.cast(pa.decimal128(38, scale))
    whole_numbers = pa.Array.from_buffers(
        pa.decimal128(38, 0), len(values), values.buffers(), offset=values.offset
    )
    digits = whole_numbers.cast(pa.string())
    if scale == 0:
        return digits
    sign = pc.if_else(pc.starts_with(digits, "-"), "-", "")
    digits = pc.utf8_lpad(pc.utf8_ltrim(digits, "-"), width=scale + 1, padding="0")
    whole = pc.utf8_slice_codeunits(digits, 0, -scale)
    fraction = pc.utf8_rtrim(pc.utf8_slice_codeunits(digits, -scale), "0")
    return pc.utf8_rtrim(concat(sign, whole, ".", fraction), ".")


def float_text(values: pa.Array) -> pa.Array:
    """The fewest digits that read back as the same float.  Exponents from 1e15 (real: 1e6) and below 1e-4."""
    values = values if pa.types.is_floating(values.type) else values.cast(pa.float64())
    numbers = values.to_numpy(zero_copy_only=False)
    magnitude = np.abs(numbers)
    limit = 1e6 if pa.types.is_float32(values.type) else 1e15
    plain_range = (magnitude < limit) & (magnitude >= 1e-4) | (magnitude == 0)  # false of NaN, hence of NULL
    texts = values.cast(pa.string())
    has_exponent = pc.fill_null(pc.match_substring(texts, "e"), False).to_numpy(zero_copy_only=False)
    odd = ~plain_range | has_exponent
    if not odd.any():
        return texts
    corrected = strings(_odd_float(numbers[i], plain_range[i]) if odd[i] else None for i in range(len(odd)))
    return where_valid(values, pc.coalesce(corrected, texts))


def _odd_float(number: np.floating, in_plain_range: bool) -> str:
    """What Arrow prints otherwise than PostgreSQL: it changes to exponents at other places."""
    if np.isnan(number):
        return "NaN"
    if np.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if in_plain_range:
        return np.format_float_positional(number, unique=True, trim="-")
    return np.format_float_scientific(number, unique=True, trim="-", exp_digits=2)


def timestamp_text(values: pa.Array, zone: str = "") -> pa.Array:
    """`2024-07-03 18:43:05.3`, in UTC, with `zone` behind it."""
    instants = timestamp_micros(values).cast(pa.timestamp("us"))
    return _christian_era(concat(_without_zeros(instants.cast(pa.string())), zone))


def timestamp_micros(values: pa.Array) -> pa.Array:
    """Microseconds since 1970 of a timestamp column, whatever its unit and zone."""
    kind = values.type
    if pa.types.is_timestamp(kind) and kind.unit != "us":
        values = values.cast(pa.timestamp("us", kind.tz), safe=False)
    return values.cast(pa.int64())


def time_text(values: pa.Array) -> pa.Array:
    """`18:43:05.3` from the µs of the day.  24:00:00 is a time too."""
    micros = values.cast(pa.int64())
    clock = pc.utf8_slice_codeunits(micros.cast(pa.timestamp("us")).cast(pa.string()), len("1970-01-01 "))
    return pc.if_else(pc.equal(micros, _DAY_MICROS), "24:00:00", _without_zeros(clock))


def _without_zeros(clocks: pa.Array) -> pa.Array:
    """Times that end in six digits of a second, cut to those that matter."""
    return pc.utf8_rtrim(pc.utf8_rtrim(clocks, "0"), ".")


def _christian_era(dates: pa.Array) -> pa.Array:
    """Year 0 is 1 BC to PostgreSQL; Arrow counts on below zero."""
    before = pc.match_substring_regex(dates, "^(-|0000-)")
    if not pc.any(before).as_py():
        return dates
    corrected = strings(_before_christ(d) if b else None for d, b in zip(*_lists(dates, before), strict=True))
    return pc.coalesce(corrected, dates)


def _before_christ(date: str) -> str:
    year, rest = date[1:].split("-", 1) if date.startswith("-") else date.split("-", 1)
    return f"{int(year) + 1:04d}-{rest} BC"


def _lists(*arrays: pa.Array) -> tuple[list[Any], ...]:
    return tuple(array.to_pylist() for array in arrays)


def _interval(values: pa.Array) -> pa.Array:
    parts = zip(*_lists(*values.flatten(), values.is_valid()), strict=True)
    return strings(interval_text(*part) if is_valid else None for *part, is_valid in parts)


def interval_text(months: int, days: int, micros: int) -> str:
    """`1 year 2 mons 3 days 04:05:06.7`.  A part after a negative one shows its plus sign."""
    years = abs(months) // 12 * (1 if months >= 0 else -1)
    words: list[str] = []
    after_negative = False
    for amount, unit in ((years, "year"), (months - 12 * years, "mon"), (days, "day")):
        if amount:
            plus = "+" if after_negative and amount > 0 else ""
            words.append(f"{plus}{amount} {unit}{'' if amount == 1 else 's'}")
            after_negative = amount < 0
    if micros or not words:
        sign = "-" if micros < 0 else "+" if after_negative else ""
        words.append(sign + _clock(abs(micros)))
    return " ".join(words)


def _clock(micros: int) -> str:
    seconds, fraction = divmod(micros, 1_000_000)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{clock}.{fraction:06d}".rstrip("0") if fraction else clock


def _list(values: pa.Array, element: SqlType) -> pa.Array:
    """`{a,NULL,"x y"}`; of arrays and lists alike."""
    offsets, elements = list_parts(values)
    parts = _member(elements, element, ODD_ELEMENT)
    return _braces(values, offsets, parts)


def _map(values: pa.Array, value: SqlType) -> pa.Array:
    """`{a=>1,b=>2}`, by key."""
    offsets, entries = list_parts(values)
    keys, items = entries.flatten()
    parts = concat(_quoted(keys.cast(pa.string()), _ODD_ENTRY, "\\"), "=>", _member(items, value, _ODD_ENTRY))
    rows = np.repeat(np.arange(len(values)), np.diff(offsets.to_numpy()))
    order = pc.sort_indices(
        pa.table({"row": rows, "key": keys}), sort_keys=[("row", "ascending"), ("key", "ascending")]
    )
    return _braces(values, offsets, parts.take(order))


def _braces(values: pa.Array, offsets: pa.Array, parts: pa.Array) -> pa.Array:
    return where_valid(values, concat("{", _joined(offsets, parts, ","), "}"))


def _joined(offsets: pa.Array, parts: pa.Array, separator: str) -> pa.Array:
    return pc.binary_join(pa.ListArray.from_arrays(offsets.cast(pa.int32()), parts), separator)


def _member(values: pa.Array, type: SqlType, odd: str) -> pa.Array:
    """Text forms as they stand within braces.  Lists, arrays and maps stand there bare."""
    texts = text_form(values, type)
    if not isinstance(type, ListOf | ArrayOf | MapOf):
        texts = _quoted(texts, odd, "\\")
    return pc.fill_null(texts, "NULL")


def _record(values: pa.Array, type: Record) -> pa.Array:
    """`(1,"a b",)`: NULL is nothing at all, and quotes are doubled instead of escaped."""
    texts = (text_form(field, c.type) for field, c in zip(values.flatten(), type.fields, strict=True))
    fields = [pc.fill_null(_quoted(text, _ODD_FIELD, '"'), "") for text in texts]
    if not fields:
        return where_valid(values, strings("()" for _ in range(len(values))))
    joined = pc.binary_join_element_wise(*fields, pa.scalar(","))
    return where_valid(values, concat("(", joined, ")"))


def _range(values: pa.Array, element: SqlType) -> pa.Array:
    """`[1,5)`, `(,"2024-07-03 18:43:05"]`, `empty`."""
    holds, lower, after, _, upper, until = values.flatten()
    low, high = (pc.fill_null(_quoted(text_form(b, element), _ODD_BOUND, '"'), "") for b in (lower, upper))
    opening = pc.if_else(pc.or_(after, lower.is_null()), "(", "[")
    shown = concat(opening, low, ",", high, pc.if_else(until, "]", ")"))
    return where_valid(values, pc.if_else(holds, shown, "empty"))


def _quoted(texts: pa.Array, odd: str, escape: str) -> pa.Array:
    """In double quotes where `odd` matches.  `escape` goes before a quote, a backslash before a backslash."""
    needed = pc.match_substring_regex(texts, odd)
    if not pc.any(needed).as_py():
        return texts
    escaped = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', escape + '"')
    return pc.if_else(needed, concat('"', escaped, '"'), texts)
