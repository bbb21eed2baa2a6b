"""FORMAT AVRO: a record's fields one after the other, behind a zero byte and the schema's id in a registry.

The bytes are made by Spark's `to_avro` under a schema of *plain* types that has the same bytes as the published one
(avro_schema.py): what Spark would not take, or would convert in its own way, is brought to plain form by an
expression first.

| published | plain | why the bytes are the same |
|---|---|---|
| decimal | bytes | a decimal is its bytes; ours have 39 or 81 digits, Spark's 38 |
| date, time, timestamps | int, long | a logical type is its number; Spark would shift dates before 1582 |
| map | array of records of key and value | blocks of entries; as an array it keeps the order of its keys |
| every name | f0, f1, … | names are not written |
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar, assert_never

from tailrace.errors import InternalError
from tailrace.formats import registry
from tailrace.formats.avro_schema import (
    FIXED_SIZES,
    UNSCALED_SCALE,
    AvroType,
    Naming,
    as_text,
    change_schema,
    in_milliseconds,
    items,
    row_schema,
)
from tailrace.formats.encode_bytes import integer_bytes, unsigned_bytes
from tailrace.formats.encode_contract import ChangeFrame, Origin
from tailrace.formats.encode_scalars import literal, text
from tailrace.formats.encode_text import text_form
from tailrace.formats.registry import Subject
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

_SCALED_BYTES, _UNSCALED_BYTES = 17, 33  # hold 39 and 81 digits


@dataclass(frozen=True, kw_only=True, slots=True)
class AvroEncoder:
    """Encodes any relation.  `id`: the schema's in the registry, once `registered` has asked for it."""

    naming: Naming
    subject: Subject
    id: int | None = None

    name: ClassVar[str] = "avro"
    framing: ClassVar[int] = 5
    # before and after are ["null", row]: 0 is the first branch, 1 the second, and numbers are doubled.
    change: ClassVar[ChangeFrame] = ChangeFrame(present=b"\x02", absent=b"\x00")

    @property
    def prefix(self) -> bytes:
        if self.id is None:
            raise InternalError(f'subject "{self.subject.name}" has no schema id yet')
        return b"\x00" + self.id.to_bytes(4, "big")

    def check(self, columns: Schema) -> None:
        """Every type has a form."""

    def registered(self, columns: Schema, *, change: bool) -> AvroEncoder:
        return replace(self, id=registry.publish(self.subject, self.schema(columns, change=change)))

    def schema(self, columns: Schema, *, change: bool) -> str:
        """The published one."""
        return as_text((change_schema if change else row_schema)(columns, self.naming))

    def record(self, columns: Schema, places: Sequence[str]) -> str:
        if not columns:
            return "X''"
        fresh = (f"n{number}" for number in count())
        schema, row = _record(columns, places, fresh, depth=0)
        return f"to_avro({row}, {literal(json.dumps(schema))})"

    def side(self, columns: Schema, places: Sequence[str]) -> str:
        return self.record(columns, places)

    def closing(self, origin: Origin, op: str, tick: int) -> bytes:
        source = b"".join(map(_constant, origin.source(tick).values()))
        return source + _constant(op) + _constant(1) + _constant(tick)  # ts_ms is of its union's second type


def _constant(value: str | int) -> bytes:
    """A string or a long."""
    if isinstance(value, str):
        return _constant(len(value.encode())) + value.encode()
    left, digits = value << 1 ^ value >> 63, bytearray()
    while left > 0x7F:
        digits.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*digits, left])


def _record(
    columns: Sequence[Column], places: Sequence[str], fresh: Iterator[str], depth: int
) -> tuple[AvroType, str]:
    """The plain schema of a record, and the Spark text of a struct that fits it."""
    name, fields, parts = next(fresh), [], []
    for i, (column, place) in enumerate(zip(columns, places, strict=True)):
        type, value = _plain(place, column.type, fresh, depth)
        fields.append({"name": f"f{i}", "type": ["null", type] if column.nullable else type})
        parts.append(f"'f{i}', {value}")
    return {"type": "record", "name": name, "fields": fields}, f"named_struct({', '.join(parts)})"


def _plain(x: str, type: SqlType, fresh: Iterator[str], depth: int) -> tuple[AvroType, str]:
    """The plain schema of a type, and the Spark text of a value that fits it, NULL for NULL."""
    match type:
        case Scalar(name=name):
            return _scalar(x, name, fresh)
        case Numeric(scale=None):
            return "bytes", f"tailrace_decimal_bytes({x}, {UNSCALED_SCALE}, {_UNSCALED_BYTES})"
        case Numeric(scale=scale):
            return "bytes", f"tailrace_decimal_bytes({x}, {scale}, {_SCALED_BYTES})"
        case Varchar():
            return "string", x
        case Char(length=length):
            return "string", f"rpad({x}, {length}, ' ')"
        case Timestamp() | TimestampTz():
            micros = f"unix_micros(CAST({x} AS timestamp))"
            return "long", f"({micros} - pmod({micros}, 1000)) div 1000" if in_milliseconds(type) else micros
        case ListOf() | ArrayOf():
            return _array(x, type, fresh, depth)
        case MapOf(value=value):
            return _map(x, value, fresh, depth)
        case Record(fields=fields):
            places = [f"{x}.f{i}" for i in range(len(fields))]
            schema, row = _record(fields, places, fresh, depth)
            return schema, f"CASE WHEN {x} IS NOT NULL THEN {row} END"
        case RangeOf():
            return "string", text_form(x, type, depth)
        case _:
            assert_never(type)


def _scalar(x: str, name: str, fresh: Iterator[str]) -> tuple[AvroType, str]:
    match name:
        case "boolean" | "real" | "double precision":
            return {"real": "float", "double precision": "double"}.get(name, name), x
        case "smallint" | "integer":
            return "int", f"CAST({x} AS int)"
        case "bigint" | "time":
            return "long", x
        case "date":
            return "int", f"unix_date({x})"
        case "bytea":
            return "bytes", x
        case "interval":
            parts = (_reversed(f"{x}.months", 4), _reversed(f"{x}.days", 4), _reversed(f"{x}.micros", 8))
            return _fixed(name, fresh), f"CASE WHEN {x} IS NOT NULL THEN unhex(concat({', '.join(parts)})) END"
        case _ if name in FIXED_SIZES:
            return _fixed(name, fresh), unsigned_bytes(x, FIXED_SIZES[name])
        case _:  # text, jsonb, uuid, mz_timestamp
            return "string", text(x)


def _fixed(name: str, fresh: Iterator[str]) -> AvroType:
    return {"type": "fixed", "name": next(fresh), "size": FIXED_SIZES[name]}


def _reversed(x: str, size: int) -> str:
    """An integer in hexadecimal, the lowest byte first."""
    digits = f"hex({integer_bytes(x, size)})"
    pairs = ", ".join(f"substring({digits}, {place * 2 - 1}, 2)" for place in range(size, 0, -1))
    return f"concat({pairs})"


def _array(x: str, type: ListOf | ArrayOf, fresh: Iterator[str], depth: int) -> tuple[AvroType, str]:
    element = items(type)
    flat, inner = x, type.element
    while inner != element:
        flat, inner = f"flatten({flat})", inner.element  # type: ignore[union-attr]  # an array, or it were the element
    variable = f"e{depth}"
    schema, value = _plain(variable, element, fresh, depth + 1)
    held = flat if value == variable else f"transform({flat}, {variable} -> {value})"
    return {"type": "array", "items": ["null", schema]}, held


def _map(x: str, value: SqlType, fresh: Iterator[str], depth: int) -> tuple[AvroType, str]:
    """Values are looked up first: the plain form of a value may name it many times."""
    entry, name = f"m{depth}", next(fresh)
    schema, held = _plain(f"{entry}.v", value, fresh, depth + 1)
    found = f"transform(array_sort(map_keys({x})), k -> named_struct('k', k, 'v', element_at({x}, k)))"
    fields = [{"name": "f0", "type": "string"}, {"name": "f1", "type": ["null", schema]}]
    record = {"type": "record", "name": name, "fields": fields}
    entries = f"transform({found}, {entry} -> named_struct('f0', {entry}.k, 'f1', {held}))"
    return {"type": "array", "items": record}, entries
