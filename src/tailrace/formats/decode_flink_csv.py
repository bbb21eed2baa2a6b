"""`'format' = 'csv'` of Flink's tables: one record a message, its fields in the order of the columns.

A field that is empty is NULL, unless it is text.  `null-literal` says what else is NULL; then an empty field is an
empty list, or no bytes.  Fewer fields than columns leave the rest NULL; more are an error.  Lists and rows are one
field, their elements apart by `array-element-delimiter`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from tailrace.errors import NotSupported
from tailrace.formats.decode_contract import Decoded, as_text
from tailrace.formats.decode_fields import any_of, bad, name_in_ddl, value
from tailrace.formats.decode_flink_json import failed, null_reasons
from tailrace.formats.encode_scalars import literal
from tailrace.types.core import BYTEA, TEXT, ArrayOf, Char, ListOf, MapOf, Record, Schema, SqlType, Varchar

_END = "\2"
"""Put behind the last field: where it is found says how many there are, and nowhere that there are too many."""


@dataclass(frozen=True, slots=True)
class FlinkCsvDecoder:
    """The names of the columns do not matter."""

    fields: Schema
    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    null_literal: str | None = None
    array_delimiter: str = ";"
    allow_comments: bool = False
    ignore_errors: bool = False

    keyword: ClassVar[str] = "csv"
    head: ClassVar[int] = 0
    is_single: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for field in self.fields:
            _check(field.type)

    @property
    def schema(self) -> Schema:
        return self.fields

    def learned(self, heads: Iterable[bytes]) -> Self:
        return self

    def decoded(self, data: str) -> Decoded:
        parsed, count, split = f"{data}_csv", f"{data}_count", f"{data}_fields"
        line = f"concat({_one_line(data)}, {literal(self.delimiter + _END)})"
        text = f"from_csv({line}, {literal(self._schema())}, {self._options()})"
        every = ", ".join(f"{parsed}.f{i}" for i in range(len(self.fields) + 1))
        # Spark gives NULL for an empty field as well as for a missing one.
        there = [f"CASE WHEN {i} < {count} THEN coalesce({parsed}.f{i}, '') END" for i in range(len(self.fields))]
        parts = ", ".join(
            f"{self._texts(x, f.type)} AS {name_in_ddl(f'f{i}')}"
            for i, (x, f) in enumerate(zip(there, self.fields, strict=True))
        )
        places = [f"{split}.f{i}" for i in range(len(self.fields))]
        columns = tuple(value(x, f.type) for x, f in zip(places, self.fields, strict=True))
        counted = f"array_position(array({every}), {literal(_END)}) - 1"
        once = ((parsed, text), (count, counted), (split, f"struct({parts})"))
        error = self._error(data, count, places)
        if not self.allow_comments:
            return Decoded(columns, error, once=once)
        rows = f"CASE WHEN {_is_comment(data)} THEN array() ELSE array(struct(1L AS w)) END"
        return Decoded(columns, error, once=(*once, (f"{data}_rows", rows)), rows=f"{data}_rows")

    def _schema(self) -> str:
        return ", ".join(f"f{i} string" for i in range(len(self.fields) + 1))

    def _options(self) -> str:
        options = {
            "sep": self.delimiter,
            "quote": self.quote or "\0",
            "escape": self.escape or self.quote or "\0",
            "maxCharsPerColumn": "-1",
        }
        return "map(" + ", ".join(f"{literal(k)}, {literal(v)}" for k, v in options.items()) + ")"

    def _texts(self, x: str, type: SqlType) -> str:
        """A field as text, or as a list or struct of texts; NULL for what stands for NULL."""
        if isinstance(type, ListOf | ArrayOf):
            parts = f"split({x}, {literal(_quoted_pattern(self.array_delimiter))})"
            each = f"transform(filter({parts}, p -> {x} <> ''), p -> {self._text('p', type.element)})"
            return f"CASE WHEN {self._text(x, type)} IS NOT NULL THEN {each} END"
        if isinstance(type, Record):
            parts = f"split({x}, {literal(_quoted_pattern(self.array_delimiter))})"
            inside = ", ".join(
                f"{self._text(f'get({parts}, {i})', f.type)} AS {name_in_ddl(f.name)}"
                for i, f in enumerate(type.fields)
            )
            return f"CASE WHEN {self._text(x, type)} IS NOT NULL THEN struct({inside}) END"
        return self._text(x, type)

    def _text(self, x: str, type: SqlType) -> str:
        """NULL if it stands for NULL."""
        is_text = type == TEXT or isinstance(type, Varchar | Char)
        told_apart = self.null_literal is not None and (type == BYTEA or isinstance(type, ListOf | ArrayOf))
        if self.null_literal is not None:
            x = f"nullif({x}, {literal(self.null_literal)})"
        return x if is_text or told_apart else f"nullif({x}, '')"

    def _error(self, data: str, count: str, places: Sequence[str]) -> str:
        text = as_text(data)
        reasons = [f"WHEN NOT is_valid_utf8({text}) THEN {failed('CSV row', data)}"]
        if self.allow_comments:
            reasons.append(f"WHEN {_is_comment(data)} THEN NULL")
        if not self.ignore_errors:
            unfit = any_of([bad(x, f.type) for x, f in zip(places, self.fields, strict=True)])
            reasons.append(f"WHEN {count} < 0 OR {unfit} THEN {failed('CSV row', data)}")
        return f"CASE {' '.join([*reasons, *null_reasons(self.fields, places, 'SQL')])} END"

    def surely_differ(self, values: Sequence[bytes]) -> bool:
        return False

    def surely_decodes(self, values: Sequence[bytes]) -> bool:
        return False


def _check(type: SqlType, *, inside: bool = False) -> None:
    nested = isinstance(type, ListOf | ArrayOf | Record)
    if isinstance(type, MapOf) or (inside and nested):
        raise NotSupported(f"type {type} in format 'csv' not supported")
    if isinstance(type, ListOf | ArrayOf):
        _check(type.element, inside=True)
    if isinstance(type, Record):
        for field in type.fields:
            _check(field.type, inside=True)


def _is_comment(data: str) -> str:
    return f"{as_text(data)} LIKE '#%'"


def _one_line(data: str) -> str:
    """Without the line's end, which belongs to no field."""
    return rf"regexp_replace({as_text(data)}, '\\r?\\n\\z', '')"


def _quoted_pattern(text: str) -> str:
    return "".join(f"\\x{{{ord(character):x}}}" for character in text)
