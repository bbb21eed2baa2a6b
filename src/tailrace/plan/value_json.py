"""jsonb as we hold constants of it: compact, keys sorted, the last of equal keys, numbers without trailing
zeros.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from tailrace.errors import InvalidText


def canonical_json(text: str) -> str:
    """The canonical text of a JSON document.  Raises InvalidText if it is none."""
    return print_json(read_json(text))


def read_json(text: str) -> Any:
    """A JSON document; its numbers become int or Decimal, so that none loses digits."""
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_no_constant)
    except (ValueError, RecursionError) as bad:
        raise InvalidText(f"invalid input syntax for type json: {bad}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def print_json(value: Any) -> str:
    match value:
        case dict():
            # Spark's variant sorts keys by their UTF-8 bytes; so do we.
            members = sorted(value.items(), key=lambda item: item[0].encode())
            return "{" + ",".join(f"{_string(k)}:{print_json(v)}" for k, v in members) + "}"
        case list():
            return "[" + ",".join(map(print_json, value)) + "]"
        case str():
            return _string(value)
        case bool() | None:
            return {True: "true", False: "false", None: "null"}[value]
        case Decimal():
            return number_text(value)
        case _:
            return str(value)


def _string(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def number_text(value: Decimal) -> str:
    """Plain digits, never an exponent, no zeros at the end."""
    text = f"{value:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text
