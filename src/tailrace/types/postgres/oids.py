"""The OID of every SQL type, and back: PostgreSQL's numbers where it has the type, Materialize's elsewhere.

Drivers choose a decoder by OID alone, so these numbers are part of the wire protocol and never change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from tailrace.errors import UnknownType
from tailrace.types.core import (
    JSONB,
    LETTER,
    RANGES,
    TEXT,
    VECTORS,
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


@dataclass(frozen=True, slots=True)
class PgType:
    """A row of `pg_type`: its OID, that of its array, and its size in bytes (-1: it varies)."""

    oid: int
    array: int
    length: int = -1


_TEXT = PgType(25, 1009)
_NUMERIC = PgType(1700, 1231)
_VARCHAR = PgType(1043, 1015)
_LETTER = PgType(18, 1002, 1)
_CHAR = PgType(1042, 1014)
_TIMESTAMP = PgType(1114, 1115, 8)
_TIMESTAMPTZ = PgType(1184, 1185, 8)
_RECORD = PgType(2249, 2287)
# Anonymous lists and maps share one OID each, and there are no arrays of them: those are shown as text.
_LIST = PgType(16384, _TEXT.oid)
_MAP = PgType(16385, _TEXT.oid)

_SCALARS = {
    "boolean": PgType(16, 1000, 1),
    "smallint": PgType(21, 1005, 2),
    "integer": PgType(23, 1007, 4),
    "bigint": PgType(20, 1016, 8),
    "uint2": PgType(16460, 16461, 2),
    "uint4": PgType(16462, 16463, 4),
    "uint8": PgType(16464, 16465, 8),
    "oid": PgType(26, 1028, 4),
    "real": PgType(700, 1021, 4),
    "double precision": PgType(701, 1022, 8),
    "text": _TEXT,
    "bytea": PgType(17, 1001),
    "date": PgType(1082, 1182, 4),
    "time": PgType(1083, 1183, 8),
    "interval": PgType(1186, 1187, 16),
    "jsonb": PgType(3802, 3807),
    "uuid": PgType(2950, 2951, 16),
    "mz_timestamp": PgType(16552, 16553),
    # A literal whose type nothing decides is text once it reaches a client, as in PostgreSQL.
    "unknown": _TEXT,
}

_RANGES: dict[SqlType, PgType] = {
    RANGES["int4range"]: PgType(3904, 3905),
    RANGES["numrange"]: PgType(3906, 3907),
    RANGES["tsrange"]: PgType(3908, 3909),
    RANGES["tstzrange"]: PgType(3910, 3911),
    RANGES["daterange"]: PgType(3912, 3913),
    RANGES["int8range"]: PgType(3926, 3927),
}

_VECTORS: dict[SqlType, PgType] = {
    VECTORS["int2vector"]: PgType(22, 1006),
    VECTORS["oidvector"]: PgType(30, 1013),
}

_PARAMETRIC: tuple[tuple[PgType, SqlType], ...] = (
    (_NUMERIC, Numeric()),
    (_VARCHAR, Varchar()),
    (_LETTER, LETTER),
    (_CHAR, TEXT),  # bpchar without a length, which is how a parameter comes, is text of any length
    (_TIMESTAMP, Timestamp()),
    (_TIMESTAMPTZ, TimestampTz()),
    *((known, type) for type, known in (*_RANGES.items(), *_VECTORS.items())),
)

# Types that drivers give to parameters, held as another: json, name, regclass, regtype, regproc.
_BORROWED: tuple[tuple[PgType, SqlType], ...] = (
    (PgType(114, 199), JSONB),
    (PgType(19, 1003), TEXT),
    (PgType(2205, 2210), TEXT),
    (PgType(2206, 2211), TEXT),
    (PgType(24, 1008), TEXT),
)

FIRST_CUSTOM = 20_000
"""From here on types are made by CREATE TYPE."""

# 0 and 705 (unknown) leave the type to the statement; so do lists, maps and records: their OIDs say too
# little.
_UNDECIDED = frozenset({0, 705, _LIST.oid, _MAP.oid, _RECORD.oid, _RECORD.array})


def _types_by_oid() -> dict[int, SqlType]:
    scalars = ((known, Scalar(name)) for name, known in _SCALARS.items() if name != "unknown")
    pairs = (*scalars, *_PARAMETRIC, *_BORROWED)
    return {known.oid: type for known, type in pairs} | {known.array: ArrayOf(type) for known, type in pairs}


def _elements_by_array() -> dict[int, int]:
    known = (*_SCALARS.values(), *(row for row, _ in (*_PARAMETRIC, *_BORROWED)), _RECORD)
    return {row.array: row.oid for row in known}


_BY_OID = _types_by_oid()
ELEMENT_OIDS = _elements_by_array()
"""From the OID of an array to that of its elements."""


def pg_type(type: SqlType) -> PgType:
    """Its row of `pg_type`.  An array of arrays is, to PostgreSQL, an array with more dimensions."""
    match type:
        case Scalar(name=name):
            return _SCALARS[name]
        case Numeric():
            return _NUMERIC
        case Letter():
            return _LETTER
        case Varchar():
            return _VARCHAR
        case Char():
            return _CHAR
        case Timestamp():
            return _TIMESTAMP
        case TimestampTz():
            return _TIMESTAMPTZ
        case ListOf(named=named):
            return _LIST if named is None else PgType(named.oid, named.array)
        case MapOf(named=named):
            return _MAP if named is None else PgType(named.oid, named.array)
        case Record(named=named):
            return _RECORD if named is None else PgType(named.oid, named.array)
        case RangeOf():
            return _RANGES[type]
        case VectorOf():
            return _VECTORS[type]
        case ArrayOf(element=element):
            array = pg_type(element).array
            return PgType(array, array)
        case _:
            assert_never(type)


def oid_of(type: SqlType) -> int:
    return pg_type(type).oid


def length_of(type: SqlType) -> int:
    """Its size in bytes as RowDescription gives it; -1 if values differ in size."""
    return pg_type(type).length


def modifier_of(type: SqlType) -> int:
    """The parameters of a type as RowDescription gives them: `atttypmod`, -1 for none."""
    match type:
        case Letter():
            return -1
        case Numeric(scale=int(scale)):
            return (38 << 16 | scale) + 4
        case Varchar(length=int(length)) | Char(length=length):
            return length + 4
        case Timestamp(precision=int(precision)) | TimestampTz(precision=int(precision)):
            return precision
        case ArrayOf(element=element):
            return modifier_of(element)
        case _:
            return -1


def from_oid(oid: int) -> SqlType | None:
    """The type that a client gives a parameter.  None: it leaves that to the statement, also if the type is of the
    user's making."""
    if oid in _UNDECIDED or oid >= FIRST_CUSTOM:
        return None
    try:
        return _BY_OID[oid]
    except KeyError:
        raise UnknownType(f"type with OID {oid} does not exist") from None
