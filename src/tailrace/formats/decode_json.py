"""FORMAT JSON: one JSON document (RFC 8259) in UTF-8 and nothing after it, kept as the text it is.

What is a document is said by `tailrace_is_json` (jvm/functions.py), which every session that runs this text must
have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

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
    is_single: ClassVar[bool] = True
    is_exact: ClassVar[bool] = False

    @property
    def schema(self) -> Schema:
        return (Column("data", JSONB, nullable=False),)

    def decoded(self, data: str) -> Decoded:
        error = decode_error("'JSON: not a valid document'", data)
        return Decoded((as_text(data),), f"CASE WHEN NOT {is_json(data)} THEN {error} END")

    def surely_decodes(self, values: Sequence[bytes]) -> bool:
        try:
            for value in values:
                if len(value) > _SURELY_WITHIN_LIMITS:
                    return False
                orjson.loads(value)
        except orjson.JSONDecodeError:
            return False
        return True


def is_json(data: str) -> str:
    """Whether a binary expression holds one JSON document."""
    return f"tailrace_is_json({data})"


def same_text(text: str) -> str:
    """One text for all spellings of a document that must count as one: a key."""
    return f"tailrace_json_same(CAST({text} AS BINARY))"
