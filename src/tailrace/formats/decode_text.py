"""FORMAT TEXT: the message as UTF-8.  Other bytes are an error, never replaced by something similar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from tailrace.formats.decode_contract import Decoded, as_text, decode_error, is_utf8
from tailrace.types.core import TEXT, Column, Schema


@dataclass(frozen=True, slots=True)
class TextDecoder:
    """One column `text text`."""

    keyword: ClassVar[str] = "TEXT"
    head: ClassVar[int] = 0
    is_single: ClassVar[bool] = True

    @property
    def schema(self) -> Schema:
        return (Column("text", TEXT, nullable=False),)

    def learned(self, heads: Iterable[bytes]) -> Self:
        return self

    def decoded(self, data: str) -> Decoded:
        error = decode_error("'Text: invalid UTF-8'", data)
        return Decoded((as_text(data),), f"CASE WHEN NOT is_valid_utf8({as_text(data)}) THEN {error} END")

    def surely_differ(self, values: Sequence[bytes]) -> bool:
        return True

    def surely_decodes(self, values: Sequence[bytes]) -> bool:
        return is_utf8(values)
