"""Parameters as clients send them, as text or in binary by OID, to PostgreSQL's text form.

The text form is not checked here: casting it to its type is the statement's work, and so is the error.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from math import prod
from struct import Struct, error, unpack_from

import numpy as np
import pyarrow as pa

from tailrace.errors import DataError, NotSupported
from tailrace.types.core import DATE, RANGES, TIMESTAMP, TIMESTAMPTZ, VECTORS, SqlType
from tailrace.types.postgres.binary import (
    EMPTY,
    EPOCH_DAYS,
    EPOCH_MICROS,
    LOWER_INCLUSIVE,
    NO_LOWER,
    NO_UPPER,
    UPPER_INCLUSIVE,
)
from tailrace.types.postgres.oids import ELEMENT_OIDS, FIRST_CUSTOM, oid_of
from tailrace.types.postgres.text import ODD_ELEMENT, interval_text, text_form

_DAY_INFINITY = 2**31 - 1
_MICROS_INFINITY = 2**63 - 1
_MAX_DIMENSIONS = 6  # PostgreSQL's own limit
_EPOCH_DATE = date(2000, 1, 1)
_EPOCH_TIME = datetime(2000, 1, 1, tzinfo=UTC)


class BadBinary(DataError):
    """Bytes that are no value of their type."""

    sqlstate = "22P03"


class BadCharacters(DataError):
    """Bytes that are no text: not UTF-8, or with a zero byte among them."""

    sqlstate = "22021"


def text_parameter(data: bytes) -> str:
    """A parameter sent as text."""
    try:
        text = data.decode()
    except UnicodeDecodeError as bad:
        raise BadCharacters(
            f'invalid byte sequence for encoding "UTF8": 0x{data[bad.start : bad.end].hex()}'
        ) from None
    if "\0" in text:
        raise BadCharacters('invalid byte sequence for encoding "UTF8": 0x00')
    return text


def binary_parameter(data: bytes, oid: int) -> str:
    """A parameter sent in binary, as the type with this OID."""
    try:
        return _decode(data, oid)
    except (error, OverflowError, ValueError):
        detail = f"{len(data)} bytes for the type with OID {oid}."
        raise BadBinary("incorrect binary data format in a parameter", detail=detail) from None


def _decode(data: bytes, oid: int) -> str:
    if oid in _DECODERS:
        return _DECODERS[oid](data)
    if oid in ELEMENT_OIDS:
        return _array(data)
    if oid >= FIRST_CUSTOM:  # of what CREATE TYPE makes, drivers know records alone
        return _record(data)
    raise NotSupported(f"binary parameters of the type with OID {oid} not yet supported")


def _number(layout: str) -> Callable[[bytes], str]:
    whole = Struct(layout)
    return lambda data: str(whole.unpack(data)[0])


def _float(layout: str, shortest: Callable[[float], object]) -> Callable[[bytes], str]:
    """`shortest` prints the fewest digits that read back as the same float of that width."""
    whole = Struct(layout)

    def text(data: bytes) -> str:
        shown = str(shortest(whole.unpack(data)[0]))
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(shown, shown)

    return text


def _boolean(data: bytes) -> str:
    if len(data) != 1:
        raise ValueError(data)
    return "t" if data != b"\0" else "f"


def _numeric(data: bytes) -> str:
    count, weight, sign, scale = unpack_from(">HhHH", data)
    if special := {0xC000: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}.get(sign):
        return special
    if sign not in (0, 0x4000) or len(data) != 8 + 2 * count or scale > 0x3FFF:
        raise ValueError(data)
    groups = unpack_from(f">{count}H", data, 8)
    if any(group > 9999 for group in groups):
        raise ValueError(data)
    digits = "".join(f"{group:04d}" for group in groups)
    point = 4 * (weight + 1)
    whole = digits[: max(point, 0)].ljust(point, "0").lstrip("0") or "0"
    fraction = ("0" * -point + digits[max(point, 0) :]).ljust(scale, "0")[:scale]
    return ("-" if sign else "") + whole + ("." + fraction if scale else "")


def _date(data: bytes) -> str:
    (days,) = Struct(">i").unpack(data)
    if infinite := _infinity(days, _DAY_INFINITY):
        return infinite
    try:
        return (_EPOCH_DATE + timedelta(days=days)).isoformat()
    except OverflowError:
        return _far(pa.array([days + EPOCH_DAYS], pa.int32()).cast(pa.date32()), DATE)


def _timestamp(data: bytes, type: SqlType = TIMESTAMP) -> str:
    (micros,) = Struct(">q").unpack(data)
    if infinite := _infinity(micros, _MICROS_INFINITY):
        return infinite
    try:
        instant = _EPOCH_TIME + timedelta(microseconds=micros)
    except OverflowError:
        return _far(pa.array([micros + EPOCH_MICROS], pa.int64()).cast(pa.timestamp("us")), type)
    text = instant.replace(tzinfo=None).isoformat(" ")
    return (text.rstrip("0") if instant.microsecond else text) + ("+00" if type == TIMESTAMPTZ else "")


def _infinity(value: int, most: int) -> str | None:
    return {most: "infinity", -most - 1: "-infinity"}.get(value)


def _far(values: pa.Array, type: SqlType) -> str:
    """Outside Python's years 1 to 9999."""
    return str(text_form(values, type)[0])


def _time(data: bytes) -> str:
    (micros,) = Struct(">q").unpack(data)
    if not 0 <= micros <= 86_400_000_000:
        raise ValueError(micros)
    return interval_text(0, 0, micros)


def _interval(data: bytes) -> str:
    micros, days, months = Struct(">qii").unpack(data)
    return interval_text(months, days, micros)


def _jsonb(data: bytes) -> str:
    if data[:1] != b"\x01":  # the only version there is
        raise ValueError(data)
    return text_parameter(data[1:])


def _array(data: bytes) -> str:
    dimensions, _, element_oid = unpack_from(">iiI", data)
    if not 0 <= dimensions <= _MAX_DIMENSIONS:
        raise ValueError(dimensions)
    sizes = [unpack_from(">ii", data, 12 + 8 * i)[0] for i in range(dimensions)]
    elements = _Elements(data, 12 + 8 * dimensions, element_oid)
    # Each element takes four bytes at least: made-up sizes are found out before they keep us busy.
    if min(sizes, default=0) < 0 or 4 * prod(sizes) > len(data):
        raise ValueError(sizes)
    text = elements.nested(sizes) if dimensions and prod(sizes) else "{}"
    if elements.at != len(data):
        raise ValueError(data)
    return text


class _Elements:
    """Reads the elements of an array one after the other."""

    def __init__(self, data: bytes, at: int, oid: int) -> None:
        self.data, self.at, self.oid = data, at, oid

    def nested(self, sizes: list[int]) -> str:
        size, *inner = sizes
        return "{" + ",".join(self.nested(inner) if inner else self.next() for _ in range(size)) + "}"

    def next(self) -> str:
        (length,) = unpack_from(">i", self.data, self.at)
        self.at += 4
        if length == -1:
            return "NULL"
        if not 0 <= length <= len(self.data) - self.at:
            raise ValueError(length)
        self.at += length
        return _element(_decode(self.data[self.at - length : self.at], self.oid))


def _record(data: bytes) -> str:
    """The number of fields, then each with its OID and length."""
    (count,) = unpack_from(">i", data)
    at, fields = 4, []
    for _ in range(count):
        oid, length = unpack_from(">Ii", data, at)
        at += 8 + max(length, 0)
        if at > len(data):
            raise ValueError(length)
        fields.append("" if length < 0 else _field(_decode(data[at - length : at], oid)))
    if at != len(data):
        raise ValueError(data)
    return "(" + ",".join(fields) + ")"


def _field(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '""') + '"'


def _range(bound_oid: int) -> Callable[[bytes], str]:
    """A byte that tells which bounds there are, then each that is there with its length."""

    def text(data: bytes) -> str:
        (flags,) = unpack_from("B", data)
        if flags & EMPTY:
            return "empty"
        at, bounds = 1, []
        for missing in (flags & NO_LOWER, flags & NO_UPPER):
            if missing:
                bounds.append("")
                continue
            (length,) = unpack_from(">i", data, at)
            at += 4 + length
            if length < 0 or at > len(data):
                raise ValueError(length)
            bound = _decode(data[at - length : at], bound_oid)
            bounds.append(f'"{bound}"' if " " in bound else bound)
        if at != len(data):
            raise ValueError(data)
        ends = "[" if flags & LOWER_INCLUSIVE else "(", "]" if flags & UPPER_INCLUSIVE else ")"
        return ",".join(bounds).join(ends)

    return text


def _element(text: str) -> str:
    if not re.search(ODD_ELEMENT, text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_DECODERS: dict[int, Callable[[bytes], str]] = {
    16: _boolean,
    17: lambda data: "\\x" + data.hex(),
    18: lambda data: text_parameter(data.rstrip(b"\0")),
    19: text_parameter,
    20: _number(">q"),
    21: _number(">h"),
    23: _number(">i"),
    25: text_parameter,
    26: _number(">I"),
    114: text_parameter,
    700: _float(">f", np.float32),
    701: _float(">d", float),
    705: text_parameter,
    1042: text_parameter,
    1043: text_parameter,
    1082: _date,
    1083: _time,
    1114: _timestamp,
    1184: lambda data: _timestamp(data, TIMESTAMPTZ),
    1186: _interval,
    1700: _numeric,
    2205: _number(">I"),
    2206: _number(">I"),
    2950: lambda data: str(uuid.UUID(bytes=data)),
    3802: _jsonb,
    16384: text_parameter,
    16385: text_parameter,
    16460: _number(">H"),
    16462: _number(">I"),
    16464: _number(">Q"),
    16552: text_parameter,
    **{oid_of(vector): lambda data: _array(data)[1:-1].replace(",", " ") for vector in VECTORS.values()},
    **{oid_of(range): _range(oid_of(range.element)) for range in RANGES.values()},
}
