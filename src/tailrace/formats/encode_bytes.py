"""FORMAT BYTES: the one column of a record in PostgreSQL's binary form; NULL is a message part of no bytes.

Numbers are big-endian, times count microseconds from 2000-01-01, text and bytea are their own bytes.
types/postgres/binary.py gives the same bytes to Arrow columns; tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from tailrace.errors import NotSupported
from tailrace.formats.encode_contract import ChangeFrame
from tailrace.formats.encode_scalars import decimal_text, text
from tailrace.formats.encode_text import TextEncoder, text_form
from tailrace.types.core import (
    Char,
    Numeric,
    Scalar,
    Schema,
    SqlType,
    Timestamp,
    TimestampTz,
    Varchar,
)
from tailrace.types.spark import UNSCALED_DIGITS

_EPOCH_DAYS = 10_957  # from 1970-01-01 to 2000-01-01
_EPOCH_MICROS = _EPOCH_DAYS * 86_400_000_000

_SIZES = {
    **{"smallint": 2, "integer": 4, "bigint": 8, "uint2": 2, "uint4": 4, "uint8": 8, "oid": 4},
    "time": 8,
}


@dataclass(frozen=True, slots=True)
class BytesEncoder:
    """Encodes a relation, or a key, of one column of a type that has a binary form."""

    name: ClassVar[str] = "bytes"
    framing: ClassVar[int] = 0
    prefix: ClassVar[bytes] = b""
    change: ClassVar[ChangeFrame] = ChangeFrame()

    def check(self, columns: Schema) -> None:
        TextEncoder().check(columns)
        if not isinstance(columns[0].type, Scalar | Numeric | Varchar | Char | Timestamp | TimestampTz):
            raise NotSupported(f"BYTES format with non-encodable type: {columns[0].type} not yet supported")

    def registered(self, columns: Schema, *, change: bool) -> Self:
        return self

    def record(self, columns: Schema, places: Sequence[str]) -> str:
        return f"coalesce({binary_form(places[0], columns[0].type)}, CAST('' AS binary))"

    def side(self, columns: Schema, places: Sequence[str]) -> str:
        raise NotSupported("BYTES format with ENVELOPE DEBEZIUM not yet supported")


def binary_form(x: str, type: SqlType) -> str:
    """The bytes of a value, NULL for NULL."""
    match type:
        case Scalar(name=name):
            return _scalar(x, name)
        case Numeric(scale=scale):
            return _numeric(x, UNSCALED_DIGITS if scale is None else scale)
        case Timestamp() | TimestampTz():
            return integer_bytes(f"unix_micros(CAST({x} AS timestamp)) - {_EPOCH_MICROS}", 8)
        case _:
            return f"CAST({text_form(x, type)} AS binary)"


def _scalar(x: str, name: str) -> str:
    match name:
        case "boolean":
            return f"CASE WHEN {x} THEN X'01' WHEN NOT {x} THEN X'00' END"
        case "bytea":
            return x
        case "date":
            return integer_bytes(f"unix_date({x}) - {_EPOCH_DAYS}", 4)
        case "interval":
            parts = (integer_bytes(f"{x}.micros", 8), integer_bytes(f"{x}.days", 4), integer_bytes(f"{x}.months", 4))
            return f"CASE WHEN {x} IS NOT NULL THEN concat({', '.join(parts)}) END"
        case "jsonb":
            return f"concat(X'01', CAST({x} AS binary))"
        case "uuid":
            return f"unhex(replace({x}, '-', ''))"
        case "real":
            return _float(x, "float", 4)
        case "double precision":
            return _float(x, "double", 8)
        case "uint8":
            return unsigned_bytes(x, 8)
        case _ if name in _SIZES:
            return integer_bytes(x, _SIZES[name])
        case _:
            return f"CAST({text(x)} AS binary)"


def integer_bytes(x: str, size: int) -> str:
    """`size` bytes, big-endian, two's complement."""
    return f"unhex(right(lpad(hex(CAST({x} AS bigint)), 16, '0'), {size * 2}))"


def unsigned_bytes(x: str, size: int) -> str:
    """`size` bytes, big-endian, of a number that is not negative."""
    if size < 8:
        return integer_bytes(x, size)
    over = f"CASE WHEN {x} < 9223372036854775808 THEN 0 ELSE 18446744073709551616 END"
    return integer_bytes(f"{x} - {over}", size)  # past 2^63 the sign bit carries the value


def _float(x: str, kind: str, size: int) -> str:
    """IEEE 754.  Avro writes exactly these bytes, the other way round; plain Spark SQL has no way to them."""
    avro = f"to_avro({x}, '\"{kind}\"')"
    turned = ", ".join(f"substring({avro}, {place}, 1)" for place in range(size, 0, -1))
    return f"CASE WHEN {x} IS NOT NULL THEN concat({turned}) END"


def _numeric(x: str, scale: int) -> str:
    """Groups of four digits, after their number, the weight of the first, the sign and the digits to show."""
    plain = f"ltrim('-', {decimal_text(x, scale)})"
    fraction = f"split_part({plain}, '.', 2)"
    aligned = f"concat(lpad(split_part({plain}, '.', 1), 40, '0'), rpad({fraction}, 40, '0'))"
    groups = "regexp_replace(d, '^(0000)+|(0000)+$', '')"
    before_first = "length(regexp_extract(d, '^(0000)*', 0)) div 4"
    header = (
        integer_bytes(f"length({groups}) div 4", 2),
        integer_bytes(f"CASE WHEN {groups} = '' THEN 0 ELSE 9 - {before_first} END", 2),
        integer_bytes(f"CASE WHEN {x} < 0 THEN 16384 ELSE 0 END", 2),
        integer_bytes(f"length({fraction})", 2),
    )
    digits = f"transform(regexp_extract_all({groups}, '....', 0), g -> lpad(hex(CAST(g AS int)), 4, '0'))"
    body = f"concat({', '.join(header)}, unhex(array_join({digits}, '')))"
    return f"CASE WHEN {x} IS NOT NULL THEN transform(array({aligned}), d -> {body})[0] END"
