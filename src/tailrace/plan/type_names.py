"""What the name of a type means: `int4` is integer, `numeric(10,2)` keeps two digits after the point."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import assert_never

from tailrace.errors import InvalidOption, UnknownType
from tailrace.plan.parse import parse_type
from tailrace.plan.syntax.types import MapType, NamedType, SuffixedType, TypeName
from tailrace.types.core import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    JSONB,
    LETTER,
    MZ_TIMESTAMP,
    NUMERIC,
    OID,
    RANGES,
    REAL,
    SMALLINT,
    TEXT,
    TIME,
    UINT2,
    UINT4,
    UINT8,
    UUID,
    VECTORS,
    ArrayOf,
    Char,
    ListOf,
    MapOf,
    Numeric,
    SqlType,
    Timestamp,
    TimestampTz,
    Varchar,
)

CustomTypes = Callable[[tuple[str, ...]], SqlType | None]
"""Finds a type made by CREATE TYPE."""

_PLAIN: dict[str, SqlType] = {
    "boolean": BOOLEAN, "bool": BOOLEAN,
    "smallint": SMALLINT, "int2": SMALLINT,
    "integer": INTEGER, "int": INTEGER, "int4": INTEGER,
    "bigint": BIGINT, "int8": BIGINT,
    "uint2": UINT2, "uint4": UINT4, "uint8": UINT8, "oid": OID,
    "real": REAL, "float4": REAL,
    "double precision": DOUBLE, "double": DOUBLE, "float": DOUBLE, "float8": DOUBLE,
    "numeric": NUMERIC, "decimal": NUMERIC, "dec": NUMERIC,
    "text": TEXT, "string": TEXT, "name": TEXT, "regclass": TEXT, "regtype": TEXT, "regproc": TEXT,
    "varchar": Varchar(), "character varying": Varchar(), "char varying": Varchar(),
    '"char"': LETTER, "char": Char(), "character": Char(), "bpchar": Varchar(),
    "bytea": BYTEA, "bytes": BYTEA,
    "date": DATE, "time": TIME, "interval": INTERVAL,
    "timestamp": Timestamp(), "timestamptz": TimestampTz(),
    "jsonb": JSONB, "json": JSONB, "uuid": UUID, "mz_timestamp": MZ_TIMESTAMP,
    **RANGES, **VECTORS,
}  # fmt: skip


def resolve_type(name: TypeName, custom: CustomTypes | None = None) -> SqlType:
    """The type of this name.  Raises UnknownType, or InvalidOption for a modifier out of range."""
    match name:
        case SuffixedType(element=element, suffix=suffix):
            inner = resolve_type(element, custom)
            return ListOf(inner) if suffix == "list" else ArrayOf(inner)
        case MapType(value=value):
            return MapOf(resolve_type(value, custom))
        case NamedType(parts=parts, modifiers=modifiers):
            return _named(name, parts, modifiers, custom)
        case _:
            assert_never(name)


def type_of(text: str) -> SqlType:
    """The type of a name as text: `type_of("timestamp(3) with time zone")`."""
    return resolve_type(parse_type(text))


def _named(
    name: NamedType, parts: tuple[str, ...], modifiers: tuple[int, ...], custom: CustomTypes | None
) -> SqlType:
    known = _PLAIN.get(parts[-1]) if parts[:-1] in ((), ("pg_catalog",), ("mz_catalog",)) else None
    if known is None:
        known = custom(parts) if custom is not None else None
    if known is None:
        near = get_close_matches(parts[-1], _PLAIN, 1)
        hint = f'Did you mean "{near[0]}"?' if near else None
        raise UnknownType(f'type "{".".join(parts)}" does not exist', hint=hint, position=name.position)
    return _modified(known, modifiers, name.position) if modifiers else known


def _modified(type: SqlType, modifiers: tuple[int, ...], position: int | None) -> SqlType:
    match type:
        case Numeric():
            precision, scale = (*modifiers, 0)[:2]
            _within(precision, 1, 39, "precision for type numeric", position)
            _within(scale, 0, min(precision, 38), "scale for type numeric", position)
            return Numeric(scale)
        case Varchar():
            _within(modifiers[0], 1, 10_485_760, "length for type character varying", position)
            return Varchar(modifiers[0])
        case Char():
            _within(modifiers[0], 1, 10_485_760, "length for type character", position)
            return Char(modifiers[0])
        case Timestamp():
            return Timestamp(_within(modifiers[0], 0, 6, "precision for type timestamp", position))
        case TimestampTz():
            return TimestampTz(_within(modifiers[0], 0, 6, "precision for type timestamptz", position))
        case _:
            if type == DOUBLE:
                return REAL if modifiers[0] <= 24 else DOUBLE
            if type == TIME:
                _within(modifiers[0], 0, 6, "precision for type time", position)
                return TIME
            raise InvalidOption(f"type modifier is not allowed for type {type}", position=position)


def _within(value: int, least: int, most: int, what: str, position: int | None) -> int:
    if not least <= value <= most:
        raise InvalidOption(f"{what} must be between {least} and {most}", position=position)
    return value
