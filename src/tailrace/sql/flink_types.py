"""How Flink writes types: `STRING`, `DECIMAL(10, 2)`, `TIMESTAMP_LTZ(3)`, `ARRAY<INT>`, `MAP<STRING, BYTES>`,
`ROW<a INT, b STRING>`.  Each becomes one of the values in types/core.py.

What is lost: a decimal's precision (38 digits are kept), the digits of a second after the sixth, lengths of binary.
TINYINT is smallint.
"""

from __future__ import annotations

from collections.abc import Callable

from tailrace.errors import NotSupported, SqlError, UnknownType
from tailrace.sql.parser import Parser
from tailrace.types import core
from tailrace.types.core import Char, Column, ListOf, MapOf, Numeric, Record, SqlType, Timestamp, TimestampTz, Varchar

MAX_LENGTH = 2**31 - 1
MAX_PRECISION = 38
MAX_SECOND_DIGITS = 9
KEPT_SECOND_DIGITS = 6

_SIMPLE: dict[str, SqlType] = {
    **dict.fromkeys(("STRING",), core.TEXT),
    **dict.fromkeys(("BOOLEAN",), core.BOOLEAN),
    **dict.fromkeys(("BYTES",), core.BYTEA),
    **dict.fromkeys(("TINYINT", "SMALLINT"), core.SMALLINT),
    **dict.fromkeys(("INT", "INTEGER"), core.INTEGER),
    "BIGINT": core.BIGINT,
    "FLOAT": core.REAL,
    "DATE": core.DATE,
}
_UNSUPPORTED = ("MULTISET", "RAW", "INTERVAL", "VARIANT", "STRUCTURED")


def parse_flink_type(p: Parser) -> tuple[SqlType, bool]:
    """One type, and whether NOT NULL follows.  Raises UnknownType for a name that is none."""
    with p.nested():
        type_ = _postfixed(p, _element(p))
    if p.accept("NOT", "NULL"):
        return type_, True
    p.accept("NULL")
    return type_, False


def _postfixed(p: Parser, type_: SqlType) -> SqlType:
    """`INT ARRAY` is another way to write `ARRAY<INT>`."""
    while p.accept("ARRAY"):
        type_ = ListOf(type_)
    return type_


def _element(p: Parser) -> SqlType:
    position, word = p.position, p.token.word
    if word in _UNSUPPORTED:
        raise NotSupported(f"type {word} not yet supported", position=position)
    if word in _SIMPLE:
        p.advance()
        return _SIMPLE[word]
    if word in _RULES:
        p.advance()
        return _RULES[word](p)
    if not p.at_identifier():
        raise p.expected("data type")
    raise UnknownType(f'type "{p.token.text}" does not exist', position=position)


def _character(p: Parser) -> SqlType:
    return _varchar(p) if p.accept("VARYING") else Char(_length(p) or 1)


def _varchar(p: Parser) -> SqlType:
    length = _length(p)
    return core.TEXT if length == MAX_LENGTH else Varchar(length or 1)


def _bytes(p: Parser) -> SqlType:
    _length(p)
    return core.BYTEA


def _decimal(p: Parser) -> SqlType:
    precision, scale = 10, 0
    if p.accept("("):
        precision = _ranged(p, "precision of DECIMAL", 1, MAX_PRECISION)
        scale = _ranged(p, "scale of DECIMAL", 0, precision) if p.accept(",") else 0
        p.expect(")")
    return Numeric(scale)


def _double(p: Parser) -> SqlType:
    p.accept("PRECISION")
    return core.DOUBLE


def _time(p: Parser) -> SqlType:
    _digits(p, 0)
    p.accept("WITHOUT", "TIME", "ZONE")
    return core.TIME


def _timestamp(p: Parser) -> SqlType:
    digits = _digits(p, 6)
    if p.at("WITH", "TIME"):
        raise NotSupported("type TIMESTAMP WITH TIME ZONE not yet supported", position=p.position)
    if p.accept("WITH", "LOCAL", "TIME", "ZONE"):
        return TimestampTz(digits)
    p.accept("WITHOUT", "TIME", "ZONE")
    return Timestamp(digits)


def _timestamp_ltz(p: Parser) -> SqlType:
    return TimestampTz(_digits(p, 6))


def _array(p: Parser) -> SqlType:
    _open(p)
    element, _ = parse_flink_type(p)
    _close(p)
    return ListOf(element)


def _map(p: Parser) -> SqlType:
    _open(p)
    position = p.position
    key, _ = parse_flink_type(p)
    if not (key == core.TEXT or isinstance(key, Varchar | Char)):
        raise NotSupported("MAP with keys that are no strings not yet supported", position=position)
    p.expect(",")
    value, _ = parse_flink_type(p)
    _close(p)
    return MapOf(value)


def _row(p: Parser) -> SqlType:
    """`ROW<a INT, b STRING 'a comment'>`, also with parentheses."""
    closing = ")" if p.accept("(") else ">"
    if closing == ">":
        _open(p)
    fields: list[Column] = []
    while not p.accept_part(closing):
        name = flink_identifier(p, "field name")
        type_, not_null = parse_flink_type(p)
        fields.append(Column(name, type_, not not_null))
        if p.token.kind.value == "string":
            p.advance()
        if not p.accept(",") and not p.token.text.startswith(closing):
            raise p.expected(f'"," or "{closing}"')
    return Record(tuple(fields))


def flink_identifier(p: Parser, what: str) -> str:
    """A name as it is written: Flink does not fold, quoted or not."""
    written = p.token.text
    folded = p.identifier(what)
    return written if written.isascii() and written.lower() == folded else folded


def _open(p: Parser) -> None:
    if not p.accept_part("<"):
        raise p.expected('"<"')


def _close(p: Parser) -> None:
    if not p.accept_part(">"):
        raise p.expected('">"')


def _length(p: Parser) -> int | None:
    if not p.accept("("):
        return None
    length = _ranged(p, "length", 1, MAX_LENGTH)
    p.expect(")")
    return length


def _digits(p: Parser, default: int) -> int:
    if not p.accept("("):
        return default
    digits = _ranged(p, "precision of a time", 0, MAX_SECOND_DIGITS)
    p.expect(")")
    return min(digits, KEPT_SECOND_DIGITS)


def _ranged(p: Parser, what: str, least: int, most: int) -> int:
    position = p.position
    value = p.integer()
    if not least <= value <= most:
        raise SqlError(f"{what} must be between {least} and {most}", position=position, sqlstate="22023")
    return value


_RULES: dict[str, Callable[[Parser], SqlType]] = {
    "CHAR": _character,
    "CHARACTER": _character,
    "VARCHAR": _varchar,
    "BINARY": _bytes,
    "VARBINARY": _bytes,
    "DECIMAL": _decimal,
    "DEC": _decimal,
    "NUMERIC": _decimal,
    "DOUBLE": _double,
    "TIME": _time,
    "TIMESTAMP": _timestamp,
    "TIMESTAMP_LTZ": _timestamp_ltz,
    "ARRAY": _array,
    "MAP": _map,
    "ROW": _row,
}
