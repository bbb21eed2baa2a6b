"""The name of a type as it is written: `numeric(10,2)`, `timestamp with time zone`, `int list`,
`map[text=>int]`.

What a name means is decided when it is bound, because CREATE TYPE adds names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tailrace.plan.syntax.tokens import Cursor, Token


@dataclass(frozen=True, slots=True)
class NamedType:
    """A name, possibly qualified, and the numbers in parentheses after it."""

    parts: tuple[str, ...]
    modifiers: tuple[int, ...] = ()
    position: int | None = None


@dataclass(frozen=True, slots=True)
class MapType:
    value: TypeName


@dataclass(frozen=True, slots=True)
class SuffixedType:
    """`T list` or `T[]`."""

    element: TypeName
    suffix: str  # list or array


TypeName: TypeAlias = NamedType | MapType | SuffixedType

_TWO_WORDS = {("double", "precision"), ("character", "varying"), ("char", "varying")}


def parse_type_name(cursor: Cursor) -> TypeName:
    name: TypeName = _map(cursor) if _is_map(cursor) else _named(cursor)
    while True:
        if cursor.take_word("list"):
            name = SuffixedType(name, "list")
        elif cursor.is_operator("[") and (cursor.ahead().text == "]" or cursor.ahead().kind == "number"):
            cursor.next()
            if cursor.token.kind == "number":
                cursor.next()
            cursor.expect_operator("]")
            # int[][] is one array type: the number of dimensions is a property of the value.
            if not (isinstance(name, SuffixedType) and name.suffix == "array"):
                name = SuffixedType(name, "array")
        else:
            return name


def _is_map(cursor: Cursor) -> bool:
    return cursor.is_word("map") and cursor.ahead().text == "["


def _map(cursor: Cursor) -> MapType:
    cursor.expect_word("map")
    cursor.expect_operator("[")
    cursor.expect_word("text")
    cursor.expect_operator("=>")
    value = parse_type_name(cursor)
    cursor.expect_operator("]")
    return MapType(value)


def _named(cursor: Cursor) -> NamedType:
    first = cursor.expect_name("a data type")
    parts = [_word(first)]
    if first.kind == "word" and (first.text, cursor.token.text) in _TWO_WORDS:
        parts = [f"{first.text} {cursor.next().text}"]
    while cursor.take_operator("."):
        parts.append(_word(cursor.expect_name("a data type")))
    modifiers = _modifiers(cursor)
    if parts[0] in ("timestamp", "time") and cursor.is_one_of("with", "without"):
        zone = cursor.next().text
        cursor.expect_word("time", "zone")
        parts = [parts[0] + ("tz" if zone == "with" else "")]
    return NamedType(tuple(parts), modifiers, first.position)


def _word(token: Token) -> str:
    """The one type whose quotes matter is `"char"`."""
    return '"char"' if (token.kind, token.text) == ("identifier", "char") else token.text


def _modifiers(cursor: Cursor) -> tuple[int, ...]:
    if not (cursor.is_operator("(") and cursor.ahead().kind == "number"):
        return ()
    cursor.next()
    numbers = [_integer(cursor)]
    while cursor.take_operator(","):
        numbers.append(_integer(cursor))
    cursor.expect_operator(")")
    return tuple(numbers)


def _integer(cursor: Cursor) -> int:
    if not cursor.token.text.isdigit():
        cursor.fail("an integer")
    return int(cursor.expect_number().text)
