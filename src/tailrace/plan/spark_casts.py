"""Casts as Spark text, with PostgreSQL's meaning: numeric to integer rounds half away from zero, float to
integer to even, text is read strictly.
"""

from __future__ import annotations

from tailrace.plan.coercion import FLOATS, INTEGERS, UNSIGNED, family
from tailrace.plan.functions import ranges
from tailrace.plan.functions.json import canonical_json
from tailrace.plan.functions.let import let
from tailrace.plan.functions.operators import checked
from tailrace.plan.functions.times import micros
from tailrace.plan.raising import raising
from tailrace.plan.spark_text import text_form
from tailrace.types.core import (
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTERVAL,
    JSONB,
    MZ_TIMESTAMP,
    NUMERIC,
    OID,
    REAL,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    ArrayOf,
    Char,
    ListOf,
    MapOf,
    Numeric,
    RangeOf,
    Record,
    SqlType,
    Timestamp,
    TimestampTz,
    Varchar,
)
from tailrace.types.spark import spark_type

_DAY = "86400000000L"


def spark_cast(value: str, source: SqlType, target: SqlType) -> str:
    """The text of `value`, of type `source`, as `target`."""
    if source == target:
        return value
    one, other = family(source), family(target)
    if other == TEXT:
        return _to_text(value, source, target)
    if one == other == TIMESTAMP or one == other == TIMESTAMPTZ:
        return _to_precision(value, target)
    if one == TEXT:
        return _from_text(value, target)
    if one == JSONB:
        return _from_json(value, target)
    if other in UNSIGNED or other == OID:
        return checked(_to_integer(value, one, "decimal(38,0)"), str(other))
    if other in INTEGERS and other != MZ_TIMESTAMP:
        return _to_integer(value, one, spark_type(target))
    return _other(value, source, target)


def _to_integer(value: str, source: SqlType, spark: str) -> str:
    if source in FLOATS:
        return f"CAST(rint({value}) AS {spark})"
    if source == NUMERIC:
        return f"CAST(round({value}, 0) AS {spark})"
    return f"CAST({value} AS {spark})"


def _to_text(value: str, source: SqlType, target: SqlType) -> str:
    text = text_form(value, source)
    match target:
        case Varchar(length=int() as length):
            return f"left({text}, {length})"
        case Char(length=length):
            return f"rpad({text}, {length}, ' ')"
        case _:
            return text


def _to_precision(value: str, target: SqlType) -> str:
    """Rounded to so many digits of a second, half up."""
    precision = target.precision if isinstance(target, Timestamp | TimestampTz) else None
    if precision is None or precision == 6:
        return value
    unit = 10 ** (6 - precision)
    rounded = (
        f"timestamp_micros(({micros(value)} + {unit // 2}L) - pmod({micros(value)} + {unit // 2}L, {unit}L))"
    )
    return f"CAST({rounded} AS {spark_type(target)})"


def _from_text(value: str, target: SqlType) -> str:
    match family(target):
        case t if t == BOOLEAN:
            return _boolean(value)
        case t if t == BYTEA:
            return f"tailrace_decode({value}, 'bytea')"
        case t if t == UUID:
            pattern = "'^\\\\s*[{]?[0-9a-fA-F]{4}(-?[0-9a-fA-F]{4}){7}[}]?\\\\s*$'"
            plain = f"regexp_replace(lower({value}), '[^0-9a-f]', '')"
            shaped = (
                f"regexp_replace({plain}, '^(.{{8}})(.{{4}})(.{{4}})(.{{4}})(.{{12}})$', '$1-$2-$3-$4-$5')"
            )
            return f"CASE WHEN NOT {value} RLIKE {pattern} THEN {_invalid('uuid', value)} ELSE {shaped} END"
        case t if t == JSONB:
            return canonical_json(value)
        case t if t == TIME:
            return f"tailrace_clock({value})"
        case t if t == INTERVAL:
            return f"tailrace_span({value})"
        case t if t == DATE:
            return f"CAST(timestamp_micros(tailrace_moment({value}, 'date')) AS date)"
        case t if t in UNSIGNED or t == OID:
            return checked(f"CAST({value} AS decimal(38,0))", str(t))
        case t if t in (TIMESTAMP, TIMESTAMPTZ):
            name = "timestamp" if t == TIMESTAMP else "timestamp with time zone"
            moment = f"timestamp_micros(tailrace_moment({value}, '{name}'))"
            return _to_precision(f"CAST({moment} AS {spark_type(target)})", target)
        case ListOf() | ArrayOf() | MapOf() | Record():
            return _nested_text(value, target)
        case RangeOf() as type:
            return ranges.from_text(value, type, spark_cast)
        case t if t in FLOATS:
            return let({"x": value}, _float("{x}", target))
        case _:
            return f"CAST({value} AS {spark_type(target)})"


def _float(value: str, target: SqlType) -> str:
    """Java would read `1d`, and make infinity of 1e400."""
    number = f"CAST({value} AS {spark_type(target)})"
    large = raising("22003", f'"{{}}" is out of range for type {target}', value)
    said = f"lower(trim({value})) RLIKE '^[+-]?inf(inity)?$'"
    return (
        f"CASE WHEN lower(right(rtrim({value}), 1)) IN ('d', 'f') AND NOT {said} THEN {_invalid(str(target), value)}"
        f" WHEN abs({number}) = double('Infinity') AND NOT {said} THEN {large} ELSE {number} END"
    )


def _invalid(type_name: str, value: str) -> str:
    return raising("22P02", f'invalid input syntax for type {type_name}: "{{}}"', value)


_TRUE = "'t', 'tr', 'tru', 'true', 'y', 'ye', 'yes', 'on', '1'"
_FALSE = "'f', 'fa', 'fal', 'fals', 'false', 'n', 'no', 'of', 'off', '0'"


def _boolean(value: str) -> str:
    return (
        f"CASE WHEN lower(trim({value})) IN ({_TRUE}) THEN true"
        f" WHEN lower(trim({value})) IN ({_FALSE}) THEN false"
        f" WHEN {value} IS NULL THEN CAST(NULL AS boolean) ELSE {_invalid('boolean', value)} END"
    )


def _nested_text(value: str, target: SqlType) -> str:
    """Lists and arrays: `{1,2,NULL}`."""
    if not isinstance(target, ListOf | ArrayOf):
        return raising("0A000", f"casting text to {target} not yet supported")
    element = spark_cast("e", TEXT, target.element)
    return f"transform(tailrace_elements({value}), e -> {element})"


def _from_json(value: str, target: SqlType) -> str:
    """A JSON number or boolean; anything else is an error, JSON null is NULL."""
    if target == BOOLEAN:
        wrong = raising("22023", "cannot cast jsonb {} to type boolean", value)
        cases = "WHEN 'true' THEN true WHEN 'false' THEN false WHEN 'null' THEN NULL"
        return f"CASE trim({value}) {cases} ELSE {wrong} END"
    wrong = raising("22023", f"cannot cast jsonb {{}} to type {target}", value)
    number = f"CAST(trim({value}) AS {'double' if target in FLOATS else 'decimal(38,18)'})"
    result = spark_cast(number, target if target in FLOATS else NUMERIC, target)
    return (
        f"CASE WHEN trim({value}) = 'null' THEN NULL WHEN trim({value}) RLIKE '^-?\\\\d' THEN {result}"
        f" ELSE {wrong} END"
    )


def _other(value: str, source: SqlType, target: SqlType) -> str:
    one, other = family(source), family(target)
    if other == TIME:
        if one == INTERVAL:
            return f"pmod({value}.micros, {_DAY})"
        return f"pmod({micros(value)}, {_DAY})"
    if one == TIME and other == INTERVAL:
        span = f"named_struct('months', 0, 'days', 0, 'micros', {value})"
        return f"CAST(CASE WHEN {value} IS NOT NULL THEN {span} END AS {spark_type(INTERVAL)})"
    if one == MZ_TIMESTAMP and other in (TIMESTAMP, TIMESTAMPTZ):
        return f"CAST(timestamp_millis({value}) AS {spark_type(target)})"
    if other == MZ_TIMESTAMP and one in (TIMESTAMP, TIMESTAMPTZ, DATE):
        return f"unix_millis(CAST({value} AS timestamp))"
    if other == BYTEA:
        return f"unhex(replace({value}, '-', ''))" if one == UUID else f"CAST({value} AS binary)"
    if isinstance(source, ListOf | ArrayOf) and isinstance(target, ListOf | ArrayOf):
        return f"transform({value}, e -> {spark_cast('e', source.element, target.element)})"
    if isinstance(source, MapOf) and isinstance(target, MapOf):
        return f"transform_values({value}, (k, e) -> {spark_cast('e', source.value, target.value)})"
    if isinstance(source, Record) and isinstance(target, Record):
        return _record(value, source, target)
    if other in (TIMESTAMP, TIMESTAMPTZ):
        return _to_precision(f"CAST({value} AS {spark_type(target)})", target)
    if one == DOUBLE and other == REAL:
        large = raising("22003", "value out of range: overflow")
        finite = "abs({x}) < double('Infinity') AND abs(CAST({x} AS float)) = double('Infinity')"
        return let({"x": value}, f"CASE WHEN {finite} THEN {large} ELSE CAST({{x}} AS float) END")
    if isinstance(target, Numeric) and one in FLOATS:
        return _float_to_numeric(f"CAST({value} AS double)", _RELIABLE_DIGITS[one == REAL], spark_type(target))
    return f"CAST({value} AS {spark_type(target)})"


_RELIABLE_DIGITS = (15, 6)  # of a double and of a real: what PostgreSQL takes over, 0.1 + 0.2 being 0.3


def _float_to_numeric(value: str, digits: int, spark: str) -> str:
    """NaN and infinities are left to Spark's cast, which fails."""
    rounded = f"CAST(format_string('%.{digits - 1}e', {{x}}) AS {spark})"
    finite = "abs({x}) < double('Infinity')"
    return let({"x": value}, f"CASE WHEN {finite} THEN {rounded} ELSE CAST({{x}} AS {spark}) END")


def _record(value: str, source: Record, target: Record) -> str:
    fields = ", ".join(
        f"'f{i}', {spark_cast(f'{value}.f{i}', a.type, b.type)}"
        for i, (a, b) in enumerate(zip(source.fields, target.fields, strict=True))
    )
    return f"CASE WHEN {value} IS NOT NULL THEN named_struct({fields}) END"
