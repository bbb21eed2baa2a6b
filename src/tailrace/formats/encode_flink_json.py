"""`'format' = 'json'` of Flink's tables, on the way out: one object a row, fields in the order of the columns.

Decimals are numbers, bytes base64, timestamps `2020-12-30 12:13:14.123` with no more digits than needed, `Z` behind
those of TIMESTAMP_LTZ.  Changelog formats put the object into a frame that says whether the row came or left.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, assert_never

from tailrace.formats import encode_scalars as scalars
from tailrace.formats.decode_fields import ISO, SQL
from tailrace.formats.encode_contract import ChangeFrame
from tailrace.formats.encode_json import json_string
from tailrace.formats.encode_scalars import literal, text
from tailrace.formats.encode_text import text_form
from tailrace.types.core import (
    ArrayOf,
    Char,
    Column,
    ListOf,
    MapOf,
    Numeric,
    RangeOf,
    Record,
    Scalar,
    Schema,
    SqlType,
    Timestamp,
    TimestampTz,
    Varchar,
)
from tailrace.types.spark import UNSCALED_DIGITS


@dataclass(frozen=True, slots=True)
class FlinkJsonEncoder:
    """Encodes any row."""

    ignore_nulls: bool = False
    plain_decimals: bool = False
    standard: str = SQL
    change: ChangeFrame = ChangeFrame()  # noqa: RUF009  a constant

    name: ClassVar[str] = "json"
    framing: ClassVar[int] = 0
    prefix: ClassVar[bytes] = b""

    def check(self, columns: Schema) -> None:
        """Every type has a form."""

    def registered(self, columns: Schema, *, change: bool) -> FlinkJsonEncoder:
        return self

    def record(self, columns: Schema, places: Sequence[str]) -> str:
        return f"CAST({self._object(columns, places, 0)} AS binary)"

    def side(self, columns: Schema, places: Sequence[str]) -> str:
        return self.record(columns, places)

    def _object(self, columns: Sequence[Column], places: Sequence[str], depth: int) -> str:
        members = (
            (json.dumps(c.name, ensure_ascii=False), self._text(x, c.type, depth))
            for c, x in zip(columns, places, strict=True)
        )
        if self.ignore_nulls:
            parts = ", ".join(f"concat({literal(name + ':')}, {value})" for name, value in members)
            return f"concat('{{', concat_ws(',', {parts}), '}}')"
        pieces = [f"{literal(name + ':')}, coalesce({value}, 'null')" for name, value in members]
        joined = ", ',', ".join(pieces)
        return f"concat('{{', {joined}, '}}')"

    def _text(self, x: str, type: SqlType, depth: int) -> str:
        """The JSON of a value, NULL for NULL."""
        match type:
            case Scalar(name=name):
                return self._scalar(x, name)
            case Numeric(scale=scale):
                plain = text(x)
                return plain if self.plain_decimals else java_decimal(x, UNSCALED_DIGITS if scale is None else scale)
            case Varchar() | Char():
                return json_string(x)
            case Timestamp():
                return _quoted(timestamp(x, self.standard))
            case TimestampTz():
                return _quoted(f"concat({timestamp(x, self.standard)}, 'Z')")
            case ListOf(element=element) | ArrayOf(element=element):
                item = f"coalesce({self._text(f'e{depth}', element, depth + 1)}, 'null')"
                return f"concat('[', array_join(transform({x}, e{depth} -> {item}), ','), ']')"
            case MapOf(value=value):
                return self._map(x, value, depth)
            case Record(fields=fields):
                inside = self._object(fields, [f"{x}.f{i}" for i in range(len(fields))], depth)
                return f"CASE WHEN {x} IS NOT NULL THEN {inside} END"
            case RangeOf():
                return json_string(text_form(x, type, depth))
            case _:
                assert_never(type)

    def _scalar(self, x: str, name: str) -> str:
        match name:
            case "text" | "unknown" | "uuid":
                return json_string(x)
            case "real" | "double precision":
                odd = f"isnan({x}) OR abs({x}) = double('Infinity')"
                return f"CASE WHEN {odd} THEN {_quoted(text(x))} ELSE {text(x)} END"
            case "jsonb":
                return x
            case "bytea":
                return _quoted(f"base64({x})")
            case "date":
                return _quoted(scalars.date_text(x))
            case "time":
                return _quoted(scalars.time_text(x))
            case "interval":
                return _quoted(scalars.interval_text(x))
            case _:
                return text(x)

    def _map(self, x: str, value: SqlType, depth: int) -> str:
        """Sorted by key: the same row gives the same bytes."""
        entry = f"m{depth}"
        item = f"coalesce({self._text(f'{entry}.v', value, depth + 1)}, 'null')"
        found = f"transform(array_sort(map_keys({x})), k -> named_struct('k', k, 'v', element_at({x}, k)))"
        member = f"concat({json_string(f'{entry}.k')}, ':', {item})"
        return f"concat('{{', array_join(transform({found}, {entry} -> {member}), ','), '}}')"


def timestamp(x: str, standard: str) -> str:
    return f"replace({text(x)}, ' ', 'T')" if standard == ISO else text(x)


def java_decimal(x: str, scale: int) -> str:
    """As Java's BigDecimal shows itself: 12.50, and 2.7E-8 where more than six zeros would follow the point."""
    plain = text(x)
    if scale <= 6:
        return plain
    digits = f"ltrim('0', replace(replace({plain}, '-', ''), '.', ''))"
    counted = f"greatest(length({digits}), 1)"
    exponent = f"({counted} - 1 - {scale})"
    first = f"coalesce(nullif(left({digits}, 1), ''), '0')"
    rest = f"CASE WHEN length({digits}) > 1 THEN concat('.', substring({digits}, 2)) ELSE '' END"
    sign = f"CASE WHEN {x} < 0 THEN '-' ELSE '' END"
    scientific = f"concat({sign}, {first}, {rest}, 'E', {text(exponent)})"
    return f"CASE WHEN {x} IS NULL OR {exponent} >= -6 THEN {plain} ELSE {scientific} END"


def _quoted(shown: str) -> str:
    return f"concat('\"', {shown}, '\"')"
