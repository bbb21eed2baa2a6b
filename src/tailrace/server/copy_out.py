"""COPY … TO STDOUT: rows as lines of text or CSV, or in PostgreSQL's binary file form.

Text: tabs between columns, `\\N` for NULL, backslash escapes.  CSV: commas, nothing for NULL, quotes where
needed.  All of these can be chosen.
"""

from __future__ import annotations

import re
from struct import pack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.server.messages import BINARY, TEXT, CopyData, CopyOutResponse, RowBlock
from tailrace.server.rows import block
from tailrace.statements.contract import CopyStyle
from tailrace.types.core import Schema
from tailrace.types.postgres import binary_form, text_form
from tailrace.types.postgres.columns import blobs, concat, fixed, length_prefixed

_BINARY_HEADER = b"PGCOPY\n\xff\r\n\0" + pack(">ii", 0, 0)
_BINARY_END = pack(">h", -1)

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\b": "\\b", "\f": "\\f", "\v": "\\v"}


class CopyOut:
    """The data of one COPY."""

    def __init__(self, columns: Schema, style: CopyStyle) -> None:
        self._columns, self._style = columns, style
        # PostgreSQL sends the header and the first row as one message, and psycopg relies on it.
        self._header = _BINARY_HEADER if style.is_binary else _names(columns, style) if style.header else b""

    def response(self) -> CopyOutResponse:
        format = BINARY if self._style.is_binary else TEXT
        return CopyOutResponse(bytes([format]), (format,) * len(self._columns))

    def block(self, batch: pa.RecordBatch) -> RowBlock:
        """One CopyData message for each row of the batch, of which there is at least one."""
        if self._style.is_binary:
            rows = _binary_rows(batch, self._columns)
        else:
            rows = _lines(batch, self._columns, self._style)
        if self._header:
            rows = pa.concat_arrays([blobs([self._header + rows[0].as_py()]), rows.slice(1)])
            self._header = b""
        sizes = pc.binary_length(rows).to_numpy(zero_copy_only=False).astype(np.int64)
        return block(b"d", sizes, [rows])

    def end(self) -> CopyData | None:
        last = self._header + (_BINARY_END if self._style.is_binary else b"")
        return CopyData(last) if last else None


def _names(columns: Schema, style: CopyStyle) -> bytes:
    names = _field(pa.array([column.name for column in columns], pa.string()), style).to_pylist()
    return (style.delimiter.join(names) + "\n").encode()


def _binary_rows(batch: pa.RecordBatch, columns: Schema) -> pa.Array:
    count = fixed(np.full(batch.num_rows, len(columns), dtype=">i2"))
    fields = (binary_form(values, c.type) for values, c in zip(batch.columns, columns, strict=True))
    return concat(count, *map(length_prefixed, fields))


def _lines(batch: pa.RecordBatch, columns: Schema, style: CopyStyle) -> pa.Array:
    line_ends = pa.array(["\n"] * batch.num_rows, pa.string())
    fields = [_field(text_form(values, c.type), style) for values, c in zip(batch.columns, columns, strict=True)]
    if not fields:
        return line_ends.cast(pa.binary())
    joined = pc.binary_join_element_wise(*fields, pa.scalar(style.delimiter))
    return concat(joined, line_ends).cast(pa.binary())


def _field(texts: pa.Array, style: CopyStyle) -> pa.Array:
    return _csv_field(texts, style) if style.is_csv else _text_field(texts, style)


def _text_field(texts: pa.Array, style: CopyStyle) -> pa.Array:
    escapes = _ESCAPES if style.delimiter in _ESCAPES else {**_ESCAPES, style.delimiter: f"\\{style.delimiter}"}
    for character, escape in escapes.items():  # the backslash first
        texts = pc.replace_substring(texts, character, escape)
    return pc.fill_null(texts, style.null)


def _csv_field(texts: pa.Array, style: CopyStyle) -> pa.Array:
    """Quoted if it must be: what looks like NULL differs from it by its quotes; `\\.` alone would end the data."""
    special = "".join(map(re.escape, dict.fromkeys((style.delimiter, style.quote, "\n", "\r"))))
    odd = rf"^{re.escape(style.null)}$|[{special}]|^\\\.$"
    inner = texts
    for character in dict.fromkeys((style.escape, style.quote)):  # the escape first
        inner = pc.replace_substring(inner, character, style.escape + character)
    quoted = concat(style.quote, inner, style.quote)
    return pc.fill_null(pc.if_else(pc.match_substring_regex(texts, odd), quoted, texts), style.null)
