"""PostgreSQL's text form of a value, as Spark text: what `x::text` means."""

from __future__ import annotations

from typing import assert_never

from tailrace.plan.functions.json import canonical_json
from tailrace.plan.functions.let import let
from tailrace.types.core import (
    DOUBLE,
    REAL,
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


def text_form(value: str, type: SqlType) -> str:
    match type:
        case Scalar(name=name):
            return _scalar(value, name)
        case Numeric(scale=scale):
            return f"CAST({value} AS string)" if scale == 0 else _trimmed(f"CAST({value} AS string)")
        case Varchar():
            return value
        case Char():
            return f"rtrim({value})"
        case Timestamp():
            return f"CAST({value} AS string)"
        case TimestampTz():
            return f"concat(CAST({value} AS string), '+00')"
        case VectorOf():
            return f"array_join({value}, ' ')"
        case ListOf(element=element) | ArrayOf(element=element):
            return _elements(value, element)
        case MapOf(value=element):
            return _entries(value, element)
        case Record(fields=fields):
            return _record(value, [f.type for f in fields])
        case RangeOf(element=element):
            return let({"r": value}, _range("{r}", element))
        case _:
            assert_never(type)


def _trimmed(digits: str) -> str:
    """Without zeros after the point, and without a point that nothing follows."""
    return f"rtrim('.', rtrim('0', {digits}))"


def _scalar(value: str, name: str) -> str:
    match name:
        case "real":
            return float_text(value, REAL)
        case "double precision":
            return float_text(value, DOUBLE)
        case "bytea":
            return f"concat('\\\\x', lower(hex({value})))"
        case "time":
            return _clock(value)
        case "interval":
            return let({"i": value}, _interval("{i}"))
        case "jsonb":
            return canonical_json(value)
        case "text" | "uuid" | "unknown":
            return value
        case _:
            return f"CAST({value} AS string)"


def float_text(value: str, type: SqlType) -> str:
    """The fewest digits that read back as the same number."""
    return f"tailrace_float_text(CAST({value} AS double), {'true' if type == REAL else 'false'})"


def _clock(micros: str) -> str:
    seconds = f"CAST(timestamp_micros({micros}) AS timestamp_ntz)"
    return (
        f"CASE WHEN {micros} = 86400000000L THEN '24:00:00' ELSE substring(CAST({seconds} AS string), 12) END"
    )


def _interval(i: str) -> str:
    """`1 year 2 mons 3 days 04:05:06.7`; a part after a negative one shows its plus sign."""
    years, months = f"({i}.months div 12)", f"({i}.months % 12)"
    negative_years, negative_months = f"{years} < 0", f"({months} < 0 OR ({months} = 0 AND {years} < 0))"
    negative_days = f"({i}.days < 0 OR ({i}.days = 0 AND {negative_months}))"
    micros = f"abs({i}.micros)"
    hours = f"CAST({micros} div 3600000000L AS string)"
    clock = (
        f"concat(CASE WHEN {i}.micros < 0 THEN '-' WHEN {negative_days} THEN '+' ELSE '' END,"
        f" lpad({hours}, greatest(2, char_length({hours})), '0'), ':',"
        f" lpad(CAST({micros} div 60000000L % 60 AS string), 2, '0'), ':',"
        f" lpad(CAST({micros} div 1000000L % 60 AS string), 2, '0'),"
        f" CASE WHEN {micros} % 1000000L = 0 THEN '' ELSE"
        f" concat('.', rtrim('0', lpad(CAST({micros} % 1000000L AS string), 6, '0'))) END)"
    )
    parts = ", ".join(
        (
            _part(years, "year", "false"),
            _part(months, "mon", negative_years),
            _part(f"{i}.days", "day", negative_months),
            f"CASE WHEN {i}.micros <> 0 OR ({i}.months = 0 AND {i}.days = 0) THEN {clock} END",
        )
    )
    return f"CASE WHEN {i} IS NOT NULL THEN concat_ws(' ', {parts}) END"


def _part(amount: str, unit: str, after_negative: str) -> str:
    return (
        f"CASE WHEN {amount} <> 0 THEN"
        f" concat(CASE WHEN {after_negative} AND {amount} > 0 THEN '+' ELSE '' END,"
        f" CAST({amount} AS string), ' {unit}', CASE WHEN {amount} = 1 THEN '' ELSE 's' END) END"
    )


_ODD = "'^$|^(?i:null)$|[{}\",\\\\\\\\\\\\s]'"


def _quoted(text: str, odd: str = _ODD) -> str:
    escaped = f"regexp_replace({text}, '([\"\\\\\\\\])', '\\\\\\\\$1')"
    return f"CASE WHEN {text} RLIKE {odd} THEN concat('\"', {escaped}, '\"') ELSE {text} END"


def _member(value: str, element: SqlType) -> str:
    text = text_form(value, element)
    if isinstance(element, ListOf | ArrayOf | MapOf):
        return f"coalesce({text}, 'NULL')"
    return f"coalesce({_quoted(text)}, 'NULL')"


def _elements(value: str, element: SqlType) -> str:
    """A boolean within braces is t or f."""
    member = "CASE WHEN e THEN 't' WHEN NOT e THEN 'f' ELSE 'NULL' END"
    if element != Scalar("boolean"):
        member = _member("e", element)
    return f"concat('{{', array_join(transform({value}, e -> {member}), ','), '}}')"


def _entries(value: str, element: SqlType) -> str:
    entry = f"concat({_quoted('e.key')}, '=>', {_member('e.value', element)})"
    return f"concat('{{', array_join(transform(array_sort(map_entries({value})), e -> {entry}), ','), '}}')"


def _record(value: str, types: list[SqlType]) -> str:
    odd = "'^$|[()\",\\\\\\\\\\\\s]'"
    parts = [f"coalesce({_quoted(text_form(f'{value}.f{i}', t), odd)}, '')" for i, t in enumerate(types)]
    joined = ", ',', ".join(parts) or "''"
    return f"CASE WHEN {value} IS NOT NULL THEN concat('(', {joined}, ')') END"


def _range(value: str, element: SqlType) -> str:
    """`[1,5)`, `(,"2024-07-03 18:43:05"]`, `empty`: what holds a space is in quotes."""
    lower, upper = (text_form(f"{value}.{bound}", element) for bound in ("lower", "upper"))
    if isinstance(element, Timestamp | TimestampTz):
        lower, upper = (f"concat('\"', {text}, '\"')" for text in (lower, upper))
    opening = f"CASE WHEN {value}.after OR {value}.lower IS NULL THEN '(' ELSE '[' END"
    closing = f"CASE WHEN {value}.until THEN ']' ELSE ')' END"
    shown = f"concat({opening}, coalesce({lower}, ''), ',', coalesce({upper}, ''), {closing})"
    return f"CASE WHEN {value}.holds THEN {shown} WHEN NOT {value}.holds THEN 'empty' END"
