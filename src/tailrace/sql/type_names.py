"""How types are written: `int`, `numeric(10,2)`, `timestamp(3) with time zone`, `text[]`, `int list`,
`map[text=>int]`.  Every spelling becomes one of the values in types/core.py."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from tailrace.errors import SqlError, UnknownType
from tailrace.types import core
from tailrace.types.core import (
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

if TYPE_CHECKING:
    from tailrace.sql.parser import Parser

MAX_NUMERIC_PRECISION = 39
MAX_NUMERIC_SCALE = 38
MAX_SECOND_DIGITS = 6
MAX_TEXT_LENGTH = 10_485_760

_SERIALS = ("SERIAL", "SERIAL2", "SERIAL4", "SERIAL8", "BIGSERIAL", "SMALLSERIAL")
_SIMPLE: dict[str, SqlType] = {
    "BOOLEAN": core.BOOLEAN,
    "BOOL": core.BOOLEAN,
    "SMALLINT": core.SMALLINT,
    "INT2": core.SMALLINT,
    "INTEGER": core.INTEGER,
    "INT": core.INTEGER,
    "INT4": core.INTEGER,
    "BIGINT": core.BIGINT,
    "INT8": core.BIGINT,
    "UINT2": core.UINT2,
    "UINT4": core.UINT4,
    "UINT8": core.UINT8,
    "OID": core.OID,
    "REAL": core.REAL,
    "FLOAT4": core.REAL,
    "FLOAT8": core.DOUBLE,
    "TEXT": core.TEXT,
    "STRING": core.TEXT,
    "BYTEA": core.BYTEA,
    "BYTES": core.BYTEA,
    "DATE": core.DATE,
    "INTERVAL": core.INTERVAL,
    "JSONB": core.JSONB,
    "JSON": core.JSONB,
    "UUID": core.UUID,
    "MZ_TIMESTAMP": core.MZ_TIMESTAMP,
    **{name.upper(): range for name, range in core.RANGES.items()},
    **{name.upper(): vector for name, vector in core.VECTORS.items()},
    **dict.fromkeys(("NAME", "REGCLASS", "REGTYPE", "REGPROC"), core.TEXT),
}


def parse_type(p: Parser) -> SqlType:
    """One type.  Raises UnknownType for a name that is none, SqlError for a length out of range."""
    with p.nested():
        type_ = _element(p)
    while True:
        if p.accept("[", "]"):
            type_ = ArrayOf(type_)
        elif p.accept("LIST"):
            type_ = ListOf(type_)
        else:
            return type_


def _element(p: Parser) -> SqlType:
    position = p.position
    if p.token.text == '"char"':
        p.advance()
        return core.LETTER
    if p.accept("MAP", "["):
        return _map(p)
    name = p.name("data type")
    word = name.item.upper()
    if len(name.parts) == 1 or name.parts[:-1] == ("pg_catalog",):
        if (simple := _SIMPLE.get(word)) is not None:
            return simple
        if (rule := _RULES.get(word)) is not None:
            return rule(p)
    if (custom := p.types(name.parts)) is not None:
        return custom
    near = get_close_matches(word, (*_SIMPLE, *_RULES), 1)
    hint = f'Did you mean "{near[0].lower()}"?' if near else None
    if word in _SERIALS:
        hint = "There are no sequences: take integer or bigint, and give values yourself."
    raise UnknownType(f'type "{name}" does not exist', hint=hint, position=position)


def _map(p: Parser) -> SqlType:
    position = p.position
    if parse_type(p) != core.TEXT:
        raise UnknownType("map keys must be of type text", position=position)
    p.expect("=>")
    value = parse_type(p)
    p.expect("]")
    return MapOf(value)


def _double(p: Parser) -> SqlType:
    p.accept("PRECISION")
    return core.DOUBLE


def _float(p: Parser) -> SqlType:
    bits = _parameter(p, "precision for type float", 1, 53)
    return core.REAL if bits is not None and bits <= 24 else core.DOUBLE


def _numeric(p: Parser) -> SqlType:
    if not p.accept("("):
        return core.NUMERIC
    precision = _ranged(p, "precision for type numeric", 1, MAX_NUMERIC_PRECISION)
    scale = 0
    if p.accept(","):
        scale = _ranged(p, "scale for type numeric", 0, min(precision, MAX_NUMERIC_SCALE))
    p.expect(")")
    return Numeric(scale)


def _varchar(p: Parser) -> SqlType:
    return Varchar(_parameter(p, "length for type character varying", 1, MAX_TEXT_LENGTH))


def _character(p: Parser) -> SqlType:
    return _varchar(p) if p.accept("VARYING") else _char(p)


def _char(p: Parser) -> SqlType:
    return Char(_parameter(p, "length for type character", 1, MAX_TEXT_LENGTH) or 1)


def _time(p: Parser) -> SqlType:
    _parameter(p, "precision for type time", 0, MAX_SECOND_DIGITS)
    _without_time_zone(p)
    return core.TIME


def _timestamp(p: Parser) -> SqlType:
    digits = _parameter(p, "precision for type timestamp", 0, MAX_SECOND_DIGITS)
    if p.accept("WITH", "TIME", "ZONE"):
        return TimestampTz(digits)
    _without_time_zone(p)
    return Timestamp(digits)


def _timestamptz(p: Parser) -> SqlType:
    return TimestampTz(_parameter(p, "precision for type timestamptz", 0, MAX_SECOND_DIGITS))


def _without_time_zone(p: Parser) -> None:
    p.accept("WITHOUT", "TIME", "ZONE")


_RULES: dict[str, Callable[[Parser], SqlType]] = {
    "DOUBLE": _double,
    "FLOAT": _float,
    "NUMERIC": _numeric,
    "DECIMAL": _numeric,
    "DEC": _numeric,
    "VARCHAR": _varchar,
    "CHARACTER": _character,
    "CHAR": _character,
    "BPCHAR": _char,
    "TIME": _time,
    "TIMESTAMP": _timestamp,
    "TIMESTAMPTZ": _timestamptz,
}


def _parameter(p: Parser, what: str, least: int, most: int) -> int | None:
    if not p.accept("("):
        return None
    value = _ranged(p, what, least, most)
    p.expect(")")
    return value


def _ranged(p: Parser, what: str, least: int, most: int) -> int:
    position = p.position
    value = p.integer()
    if not least <= value <= most:
        raise SqlError(f"{what} must be between {least} and {most}", position=position, sqlstate="22023")
    return value
