"""`'format' = 'json'` of Flink's tables: one JSON object a message, a field for each column.

Unknown fields are ignored, missing ones are NULL.  Numbers may come as strings, a STRING column takes whatever is
there, bytes are base64.  With `ignore-parse-errors` a field that does not fit is NULL; without, it is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from tailrace.formats.decode_contract import SHOWN, Decoded, as_text
from tailrace.formats.decode_fields import SQL, any_of, bad, name_in_ddl, texts_struct, value
from tailrace.formats.decode_json import is_json
from tailrace.formats.encode_scalars import literal
from tailrace.types.core import TEXT, Column, Schema

STRICTLY = "map('allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false', 'columnNameOfCorruptRecord', '__bad')"


@dataclass(frozen=True, slots=True)
class FlinkJsonDecoder:
    """The fields' names are the columns'."""

    fields: Schema
    ignore_errors: bool = False
    fail_on_missing: bool = False
    standard: str = SQL

    keyword: ClassVar[str] = "json"
    head: ClassVar[int] = 0
    is_single: ClassVar[bool] = False

    @property
    def schema(self) -> Schema:
        return self.fields

    def learned(self, heads: Iterable[bytes]) -> Self:
        return self

    def decoded(self, data: str) -> Decoded:
        parsed = f"{data}_json"
        text = f"from_json({as_text(data)}, {literal(_schema(self.fields))}, {STRICTLY})"
        places = [f"{parsed}.{name_in_ddl(field.name)}" for field in self.fields]
        columns = tuple(value(x, f.type, self.standard) for x, f in zip(places, self.fields, strict=True))
        return Decoded(columns, self._error(data, parsed, places), once=((parsed, text),))

    def _error(self, data: str, parsed: str, places: Sequence[str]) -> str:
        broken = f"NOT {is_json(data)} OR NOT ltrim({as_text(data)}) LIKE '{{%'"
        reasons = [f"WHEN {broken} THEN {failed('JSON', data)}"]
        if not self.ignore_errors:
            unfit = any_of([bad(x, f.type, self.standard) for x, f in zip(places, self.fields, strict=True)])
            reasons.append(f"WHEN {parsed}.__bad IS NOT NULL OR {unfit} THEN {failed('JSON', data)}")
        if self.fail_on_missing:
            reasons += [f"WHEN {_is_missing(f.name, data)} THEN {_missing(f.name, data)}" for f in self.fields]
        reasons += null_reasons(self.fields, places, self.standard)
        return f"CASE {' '.join(reasons)} END"

    def surely_differ(self, values: Sequence[bytes]) -> bool:
        return False

    def surely_decodes(self, values: Sequence[bytes]) -> bool:
        return False


def _schema(fields: Schema) -> str:
    return texts_struct((*fields, Column("__bad", TEXT)))


def failed(format: str, data: str) -> str:
    """Spark text of `Failed to deserialize JSON '…'.`"""
    opening, closing = literal(f"Failed to deserialize {format} '"), literal("'.")
    return f"concat({opening}, left({as_text(data)}, {SHOWN}), {closing})"


def null_reasons(fields: Schema, places: Sequence[str], standard: str) -> list[str]:
    """A NOT NULL column without a value is an error, whatever is ignored otherwise."""
    return [
        f"WHEN {value(x, f.type, standard)} IS NULL THEN {literal(f'Column {f.name!r} is NOT NULL and has no value.')}"
        for x, f in zip(places, fields, strict=True)
        if not f.nullable
    ]


def _is_missing(name: str, data: str) -> str:
    return f"NOT coalesce(array_contains(json_object_keys({as_text(data)}), {literal(name)}), false)"


def _missing(name: str, data: str) -> str:
    return f"concat({failed('JSON', data)}, {literal(f' Could not find field with name {name!r}.')})"
