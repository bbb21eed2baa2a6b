"""From the text of a field to a value of its type, as Flink's formats read it: Spark SQL text.

Messages are first taken apart into texts (from_json, from_csv), so that a field that does not fit can be told from one
that is not there: `bad` is true for the first, `value` is NULL for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from tailrace.errors import NotSupported
from tailrace.types.core import (
    ArrayOf,
    Char,
    ListOf,
    MapOf,
    Numeric,
    RangeOf,
    Record,
    Scalar,
    Schema,
    SqlType,
    Timestamp,
    TimestampTz,
    Varchar,
)
from tailrace.types.spark import spark_type

SQL, ISO = "SQL", "ISO-8601"

_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MICROS = 1_000_000


def name_in_ddl(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def texts_type(type: SqlType) -> str:
    """Spark's type of a field before its leaves have theirs: all of them are texts."""
    match type:
        case ListOf(element=element) | ArrayOf(element=element):
            return f"array<{texts_type(element)}>"
        case MapOf(value=value):
            return f"map<string,{texts_type(value)}>"
        case Record(fields=fields):
            return texts_struct(fields)
        case _:
            return "string"


def texts_struct(fields: Schema) -> str:
    return "struct<" + ",".join(f"{name_in_ddl(f.name)}:{texts_type(f.type)}" for f in fields) + ">"


def value(x: str, type: SqlType, standard: str = SQL, depth: int = 0) -> str:
    """The value of a text, or of lists, maps and structs of texts; NULL where it is none."""
    match type:
        case ListOf(element=element) | ArrayOf(element=element):
            return f"transform({x}, e{depth} -> {value(f'e{depth}', element, standard, depth + 1)})"
        case MapOf(value=inner):
            return f"transform_values({x}, (k{depth}, v{depth}) -> {value(f'v{depth}', inner, standard, depth + 1)})"
        case Record(fields=fields):
            inside = (
                f"{value(f'{x}.{name_in_ddl(f.name)}', f.type, standard, depth)} AS f{i}" for i, f in enumerate(fields)
            )
            return f"CASE WHEN {x} IS NOT NULL THEN struct({', '.join(inside)}) END"
        case _:
            return _leaf(x, type, standard)


def bad(x: str, type: SqlType, standard: str = SQL, depth: int = 0) -> str:
    """Whether something is there that is no value of the type.  Never NULL."""
    match type:
        case ListOf(element=element) | ArrayOf(element=element):
            return f"coalesce(exists({x}, e{depth} -> {bad(f'e{depth}', element, standard, depth + 1)}), false)"
        case MapOf(value=inner):
            each = bad(f"e{depth}", inner, standard, depth + 1)
            return f"coalesce(exists(map_values({x}), e{depth} -> {each}), false)"
        case Record(fields=fields):
            return any_of([bad(f"{x}.{name_in_ddl(f.name)}", f.type, standard, depth) for f in fields])
        case _:
            if _leaf(x, type, standard) == x:
                return "false"
            return f"({x} IS NOT NULL AND {_leaf(x, type, standard)} IS NULL)"


def any_of(conditions: Sequence[str]) -> str:
    real = [condition for condition in conditions if condition != "false"]
    return "(" + " OR ".join(real) + ")" if real else "false"


def _leaf(x: str, type: SqlType, standard: str) -> str:
    match type:
        case Scalar(name=name):
            return _scalar(x, name)
        case Numeric():
            return f"try_cast(trim({x}) AS {spark_type(type)})"
        case Varchar() | Char():
            return x
        case Timestamp(precision=digits):
            return _cut(_timestamp(x, "timestamp_ntz", "", standard), digits, "timestamp_ntz")
        case TimestampTz(precision=digits):
            return _cut(_timestamp(x, "timestamp", "Z", standard), digits, "timestamp")
        case ListOf() | ArrayOf() | MapOf() | Record() | RangeOf():
            raise NotSupported(f"type {type} inside text not supported")
        case _:
            assert_never(type)


def _scalar(x: str, name: str) -> str:
    match name:
        case "text":
            return x
        case "boolean":
            return f"CASE lower(trim({x})) WHEN 'true' THEN true WHEN 'false' THEN false END"
        case "bytea":
            return f"try_to_binary({x}, 'base64')"
        case "date":
            return f"CASE WHEN {x} RLIKE '^{_DATE}$' THEN try_cast({x} AS date) END"
        case "time":
            moment = f"try_cast(concat('1970-01-01 ', rtrim('Z', {x}), 'Z') AS timestamp)"
            return f"CASE WHEN {x} RLIKE '^{_CLOCK}Z?$' THEN unix_micros({moment}) END"
        case _:
            return f"try_cast(trim({x}) AS {spark_type(Scalar(name))})"


def _timestamp(x: str, spark: str, zone: str, standard: str) -> str:
    middle = "T" if standard == ISO else " "
    return f"CASE WHEN {x} RLIKE '^{_DATE}{middle}{_CLOCK}{zone}$' THEN try_cast({x} AS {spark}) END"


def _cut(x: str, digits: int | None, spark: str) -> str:
    """Without the digits of a second that the type does not keep."""
    if digits is None or digits >= 6:
        return x
    unit = 10 ** (6 - digits)
    micros = f"unix_micros(CAST({x} AS timestamp))"
    return f"CAST(timestamp_micros({micros} - pmod({micros}, {unit})) AS {spark})"
