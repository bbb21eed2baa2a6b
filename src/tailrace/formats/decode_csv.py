"""FORMAT CSV: one record a message (RFC 4180: quotes doubled inside quotes), all fields text, exactly as many
as the source has columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from tailrace.formats.decode_contract import Decoded, as_text, decode_error
from tailrace.formats.encode_scalars import literal
from tailrace.types.core import TEXT, Column, Schema


@dataclass(frozen=True, slots=True)
class CsvDecoder:
    """One text column per name.  `WITH n COLUMNS` calls them `column1 … n`."""

    names: tuple[str, ...]
    delimiter: str = ","

    keyword: ClassVar[str] = "CSV"
    head: ClassVar[int] = 0
    is_single: ClassVar[bool] = False

    @staticmethod
    def with_columns(count: int, delimiter: str = ",") -> CsvDecoder:
        return CsvDecoder(tuple(f"column{i}" for i in range(1, count + 1)), delimiter)

    @property
    def schema(self) -> Schema:
        return tuple(Column(name, TEXT, nullable=False) for name in self.names)

    def learned(self, heads: Iterable[bytes]) -> Self:
        return self

    def decoded(self, data: str) -> Decoded:
        fields = self._fields(_one_line(data))
        # Spark makes a NULL of an empty field that is not quoted; CSV has no NULL.
        columns = tuple(f"coalesce({fields}.f{i}, '')" for i in range(len(self.names)))
        return Decoded(columns, self._error(data, fields))

    def surely_differ(self, values: Sequence[bytes]) -> bool:
        return False

    def surely_decodes(self, values: Sequence[bytes]) -> bool:
        """Only the plainest records are judged here."""
        separator = self.delimiter.encode()
        return all(
            value.isascii()
            and value.count(separator) == len(self.names) - 1
            and value
            and not any(special in value for special in (b'"', b"\n", b"\r"))
            for value in values
        )

    def _fields(self, text: str) -> str:
        """The record as a struct; `bad` is set when the number of fields is another one."""
        schema = ", ".join([f"f{i} string" for i in range(len(self.names))] + ["bad string"])
        return f"from_csv({text}, '{schema}', {self._options()})"

    def _options(self) -> str:
        options = {
            "sep": self.delimiter,
            "quote": '"',
            "escape": '"',
            "columnNameOfCorruptRecord": "bad",
            "maxCharsPerColumn": "-1",
        }
        return "map(" + ", ".join(f"{literal(k)}, {literal(v)}" for k, v in options.items()) + ")"

    def _error(self, data: str, fields: str) -> str:
        text, line = as_text(data), _one_line(data)
        expected = len(self.names)
        got = f"regexp_count({line}, {literal(_outside_quotes(self.delimiter))}) + 1"
        mismatch = f"concat('CSV error at record number 1: expected {expected} columns, got ', {got}, '.')"
        broken = f"contains({line}, '\\n') AND {line} RLIKE {literal(_outside_quotes(chr(10)))}"
        return (
            f"CASE WHEN NOT is_valid_utf8({text}) THEN {decode_error(literal('CSV: invalid UTF-8'), data)}"
            f" WHEN {broken} THEN {decode_error(literal('CSV: more than one record in a message'), data)}"
            f" WHEN {fields}.bad IS NOT NULL OR {len(self.names)} > 1 AND {line} = ''"
            f" THEN {decode_error(mismatch, data)} END"
        )


def _one_line(data: str) -> str:
    """Without the line's end, which belongs to no field."""
    return rf"regexp_replace({as_text(data)}, '\\r?\\n\\z', '')"


def _outside_quotes(text: str) -> str:
    """A pattern for `text` where an even number of quotes follows.  Slow, and only used on broken records."""
    escaped = "".join(f"\\x{{{ord(character):x}}}" for character in text)
    return f'{escaped}(?=(?:[^"]*"[^"]*")*[^"]*\\z)'
