"""The text forms of arrays, lists, maps and records: `{1,NULL,"x y"}`, `{k=>v}`, `(1,"a b",)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tailrace.errors import InvalidText

Reader = Callable[[str], Any]


def array_value(text: str, type_name: str, element: Reader, nested: bool) -> list[Any]:
    """`nested`: the elements are in braces themselves, as of a list of lists."""
    body = text.strip()
    if not (body.startswith("{") and body.endswith("}")):
        raise InvalidText(
            f"invalid input syntax for type {type_name}:"
            f' array must start with "{{" and end with "}}": "{text}"'
        )
    return [_element(part, quoted, type_name, element, nested) for part, quoted in split(body[1:-1], text)]


def _element(part: str, quoted: bool, type_name: str, element: Reader, nested: bool) -> Any:
    if not quoted and part.upper() == "NULL":
        return None
    if not quoted and part.startswith("{") and not nested:  # one more dimension of an array
        return array_value(part, type_name, element, nested)
    return element(part)


def map_value(text: str, type_name: str, value: Reader) -> dict[str, Any]:
    body = text.strip()
    if not (body.startswith("{") and body.endswith("}")):
        raise InvalidText(f'invalid input syntax for type {type_name}: "{text}"')
    entries: dict[str, Any] = {}
    for part, _ in split(body[1:-1], text, keep_quotes=True):
        key, arrow, item = _halves(part)
        if not arrow:
            raise InvalidText(f'invalid input syntax for type {type_name}: expected "=>" in "{part}"')
        (name, _), *_ = split(key.strip(), text) or [("", True)]
        quoted = item.strip().startswith('"')
        content = split(item.strip(), text)[0][0] if quoted else item.strip()
        entries[name] = None if not quoted and content.upper() == "NULL" else value(content)
    return entries


def _halves(part: str) -> tuple[str, str, str]:
    inside = False
    for i, character in enumerate(part):
        if character == '"' and part[i - 1 : i] != "\\":
            inside = not inside
        if not inside and part.startswith("=>", i):
            return part[:i], "=>", part[i + 2 :]
    return part, "", ""


def record_value(text: str, fields: Sequence[Reader]) -> tuple[Any, ...]:
    body = text.strip()
    if not (body.startswith("(") and body.endswith(")")):
        raise InvalidText(f'malformed record literal: "{text}"')
    parts = split(body[1:-1], text, doubled=True)
    if len(parts) != len(fields):
        raise InvalidText(f'malformed record literal: "{text}"')
    return tuple(
        None if part == "" and not quoted else read(part)
        for (part, quoted), read in zip(parts, fields, strict=True)
    )


def split(
    body: str, whole: str, *, doubled: bool = False, keep_quotes: bool = False
) -> list[tuple[str, bool]]:
    """The parts between commas outside quotes and braces, and whether each was quoted."""
    if body.strip() == "":
        return [("", False)] if doubled else []
    parts: list[tuple[str, bool]] = []
    text, quoted, inside, depth, i = "", False, False, 0, 0
    while i < len(body):
        character = body[i]
        if character == "\\" and i + 1 < len(body):
            text += body[i : i + 2] if depth or keep_quotes else body[i + 1]
            i += 1
        elif character == '"':
            if doubled and inside and body[i + 1 : i + 2] == '"':
                text += '"'
                i += 1
            else:
                inside = not inside
                quoted = quoted or depth == 0
                if depth or keep_quotes:
                    text += character
        elif character == "," and not inside and depth == 0:
            parts.append((text if quoted else text.strip(), quoted))
            text, quoted = "", False
        else:
            if not inside and not doubled:
                depth += {"{": 1, "}": -1}.get(character, 0)
            if inside or not quoted or keep_quotes or not character.isspace():
                text += character
        i += 1
    if inside or depth:
        raise InvalidText(f'malformed array literal: "{whole}"')
    return [*parts, (text if quoted else text.strip(), quoted)]
