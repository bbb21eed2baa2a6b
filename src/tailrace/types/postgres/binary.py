"""PostgreSQL's binary form of a column: big-endian numbers, times counted from 2000-01-01.

Lists, maps and mz_timestamp have no binary form of their own; they are sent as text, as Materialize does.
"""

from __future__ import annotations

from struct import pack
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.errors import DataError
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
from tailrace.types.postgres.columns import (
    big_endian,
    blobs,
    concat,
    fixed,
    length_prefixed,
    list_parts,
    plain,
    where_valid,
)
from tailrace.types.postgres.oids import oid_of
from tailrace.types.postgres.text import numeric_text, text_form, timestamp_micros

EPOCH_DAYS = 10_957
"""From 1970-01-01 to 2000-01-01, where PostgreSQL begins to count."""
EPOCH_MICROS = EPOCH_DAYS * 86_400_000_000

EMPTY, LOWER_INCLUSIVE, UPPER_INCLUSIVE, NO_LOWER, NO_UPPER = 1, 2, 4, 8, 16
"""The bits of a range's first byte."""

_NUMBERS = {
    "smallint": ">i2",
    "integer": ">i4",
    "bigint": ">i8",
    "uint2": ">u2",
    "uint4": ">u4",
    "oid": ">u4",
    "real": ">f4",
    "double precision": ">f8",
}


def binary_form(values: pa.Array, type: SqlType) -> pa.Array:
    """A binary column of the same length; NULL stays NULL."""
    values = plain(values)
    if pa.types.is_null(values.type):
        return values.cast(pa.binary())
    match type:
        case Scalar(name=name):
            return _scalar(values, type, name)
        case Numeric():
            return blobs(None if v is None else numeric_bytes(v) for v in numeric_text(values).to_pylist())
        case Timestamp() | TimestampTz():
            since_2000 = pc.subtract(timestamp_micros(values), EPOCH_MICROS)
            return where_valid(values, big_endian(since_2000, ">i8"))
        case ArrayOf():
            return _array(values, type)
        case Record():
            return _record(values, type)
        case RangeOf(element=element):
            return _range(values, element)
        case Letter():  # always one byte: nothing is zero
            return pc.replace_with_mask(values.cast(pa.binary()), pc.equal(values, ""), pa.scalar(b"\0"))
        case Varchar() | Char() | ListOf() | MapOf():
            return text_form(values, type).cast(pa.binary())
        case _:
            assert_never(type)


def _scalar(values: pa.Array, type: SqlType, name: str) -> pa.Array:
    match name:
        case "boolean":
            return where_valid(values, big_endian(values.cast(pa.uint8()), ">u1"))
        case "uint8":
            return where_valid(values, big_endian(values.cast(pa.uint64()), ">u8"))
        case "bytea":
            return values.cast(pa.binary())
        case "date":
            since_2000 = pc.subtract(values.cast(pa.int32()), EPOCH_DAYS)
            return where_valid(values, big_endian(since_2000, ">i4"))
        case "time":
            return where_valid(values, big_endian(values.cast(pa.int64()), ">i8"))
        case "interval":
            months, days, micros = values.flatten()
            parts = concat(big_endian(micros, ">i8"), big_endian(days, ">i4"), big_endian(months, ">i4"))
            return where_valid(values, parts)
        case "jsonb":
            return concat(b"\x01", values.cast(pa.binary()))
        case "uuid":
            return blobs(None if v is None else bytes.fromhex(v.replace("-", "")) for v in values.to_pylist())
        case _ if name in _NUMBERS:
            return where_valid(values, big_endian(values, _NUMBERS[name]))
        case _:
            return text_form(values, type).cast(pa.binary())


def numeric_bytes(text: str) -> bytes:
    """Groups of four digits, after the weight of the first, the sign and the number of digits to show."""
    whole, _, fraction = text.lstrip("-").partition(".")
    scale = len(fraction)
    whole = whole.zfill(-(-len(whole) // 4) * 4)
    digits = whole + fraction.ljust(-(-scale // 4) * 4, "0")
    groups = [int(digits[i : i + 4]) for i in range(0, len(digits), 4)]
    weight = len(whole) // 4 - 1
    while groups and groups[0] == 0:
        del groups[0]
        weight -= 1
    while groups and groups[-1] == 0:
        del groups[-1]
    sign = 0x4000 if text.startswith("-") else 0
    return pack(f">HhHH{len(groups)}H", len(groups), weight if groups else 0, sign, scale, *groups)


def _array(values: pa.Array, type: ArrayOf) -> pa.Array:
    """Dimensions first, then all elements in order; an array of arrays is one array with two dimensions."""
    levels, element = [values], type.element
    while isinstance(element, ArrayOf):
        levels.append(plain(list_parts(levels[-1])[1]))
        element = element.element
    offsets = [list_parts(level)[0].to_pylist() for level in levels]
    elements = length_prefixed(binary_form(list_parts(levels[-1])[1], element)).to_pylist()
    first, oid = 0 if isinstance(type, VectorOf) else 1, oid_of(element)
    valid = enumerate(values.is_valid().to_pylist())
    return blobs(_one_array(offsets, elements, row, oid, first) if is_valid else None for row, is_valid in valid)


def _one_array(offsets: list[list[int]], elements: list[bytes], row: int, element_oid: int, first: int) -> bytes:
    start, stop = row, row + 1
    sizes: list[int] = []
    for level in offsets:
        lengths = {level[i + 1] - level[i] for i in range(start, stop)}
        if len(lengths) > 1:
            raise DataError("multidimensional arrays must have sub-arrays of one length", sqlstate="2202E")
        sizes.append(lengths.pop() if lengths else 0)
        start, stop = level[start], level[stop]
    found = elements[start:stop]
    if not found:
        return pack(">iiI", 0, 0, element_oid)
    has_null = any(one[:4] == b"\xff\xff\xff\xff" for one in found)
    dimensions = b"".join(pack(">ii", size, first) for size in sizes)
    return pack(">iiI", len(sizes), has_null, element_oid) + dimensions + b"".join(found)


def _record(values: pa.Array, type: Record) -> pa.Array:
    """The number of fields, then each with its OID and length."""
    count = blobs([pack(">i", len(type.fields))] * len(values))
    parts: list[pa.Array | bytes] = [count]
    for field, column in zip(values.flatten(), type.fields, strict=True):
        parts += [pack(">I", oid_of(column.type)), length_prefixed(binary_form(field, column.type))]
    return where_valid(values, concat(*parts))


def _range(values: pa.Array, element: SqlType) -> pa.Array:
    """A byte that tells which bounds there are, then each that is there with its length."""
    holds, lower, after, endless, upper, until = values.flatten()
    kinds = (
        (pc.invert(holds), EMPTY),
        (pc.and_not(lower.is_valid(), after), LOWER_INCLUSIVE),
        (until, UPPER_INCLUSIVE),
        (pc.and_not(holds, lower.is_valid()), NO_LOWER),
        (endless, NO_UPPER),
    )
    flags = sum(pc.fill_null(kind, False).to_numpy(zero_copy_only=False).astype("u1") * bit for kind, bit in kinds)
    bounds = (
        pc.if_else(bound.is_valid(), length_prefixed(binary_form(bound, element)), b"") for bound in (lower, upper)
    )
    return where_valid(values, concat(fixed(flags.astype("u1")), *bounds))
