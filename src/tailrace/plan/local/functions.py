"""Scalar functions on Python values, by the id of their entry in plan/functions.

`STRICT` ones are called only when no argument is NULL.  tests/unit/plan/test_local.py holds each against its Spark
text.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tailrace.errors import DataError
from tailrace.plan.local.casts import in_range
from tailrace.plan.local.contract import NotLocal
from tailrace.plan.syntax.tokens import KEYWORDS, RESERVED
from tailrace.plan.value_json import canonical_json, print_json, read_json
from tailrace.types.core import VECTORS

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def like(text: str, pattern: str, *, fold: bool = False) -> bool:
    parts, escaped = [], False
    for character in pattern:
        if escaped or character not in "\\%_":
            parts.append(re.escape(character))
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            parts.append(".*" if character == "%" else ".")
    return re.fullmatch("".join(parts), text, re.DOTALL | (re.IGNORECASE if fold else 0)) is not None


def _escaped(pattern: str, escape: str) -> str:
    doubled = pattern.replace("\\", "\\\\")
    return re.sub(re.escape(escape) + "(.)", r"\\\1", doubled, flags=re.DOTALL) if escape else doubled


_PLAIN_PATTERN = re.compile(r"(?:[^\\\[\]{}]|\\[.^$*+?()|\\/-]|\[\^?[\w .-]+\])*")


def matches(text: str, pattern: str, flags: int = 0) -> bool:
    """Patterns that mean the same in every dialect; the others are Spark's."""
    if _PLAIN_PATTERN.fullmatch(pattern) is None or "(?" in pattern:
        raise NotLocal("regular expression")
    if "$" in pattern and text.endswith("\n"):
        raise NotLocal("regular expression")  # to Python that is almost the end
    try:
        return re.search(pattern, text, flags | re.DOTALL) is not None
    except re.error:
        raise NotLocal("regular expression") from None  # Spark says what is wrong with it


def _substring(text: str, start: int, length: int | None = None) -> str:
    if length is None:
        return text[max(start, 1) - 1 :]
    if length < 0:
        raise DataError("negative substring length not allowed", sqlstate="22011")
    return text[max(start, 1) - 1 : max(start + length, 1) - 1]


def _divide(name: str) -> Callable[[int, int], int]:
    def divide(a: int, b: int) -> int:
        if b == 0:
            raise DataError("division by zero", sqlstate="22012")
        quotient = abs(a) // abs(b)
        return in_range(quotient if (a < 0) == (b < 0) else -quotient, name)

    return divide


def _remainder(a: int, b: int) -> int:
    if b == 0:
        raise DataError("division by zero", sqlstate="22012")
    return abs(a) % abs(b) * (-1 if a < 0 else 1)


_BITS = {"smallint": 16, "integer": 32, "bigint": 64}


def _shifted(value: int, by: int, name: str) -> int:
    """Only where no bit is lost."""
    result = value << by if 0 <= by < _BITS[name] else 1 << 64
    if abs(result) >= 1 << (_BITS[name] - 1):
        raise NotLocal("shift")
    return result


def _arithmetic(name: str) -> dict[str, Callable[..., Any]]:
    def checked(apply: Callable[[int, int], int]) -> Callable[[int, int], int]:
        return lambda a, b: in_range(apply(a, b), name)

    pair = f"({name}, {name})"
    return {
        f"+{pair}": checked(operator.add),
        f"-{pair}": checked(operator.sub),
        f"*{pair}": checked(operator.mul),
        f"/{pair}": _divide(name),
        f"%{pair}": _remainder,
        f"&{pair}": operator.and_,
        f"|{pair}": operator.or_,
        f"<<({name}, integer)": lambda a, n: _shifted(a, n, name),
        f">>({name}, integer)": lambda a, n: a >> n if 0 <= n < _BITS[name] else _shifted(a, -1, name),
        f"-({name})": lambda a: in_range(-a, name),
    }


def _quoted_identifier(text: str) -> str:
    if re.fullmatch(r"[a-z_][a-z0-9_]*", text):
        if text in RESERVED or text in KEYWORDS:
            raise NotLocal("quote_ident")  # which of them need quotes is known to jvm/Texts.java
        return text
    return '"' + text.replace('"', '""') + '"'


def _quoted_literal(text: str) -> str:
    mark = "E" if "\\" in text else ""
    return mark + "'" + text.replace("'", "''").replace("\\", "\\\\") + "'"


def _to_array(text: str | None, separator: str | None) -> list[str] | None:
    if text is None:
        return None
    if separator is None:
        return list(text)
    return text.split(separator) if text and separator else [text] if text else []


def _flat(array: list[Any]) -> list[Any]:
    """Arrays of several dimensions are Spark's."""
    if any(isinstance(each, list) for each in array):
        raise NotLocal("array of arrays")
    return array


def _concatenated(one: list[Any] | None, other: list[Any] | None) -> list[Any] | None:
    return other if one is None else one if other is None else one + other


def _place(array: list[Any] | None, value: Any) -> int | None:
    return array.index(value) + 1 if array is not None and value in array else None


def _left(text: str, count: int) -> str:
    return text[:count] if count >= 0 else text[: max(len(text) + count, 0)]


def _right(text: str, count: int) -> str:
    return (text[-count:] if count else "") if count >= 0 else text[-count:]


def _split_part(text: str, separator: str, place: int) -> str:
    if place == 0:
        raise NotLocal("split_part")
    parts = text.split(separator) if separator else [text]
    return parts[place - 1 if place > 0 else place] if -len(parts) <= place <= len(parts) else ""


def _ascii(text: str) -> str:
    """Beyond ASCII, what is a letter's other case is a matter of versions."""
    if not text.isascii():
        raise NotLocal("case of letters")
    return text


def _repeated(text: str, times: int) -> str:
    if len(text) * times > 1_000_000:
        raise NotLocal("long text")
    return text * max(times, 0)


def _joined(values: list[Any], separator: str, null: str | None = None) -> str:
    if not all(value is None or type(value) in (str, int) for value in values):
        raise NotLocal("array_to_string")
    return separator.join(
        str(value) if value is not None else str(null) for value in values if value is not None or null is not None
    )


def _contains(whole: list[Any], part: list[Any]) -> bool:
    return all(value is not None and value in whole for value in part)


def _json_field(text: str, key: Any) -> Any:
    document = read_json(text)
    if isinstance(document, dict) and isinstance(key, str):
        return document.get(key, _ABSENT)
    if isinstance(document, list) and isinstance(key, int) and -len(document) <= key < len(document):
        return document[key]
    if not isinstance(document, dict | list) and key in (0, -1):
        return document  # a scalar is an array of itself here
    return _ABSENT


_ABSENT = object()


def _json_member(text: str, key: Any) -> str | None:
    value = _json_field(text, key)
    return None if value is _ABSENT else print_json(value)


def _json_text(text: str, key: Any) -> str | None:
    value = _json_field(text, key)
    if value is _ABSENT or value is None:
        return None
    return value if isinstance(value, str) else print_json(value)


STRICT: dict[str, Callable[..., Any]] = {
    **_COMPARE,
    "not": operator.not_,
    **_arithmetic("smallint"),
    **_arithmetic("integer"),
    **_arithmetic("bigint"),
    "escaped pattern(text, text)": _escaped,
    "~~(text, text)": like,
    "!~~(text, text)": lambda t, p: not like(t, p),
    "~~*(text, text)": lambda t, p: like(t, p, fold=True),
    "!~~*(text, text)": lambda t, p: not like(t, p, fold=True),
    "~(text, text)": matches,
    "!~(text, text)": lambda t, p: not matches(t, p),
    "~*(text, text)": lambda t, p: matches(t, p, re.IGNORECASE),
    "!~*(text, text)": lambda t, p: not matches(t, p, re.IGNORECASE),
    "^@(text, text)": str.startswith,
    "starts_with(text, text)": str.startswith,
    "||(text, text)": operator.add,
    "lower(text)": lambda t: _ascii(t).lower(),
    "upper(text)": lambda t: _ascii(t).upper(),
    "length(text)": len,
    "char_length(text)": len,
    "character_length(text)": len,
    "octet_length(text)": lambda t: len(t.encode()),
    "substring(text, integer)": _substring,
    "substring(text, integer, integer)": _substring,
    "substr(text, integer)": _substring,
    "substr(text, integer, integer)": _substring,
    "left(text, integer)": _left,
    "right(text, integer)": _right,
    "replace(text, text, text)": lambda t, old, new: t.replace(old, new) if old else t,
    "split_part(text, text, integer)": _split_part,
    "strpos(text, text)": lambda t, part: t.find(part) + 1,
    "btrim(text)": lambda t: t.strip(" "),
    "ltrim(text)": lambda t: t.lstrip(" "),
    "rtrim(text)": lambda t: t.rstrip(" "),
    "btrim(text, text)": str.strip,
    "ltrim(text, text)": str.lstrip,
    "rtrim(text, text)": str.rstrip,
    "repeat(text, integer)": _repeated,
    "quote_ident(text)": _quoted_identifier,
    "quote_literal(text)": _quoted_literal,
    "array_length(T[], integer)": lambda a, n: (len(_flat(a)) or None) if n == 1 else None,
    "array_upper(T[], integer)": lambda a, n: (len(_flat(a)) or None) if n == 1 else None,
    "array_lower(T[], integer)": lambda a, n: (1 if _flat(a) else None) if n == 1 else None,
    **{
        f"{function}({vector}, integer)": apply
        for vector in VECTORS
        for function, apply in {
            "[]": lambda a, i: a[i] if 0 <= i < len(a) else None,
            "array_lower": lambda a, n: 0 if n == 1 else None,
            "array_upper": lambda a, n: len(a) - 1 if n == 1 else None,
        }.items()
    },
    "cardinality(T[])": lambda a: len(_flat(a)),
    "list_length(T list)": len,
    "array_to_string(T[], text)": _joined,
    "array_to_string(T[], text, text)": _joined,
    "[](T[], integer)": lambda a, i: a[i - 1] if 0 < i <= len(a) else None,
    "[](T list, integer)": lambda a, i: a[i - 1] if 0 < i <= len(a) else None,
    "@>(T[], T[])": _contains,
    "<@(T[], T[])": lambda part, whole: _contains(whole, part),
    "canonical(jsonb)": canonical_json,
    "->(jsonb, text)": _json_member,
    "->(jsonb, integer)": _json_member,
    "->>(jsonb, text)": _json_text,
    "->>(jsonb, integer)": _json_text,
}


def _and(*values: Any) -> Any:
    return False if False in values else None if None in values else True


def _or(*values: Any) -> Any:
    return True if True in values else None if None in values else False


def _in(value: Any, *members: Any) -> Any:
    return _or(*(None if value is None or member is None else value == member for member in members))


def _quantified(compare: Callable[[Any, Any], Any], combine: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def apply(value: Any, values: list[Any] | None) -> Any:
        if values is None:
            return None
        return combine(*(None if value is None or each is None else compare(value, each) for each in values))

    return apply


def _extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*values: Any) -> Any:
        present = [value for value in values if value is not None]
        return choose(present) if present else None

    return apply


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def _to_json(value: Any) -> str:
    if not isinstance(value, str | int):
        raise NotLocal("to_jsonb")
    return print_json(value)


def _json_object(*parts: str | None) -> str:
    if None in parts[::2]:
        raise DataError(f"argument {parts[::2].index(None) * 2 + 1}: key must not be null", sqlstate="22023")
    values = [None if value is None else read_json(value) for value in parts[1::2]]
    return print_json(dict(zip(parts[::2], values, strict=True)))


LENIENT: dict[str, Callable[..., Any]] = {
    "and": _and,
    "or": _or,
    "in": _in,
    "is null": lambda value: value is None,
    "is true(boolean)": lambda value: value is True,
    "is false(boolean)": lambda value: value is False,
    "is not distinct from": lambda a, b: (a is None and b is None) or (a is not None and b is not None and a == b),
    "coalesce": lambda *values: next((value for value in values if value is not None), None),
    "nullif": lambda a, b: None if a is not None and b is not None and a == b else a,
    "greatest": _extreme(max),
    "least": _extreme(min),
    "concat(text...)": lambda *values: "".join(value for value in values if value is not None),
    "array[]": lambda *values: list(values),
    "list[]": lambda *values: list(values),
    "string_to_array(text, text)": _to_array,
    "||(T[], T[])": _concatenated,
    "array_cat(T[], T[])": _concatenated,
    "array_position(T[], T)": _place,
    "array_remove(T[], T)": lambda a, v: None if a is None else [each for each in a if each != v],
    "||(T[], T)": lambda a, v: [*(a or ()), v],
    "||(T, T[])": lambda v, a: [v, *(a or ())],
    "array_append(T[], T)": lambda a, v: [*(a or ()), v],
    "array_prepend(T, T[])": lambda v, a: [v, *(a or ())],
    "to_jsonb": lambda value: None if value is None else _to_json(value),
    "jsonb_build_object": _json_object,
    "jsonb_build_array": lambda *parts: print_json([None if part is None else read_json(part) for part in parts]),
    "row": lambda *values: values,
    "now()": _now,
    "current_timestamp()": _now,
    "localtimestamp()": _now,
    "current_date()": lambda: _now().date(),
    **{
        f"{symbol} {word}(T, {collection})": _quantified(compare, combine)
        for symbol, compare in (*_COMPARE.items(), ("~~", like))
        for word, combine in (("any", _or), ("all", _and))
        for collection in ("T[]", "T list")
    },
}
