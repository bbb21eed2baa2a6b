"""COPY … TO STDOUT: rows as lines of text or CSV, or in PostgreSQL's binary file form.

Text: tabs between columns, `\\N` for NULL, backslash escapes.  CSV: commas, nothing for NULL, quotes where
needed.
"""

from __future__ import annotations

from struct import pack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.server.messages import BINARY, TEXT, CopyData, CopyOutResponse, RowBlock
from tailrace.server.rows import block
from tailrace.types.core import Schema
from tailrace.types.postgres import binary_form, text_form
from tailrace.types.postgres.columns import blobs, concat, fixed, length_prefixed

_BINARY_HEADER = b"PGCOPY\n\xff\r\n\0" + pack(">ii", 0, 0)
_BINARY_END = pack(">h", -1)

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\b": "\\b", "\f": "\\f", "\v": "\\v"}
# An empty string differs from NULL by its quotes; `\.` alone on a line would end the data.
_ODD_CSV = r'^$|[",\n\r]|^\\\.$'


class CopyOut:
    """The data of one COPY; `style` is text, csv or binary."""

    def __init__(self, columns: Schema, style: str) -> None:
        self._columns, self._style = columns, style
        # PostgreSQL sends the header and the first row as one message, and psycopg relies on it.
        self._header = _BINARY_HEADER if style == "binary" else b""

    def response(self) -> CopyOutResponse:
        format = BINARY if self._style == "binary" else TEXT
        return CopyOutResponse(bytes([format]), (format,) * len(self._columns))

    def block(self, batch: pa.RecordBatch) -> RowBlock:
        """One CopyData message for each row of the batch, of which there is at least one."""
        if self._style == "binary":
            rows = _binary_rows(batch, self._columns)
        else:
            rows = _lines(batch, self._columns, self._style)
        if self._header:
            rows = pa.concat_arrays([blobs([self._header + rows[0].as_py()]), rows.slice(1)])
            self._header = b""
        sizes = pc.binary_length(rows).to_numpy(zero_copy_only=False).astype(np.int64)
        return block(b"d", sizes, [rows])

    def end(self) -> CopyData | None:
        return CopyData(self._header + _BINARY_END) if self._style == "binary" else None


def _binary_rows(batch: pa.RecordBatch, columns: Schema) -> pa.Array:
    count = fixed(np.full(batch.num_rows, len(columns), dtype=">i2"))
    fields = (binary_form(values, c.type) for values, c in zip(batch.columns, columns, strict=True))
    return concat(count, *map(length_prefixed, fields))


def _lines(batch: pa.RecordBatch, columns: Schema, style: str) -> pa.Array:
    quote, separator = (_csv_field, ",") if style == "csv" else (_text_field, "\t")
    line_ends = pa.array(["\n"] * batch.num_rows, pa.string())
    fields = [quote(text_form(values, c.type)) for values, c in zip(batch.columns, columns, strict=True)]
    if not fields:
        return line_ends.cast(pa.binary())
    joined = pc.binary_join_element_wise(*fields, pa.scalar(separator))
    return concat(joined, line_ends).cast(pa.binary())


def _text_field(texts: pa.Array) -> pa.Array:
    for character, escape in _ESCAPES.items():  # the backslash first
        texts = pc.replace_substring(texts, character, escape)
    return pc.fill_null(texts, "\\N")


def _csv_field(texts: pa.Array) -> pa.Array:
    quoted = concat('"', pc.replace_substring(texts, '"', '""'), '"')
    return pc.fill_null(pc.if_else(pc.match_substring_regex(texts, _ODD_CSV), quoted, texts), "")
