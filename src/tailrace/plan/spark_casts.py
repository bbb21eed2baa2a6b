"""Casts as Spark text, with PostgreSQL's meaning: numeric to integer rounds half away from zero, float to
integer to even, text is read strictly.
"""

from __future__ import annotations

from tailrace.plan.coercion import FLOATS, INTEGERS, UNSIGNED, family
from tailrace.plan.functions.json import canonical_json
from tailrace.plan.functions.operators import checked
from tailrace.plan.functions.times import micros
from tailrace.plan.raising import raising
from tailrace.plan.spark_text import text_form
from tailrace.types.core import (
    BOOLEAN,
    BYTEA,
    DATE,
    INTERVAL,
    JSONB,
    MZ_TIMESTAMP,
    NUMERIC,
    OID,
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
            hex = f"unhex(substring({value}, 3))"
            return f"CASE WHEN startswith({value}, '\\\\x') THEN {hex} ELSE CAST({value} AS binary) END"
        case t if t == UUID:
            pattern = "'^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$'"
            plain = f"replace(lower({value}), '-', '')"
            shaped = (
                f"regexp_replace({plain}, '^(.{{8}})(.{{4}})(.{{4}})(.{{4}})(.{{12}})$', '$1-$2-$3-$4-$5')"
            )
            return f"CASE WHEN NOT {value} RLIKE {pattern} THEN {_invalid('uuid', value)} ELSE {shaped} END"
        case t if t == JSONB:
            return canonical_json(value)
        case t if t == TIME:
            clock = f"concat('1970-01-01 ', trim({value}))"
            return f"unix_micros(CAST({clock} AS timestamp))"
        case t if t == INTERVAL:
            return _interval(value)
        case t if t in UNSIGNED or t == OID:
            return checked(f"CAST({value} AS decimal(38,0))", str(t))
        case t if t in (TIMESTAMP, TIMESTAMPTZ):
            return _to_precision(f"CAST({value} AS {spark_type(target)})", target)
        case ListOf() | ArrayOf() | MapOf() | Record():
            return _nested_text(value, target)
        case _:
            return f"CAST({value} AS {spark_type(target)})"


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


def _interval(value: str) -> str:
    """Spark reads amounts with units; the clock of PostgreSQL's own form is added by hand."""
    words = f"trim(regexp_replace({value}, '[+-]?\\\\d+:\\\\d+(:[\\\\d.]+)?$', ''))"
    spelled = f"regexp_replace({words}, '\\\\bmons?\\\\b', 'months')"
    span = f"CAST(CASE WHEN {words} = '' THEN '0 days' ELSE {spelled} END AS interval)"
    clock = f"regexp_extract({value}, '([+-]?)(\\\\d+):(\\\\d+)(?::([\\\\d.]+))?$', {{}})"
    sign = f"CASE WHEN {clock.format(1)} = '-' THEN -1 ELSE 1 END"
    seconds = (
        f"coalesce(CAST(nullif({clock.format(2)}, '') AS bigint), 0L) * 3600000000L"
        f" + coalesce(CAST(nullif({clock.format(3)}, '') AS bigint), 0L) * 60000000L"
        f" + coalesce(CAST(rint(CAST(nullif({clock.format(4)}, '') AS double) * 1000000) AS bigint), 0L)"
    )
    return (
        f"CASE WHEN {value} IS NOT NULL THEN named_struct('months',"
        f" CAST(extract(YEAR FROM {span}) * 12 + extract(MONTH FROM {span}) AS int),"
        f" 'days', CAST(extract(DAY FROM {span}) AS int),"
        f" 'micros', CAST(extract(HOUR FROM {span}) * 3600000000L"
        f" + extract(MINUTE FROM {span}) * 60000000L + extract(SECOND FROM {span}) * 1000000 AS bigint)"
        f" + {sign} * ({seconds})) END"
    )


def _nested_text(value: str, target: SqlType) -> str:
    """Lists and arrays of plain elements: `{1,2,NULL}`."""
    if not isinstance(target, ListOf | ArrayOf):
        return raising("0A000", f"casting text to {target} not yet supported")
    inner = f"regexp_replace({value}, '^\\\\s*\\\\{{|\\\\}}\\\\s*$', '')"
    parts = f"CASE WHEN trim({inner}) = '' THEN CAST(array() AS array<string>) ELSE split({inner}, ',') END"
    element = spark_cast("trim(BOTH '\"' FROM trim(e))", TEXT, target.element)
    return f"transform({parts}, e -> CASE WHEN upper(trim(e)) <> 'NULL' THEN {element} END)"


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
        return f"named_struct('months', 0, 'days', 0, 'micros', {value})"
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
    if isinstance(target, Numeric) and one in FLOATS:
        return f"CAST(CAST({value} AS double) AS {spark_type(target)})"
    return f"CAST({value} AS {spark_type(target)})"


def _record(value: str, source: Record, target: Record) -> str:
    fields = ", ".join(
        f"'f{i}', {spark_cast(f'{value}.f{i}', a.type, b.type)}"
        for i, (a, b) in enumerate(zip(source.fields, target.fields, strict=True))
    )
    return f"CASE WHEN {value} IS NOT NULL THEN named_struct({fields}) END"
