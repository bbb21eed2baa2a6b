"""`'format' = 'raw'` of Flink's tables, on the way out: the one column's own bytes; NULL is no message part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tailrace.errors import NotSupported
from tailrace.formats.decode_raw import RawDecoder
from tailrace.formats.encode_bytes import binary_form
from tailrace.formats.encode_contract import ChangeFrame
from tailrace.formats.encode_scalars import literal
from tailrace.types.core import Char, Schema, Varchar


@dataclass(frozen=True, slots=True)
class RawEncoder:
    charset: str = "UTF-8"
    big_endian: bool = True

    name: ClassVar[str] = "raw"
    framing: ClassVar[int] = 0
    prefix: ClassVar[bytes] = b""
    change: ClassVar[ChangeFrame] = ChangeFrame()

    def check(self, columns: Schema) -> None:
        RawDecoder(columns)  # takes what can be read again, and nothing else

    def registered(self, columns: Schema, *, change: bool) -> RawEncoder:
        return self

    def record(self, columns: Schema, places: Sequence[str]) -> str:
        [column], [x] = columns, places
        if isinstance(column.type, Varchar | Char) or str(column.type) == "text":
            return f"encode({x}, {literal(self.charset)})"
        ordered = binary_form(x, column.type)
        if self.big_endian or str(column.type) in ("bytea", "boolean"):
            return ordered
        return f"unhex(array_join(reverse(regexp_extract_all(hex({ordered}), '(..)')), ''))"

    def side(self, columns: Schema, places: Sequence[str]) -> str:
        raise NotSupported("changes in format 'raw' not supported")
