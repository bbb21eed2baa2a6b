"""`'format' = 'csv'` of Flink's tables, on the way out: one line a row, without a line's end.

A text is put into quotes as Jackson's writer does it: when it is long, or has a character below the greatest of those
that mean something.  So `a b` is quoted, and a timestamp too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tailrace.errors import NotSupported
from tailrace.formats import encode_scalars as scalars
from tailrace.formats.encode_contract import ChangeFrame
from tailrace.formats.encode_flink_json import java_decimal
from tailrace.formats.encode_scalars import literal, text
from tailrace.types.core import (
    ArrayOf,
    Char,
    ListOf,
    MapOf,
    Numeric,
    Record,
    Scalar,
    Schema,
    SqlType,
    Timestamp,
    TimestampTz,
    Varchar,
)
from tailrace.types.spark import UNSCALED_DIGITS

_LONG = 24


@dataclass(frozen=True, slots=True)
class FlinkCsvEncoder:
    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    null_literal: str | None = None
    array_delimiter: str = ";"
    scientific: bool = True

    name: ClassVar[str] = "csv"
    framing: ClassVar[int] = 0
    prefix: ClassVar[bytes] = b""
    change: ClassVar[ChangeFrame] = ChangeFrame()

    def check(self, columns: Schema) -> None:
        for column in columns:
            _check(column.type)

    def registered(self, columns: Schema, *, change: bool) -> FlinkCsvEncoder:
        return self

    def record(self, columns: Schema, places: Sequence[str]) -> str:
        null = literal(self.null_literal or "")
        fields = (f"coalesce({self._field(x, column.type)}, {null})" for column, x in zip(columns, places, strict=True))
        return f"CAST(concat({f', {literal(self.delimiter)}, '.join(fields)}) AS binary)"

    def side(self, columns: Schema, places: Sequence[str]) -> str:
        raise NotSupported("changes in format 'csv' not supported")

    def _field(self, x: str, type: SqlType) -> str:
        """A field with its quotes, NULL for NULL."""
        if isinstance(type, ListOf | ArrayOf):
            null = literal(self.null_literal or "")
            items = f"transform({x}, e -> coalesce({self._text('e', type.element)}, {null}))"
            return self._quoted(f"array_join({items}, {literal(self.array_delimiter)})")
        if isinstance(type, Record):
            inside = ", ".join(f"coalesce({self._text(f'{x}.f{i}', f.type)}, '')" for i, f in enumerate(type.fields))
            joined = f"concat_ws({literal(self.array_delimiter)}, {inside})"
            return f"CASE WHEN {x} IS NOT NULL THEN {self._quoted(joined)} END"
        shown = self._text(x, type)
        return shown if _needs_no_quotes(type) else self._quoted(shown)

    def _text(self, x: str, type: SqlType) -> str:
        match type:
            case Numeric(scale=scale):
                plain = text(x)
                return java_decimal(x, UNSCALED_DIGITS if scale is None else scale) if self.scientific else plain
            case TimestampTz():
                return f"concat({text(x)}, 'Z')"
            case Scalar(name="bytea"):
                return f"base64({x})"
            case Scalar(name="date"):
                return scalars.date_text(x)
            case Scalar(name="time"):
                return scalars.time_text(x)
            case _:
                return text(x)

    def _quoted(self, shown: str) -> str:
        if self.quote is None:
            return shown
        safe = max(ord(c) for c in (self.delimiter, self.quote, self.escape or "\n", "\r"))
        pattern = f"[\\x{{0}}-\\x{{{safe:x}}}]"
        before = self.escape or self.quote
        escaped = f"replace(t, {literal(self.quote)}, {literal(before + self.quote)})"
        if self.escape is not None and self.escape != self.quote:
            doubled = f"replace(t, {literal(self.escape)}, {literal(self.escape * 2)})"
            escaped = f"replace({doubled}, {literal(self.quote)}, {literal(before + self.quote)})"
        quote = literal(self.quote)
        chosen = (
            f"CASE WHEN length(t) > {_LONG} OR t RLIKE {literal(pattern)}"
            f" THEN concat({quote}, {escaped}, {quote}) ELSE t END"
        )
        return f"transform(array({shown}), t -> {chosen})[0]"


def _needs_no_quotes(type: SqlType) -> bool:
    texts = isinstance(type, Varchar | Char | Timestamp | TimestampTz)
    return not texts and str(type) not in ("text", "date", "time", "bytea", "uuid", "jsonb")


def _check(type: SqlType, *, inside: bool = False) -> None:
    nested = isinstance(type, ListOf | ArrayOf | Record)
    if isinstance(type, MapOf) or (inside and nested):
        raise NotSupported(f"type {type} in format 'csv' not supported")
    if isinstance(type, ListOf | ArrayOf):
        _check(type.element, inside=True)
    if isinstance(type, Record):
        for field in type.fields:
            _check(field.type, inside=True)
