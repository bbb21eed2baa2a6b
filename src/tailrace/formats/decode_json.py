"""FORMAT JSON: one JSON document (RFC 8259) in UTF-8 and nothing after it, kept as the text it is.

What is a document is said by `tailrace_is_json` (jvm/functions.py), which every session that runs this text must
have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import orjson

from tailrace.formats.decode_contract import Decoded, as_text, decode_error
from tailrace.types.core import JSONB, Column, Schema

# The JVM's parser refuses numbers of more than 1000 digits and 1000 levels of nesting, which orjson takes.
# No shorter document has either.
_SURELY_WITHIN_LIMITS = 1000


@dataclass(frozen=True, slots=True)
class JsonDecoder:
    """One column `data jsonb`."""

    keyword: ClassVar[str] = "JSON"
    head: ClassVar[int] = 0
    is_single: ClassVar[bool] = True

    @property
    def schema(self) -> Schema:
        return (Column("data", JSONB, nullable=False),)

    def learned(self, heads: Iterable[bytes]) -> Self:
        return self

    def decoded(self, data: str) -> Decoded:
        error = decode_error("'JSON: not a valid document'", data)
        return Decoded((as_text(data),), f"CASE WHEN NOT {is_json(data)} THEN {error} END")

    def surely_differ(self, values: Sequence[bytes]) -> bool:
        """Each is written in the one way in which orjson writes it, and has no fraction: 1 and 1.0 are the same."""
        try:
            parsed = [orjson.loads(value) for value in values]
        except orjson.JSONDecodeError:
            return False
        as_written = (orjson.dumps(document, option=orjson.OPT_SORT_KEYS) for document in parsed)
        return not any(map(_has_fraction, parsed)) and all(map(bytes.__eq__, as_written, values))

    def surely_decodes(self, values: Sequence[bytes]) -> bool:
        try:
            for value in values:
                if len(value) > _SURELY_WITHIN_LIMITS:
                    return False
                orjson.loads(value)
        except orjson.JSONDecodeError:
            return False
        return True


def _has_fraction(document: object) -> bool:
    if isinstance(document, dict):
        return any(map(_has_fraction, document.values()))
    if isinstance(document, list):
        return any(map(_has_fraction, document))
    return isinstance(document, float)


def is_json(data: str) -> str:
    """Whether a binary expression holds one JSON document."""
    return f"tailrace_is_json({data})"


def same_text(text: str) -> str:
    """One text for all spellings of a document that must count as one: a key."""
    return f"tailrace_json_same(CAST({text} AS BINARY))"
