"""FORMAT JSON: a record is one compact object, fields in column order under their own names, NULL as null.

Numbers that JSON readers would round come as text: numeric, and timestamps in milliseconds of the epoch.
Only `"`, `\\` and control characters are escaped, as by serde_json: the bytes of a key decide its partition.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, assert_never

from tailrace.formats import encode_scalars as scalars
from tailrace.formats.encode_contract import ChangeFrame, Origin
from tailrace.formats.encode_scalars import literal, text
from tailrace.formats.encode_text import text_form
from tailrace.types.core import (
    ArrayOf,
    Char,
    Column,
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
from tailrace.types.spark import UNSCALED_DIGITS


@dataclass(frozen=True, slots=True)
class JsonEncoder:
    """Encodes any relation."""

    name: ClassVar[str] = "json"
    framing: ClassVar[int] = 0
    prefix: ClassVar[bytes] = b""
    change: ClassVar[ChangeFrame] = ChangeFrame(
        opening=b'{"before":', between=b',"after":', closing=b"}", absent=b"null"
    )

    def check(self, columns: Schema) -> None:
        """Every type has a form."""

    def registered(self, columns: Schema, *, change: bool) -> Self:
        return self

    def record(self, columns: Schema, places: Sequence[str]) -> str:
        return f"CAST({json_object(columns, places)} AS binary)"

    def side(self, columns: Schema, places: Sequence[str]) -> str:
        return self.record(columns, places)

    def closing(self, origin: Origin, op: str, tick: int) -> bytes:
        told = {"source": origin.source(tick), "op": op, "ts_ms": tick}
        return b"," + json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode()[1:]


def json_object(columns: Sequence[Column], places: Sequence[str], depth: int = 0) -> str:
    """The object's text.  Never NULL."""
    parts: list[str] = []
    opening = "{"
    for column, place in zip(columns, places, strict=True):
        name = json.dumps(column.name, ensure_ascii=False)
        parts += [literal(f"{opening}{name}:"), f"coalesce({json_text(place, column.type, depth)}, 'null')"]
        opening = ","
    return f"concat({', '.join([*parts, literal('}')])})" if parts else "'{}'"


def json_text(x: str, type: SqlType, depth: int = 0) -> str:
    """The JSON of a value as text, NULL for NULL.  `depth` keeps the variables of nested lambdas apart."""
    match type:
        case Scalar(name=name):
            return _scalar(x, name)
        case Numeric(scale=scale):
            return _quoted(scalars.decimal_text(x, UNSCALED_DIGITS if scale is None else scale))
        case Varchar():
            return json_string(x)
        case Char(length=length):
            return json_string(f"rpad({x}, {length}, ' ')")
        case Timestamp():
            return _milliseconds(f"unix_micros(CAST({x} AS timestamp))")
        case TimestampTz():
            return _milliseconds(f"unix_micros({x})")
        case ListOf(element=element) | ArrayOf(element=element):
            return _array(x, element, depth)
        case MapOf(value=value):
            return _map(x, value, depth)
        case Record(fields=fields):
            places = [f"{x}.f{i}" for i in range(len(fields))]
            return f"CASE WHEN {x} IS NOT NULL THEN {json_object(fields, places, depth)} END"
        case RangeOf():
            return json_string(text_form(x, type, depth))
        case _:
            assert_never(type)


def json_string(x: str) -> str:
    """A string in quotes; jvm/functions.py has the function."""
    return f"tailrace_json_string(CAST({x} AS BINARY))"


def _scalar(x: str, name: str) -> str:
    match name:
        case "text" | "unknown":
            return json_string(x)
        case "real":
            return scalars.float_json(x, "float")
        case "double precision":
            return scalars.float_json(x, "double")
        case "jsonb":
            return x
        case "bytea":
            return _byte_values(x)
        case "date":
            return _quoted(scalars.date_text(x))
        case "time":
            return _quoted(scalars.time_text(x))
        case "interval":
            return _quoted(scalars.interval_text(x))
        case "uuid" | "mz_timestamp":
            return _quoted(text(x))
        case _:  # integers of all kinds, boolean
            return text(x)


def _quoted(shown: str) -> str:
    """Text that holds nothing to escape."""
    return f"concat('\"', {shown}, '\"')"


def _milliseconds(micros: str) -> str:
    """`"{epoch ms}.{µs}"`: the milliseconds are rounded down, so that the microseconds are never negative."""
    return (
        f"concat('\"', {text(f'({micros} - pmod({micros}, 1000)) div 1000')}, '.',"
        f" lpad({text(f'pmod({micros}, 1000)')}, 3, '0'), '\"')"
    )


def _byte_values(x: str) -> str:
    """[209,130].  Latin-1 makes every byte one character with the byte as its number."""
    numbers = f"transform(split(decode({x}, 'ISO-8859-1'), ''), c -> {text('ascii(c)')})"
    return f"CASE WHEN length({x}) = 0 THEN '[]' ELSE concat('[', array_join({numbers}, ','), ']') END"


def _array(x: str, element: SqlType, depth: int) -> str:
    variable = f"e{depth}"
    item = f"coalesce({json_text(variable, element, depth + 1)}, 'null')"
    return f"concat('[', array_join(transform({x}, {variable} -> {item}), ','), ']')"


def _map(x: str, value: SqlType, depth: int) -> str:
    """An object, sorted by key.  Values are looked up first: the JSON of a value names it many times."""
    entry = f"m{depth}"
    item = f"coalesce({json_text(f'{entry}.v', value, depth + 1)}, 'null')"
    found = f"transform(array_sort(map_keys({x})), k -> named_struct('k', k, 'v', element_at({x}, k)))"
    member = f"concat({json_string(f'{entry}.k')}, ':', {item})"
    return f"concat('{{', array_join(transform({found}, {entry} -> {member}), ','), '}}')"
