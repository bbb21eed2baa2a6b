"""FORMAT BYTES: the message as it is.  Nothing can be wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from tailrace.formats.decode_contract import Decoded
from tailrace.types.core import BYTEA, Column, Schema


@dataclass(frozen=True, slots=True)
class BytesDecoder:
    """One column `data bytea`."""

    keyword: ClassVar[str] = "BYTES"
    head: ClassVar[int] = 0
    is_single: ClassVar[bool] = True

    @property
    def schema(self) -> Schema:
        return (Column("data", BYTEA, nullable=False),)

    def learned(self, heads: Iterable[bytes]) -> Self:
        return self

    def decoded(self, data: str) -> Decoded:
        return Decoded((data,), None)

    def surely_differ(self, values: Sequence[bytes]) -> bool:
        return True

    def surely_decodes(self, values: Sequence[bytes]) -> bool:
        return True
