"""Rows as lines of CSV, as Spark SQL text: values in PostgreSQL's text form, quoted only where they must be.

NULL is the null text, unquoted; a value that equals it, or holds a delimiter, a quote, CR or LF, stands in quotes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from re import escape as pattern

from tailrace.formats.encode_scalars import literal
from tailrace.formats.encode_text import text_form
from tailrace.types.core import Schema


@dataclass(frozen=True, kw_only=True, slots=True)
class CsvStyle:
    """One character each, but for `null`."""

    delimiter: str = ","
    quote: str = '"'
    escape: str = '"'
    null: str = ""

    def line(self, schema: Schema, places: Sequence[str]) -> str:
        """Spark text: a row with its line end."""
        fields = (
            self._field(text_form(place, column.type), alone=len(schema) == 1)
            for place, column in zip(places, schema, strict=True)
        )
        return f"concat(concat_ws({literal(self.delimiter)}, {', '.join(fields)}), '\\n')"

    def header(self, schema: Schema) -> str:
        """The names, as the first line of a file."""
        return self.delimiter.join(self._quoted(column.name) for column in schema) + "\n"

    def _field(self, shown: str, *, alone: bool) -> str:
        # A line with nothing but \. ends the data for some readers.
        odd = self._odd() + (r"|^\\\.$" if alone else "")
        quote, inner = literal(self.quote), "t"
        for character in dict.fromkeys((self.escape, self.quote)):
            inner = f"replace({inner}, {literal(character)}, {literal(self.escape + character)})"
        choice = (
            f"CASE WHEN t IS NULL THEN {literal(self.null)} WHEN t RLIKE {literal(odd)}"
            f" THEN concat({quote}, {inner}, {quote}) ELSE t END"
        )
        return f"transform(array({shown}), t -> {choice})[0]"  # a list of one: Spark has no LET

    def _odd(self) -> str:
        return rf"[{_in_class(self.delimiter)}{_in_class(self.quote)}\r\n]|^{pattern(self.null)}$"

    def _quoted(self, name: str) -> str:
        if name != self.null and not {self.delimiter, self.quote, "\r", "\n"} & set(name):
            return name
        inner = name
        for character in dict.fromkeys((self.escape, self.quote)):
            inner = inner.replace(character, self.escape + character)
        return f"{self.quote}{inner}{self.quote}"


def _in_class(character: str) -> str:
    return "\\" + character if character in "\\]^-[&" else character
