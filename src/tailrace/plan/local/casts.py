"""Casts of single values: the exact ones.  `text_of` is PostgreSQL's text form."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from tailrace.errors import DataError
from tailrace.plan.coercion import INTEGERS, family
from tailrace.plan.local.contract import NotLocal
from tailrace.plan.values import RANGES, parse_value
from tailrace.types.core import (
    BOOLEAN,
    DOUBLE,
    JSONB,
    NUMERIC,
    TEXT,
    UNKNOWN,
    UUID,
    ArrayOf,
    Char,
    ListOf,
    Scalar,
    SqlType,
    Varchar,
    VectorOf,
)

_TEXTS = (TEXT, UNKNOWN)
_ODD = re.compile(r'(?i)^$|^null$|[{}",\\\s]')


def caster(source: SqlType, target: SqlType) -> Any:
    """A function of one value that is not NULL."""
    if isinstance(source, Char) and source != target:
        return lambda value: caster(TEXT, target)(value.rstrip(" "))
    if source == target or (_is_text(source) and target in _TEXTS):
        return lambda value: value
    if isinstance(target, Varchar | Char):
        return _shortened(caster(source, TEXT), target)
    if target in _TEXTS:
        text_of(None, source)  # refuses now rather than at the first row
        # A boolean's name is spelt out in a cast, unlike on the wire.
        return (lambda value: "true" if value else "false") if source == BOOLEAN else lambda v: text_of(v, source)
    if _is_text(source):
        return lambda value: parse_value(value, target)
    if isinstance(source, ArrayOf | ListOf) and isinstance(target, ArrayOf | ListOf):
        each = caster(source.element, target.element)
        return lambda values: [None if value is None else each(value) for value in values]
    return _between_numbers(source, target)


def _is_text(type: SqlType) -> bool:
    return type in _TEXTS or isinstance(type, Varchar | Char)


def _shortened(cast: Any, target: Varchar | Char) -> Any:
    if isinstance(target, Char):
        return lambda value: cast(value)[: target.length].ljust(target.length)
    return lambda value: cast(value)[: target.length]


def _between_numbers(source: SqlType, target: SqlType) -> Any:
    if source == BOOLEAN and target in INTEGERS:
        return int
    if source in INTEGERS and target in INTEGERS:
        assert isinstance(target, Scalar)
        return lambda value: in_range(value, target.name)
    if source in INTEGERS and target == NUMERIC:
        return lambda value: parse_value(str(value), NUMERIC)
    if source in INTEGERS and target == DOUBLE:
        return float
    if source in INTEGERS and target == BOOLEAN:
        return bool
    raise NotLocal(f"cast from {source} to {target}")


def in_range(value: int, type_name: str) -> int:
    least, most = RANGES[type_name]
    if not least <= value <= most:
        raise DataError(f"{type_name} out of range", sqlstate="22003")
    return value


def text_of(value: Any, type: SqlType) -> str | None:
    """PostgreSQL's text form of a value, None for NULL."""
    if isinstance(type, VectorOf):
        return None if value is None else " ".join(map(str, value))
    if isinstance(type, ArrayOf | ListOf):
        if isinstance(type.element, ArrayOf | ListOf):
            raise NotLocal(f"text of {type}")
        text_of(None, type.element)
        return None if value is None else "{" + ",".join(_element(v, type.element) for v in value) + "}"
    if not (_is_text(type) or type in (*INTEGERS, BOOLEAN, JSONB, UUID) or family(type) == NUMERIC):
        raise NotLocal(f"text of {type}")
    if value is None:
        return None
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, Decimal):
        plain = f"{value:f}"
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    return str(value)


def _element(value: Any, type: SqlType) -> str:
    text = text_of(value, type)
    if text is None:
        return "NULL"
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"' if _ODD.search(text) else text
