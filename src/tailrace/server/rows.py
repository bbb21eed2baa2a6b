"""Arrow batches as rows on the wire: every column is encoded as a whole, then all are joined in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.server.messages import BINARY, TEXT, ResultColumn, RowBlock, RowDescription
from tailrace.types.core import Column, ListOf, MapOf, Schema
from tailrace.types.postgres import binary_form, length_of, modifier_of, oid_of, text_form
from tailrace.types.postgres.columns import concat, fixed

PIECE_BYTES = 256 * 1024
"""About how much is sent before the next rows are looked at; bounds what a slow reader makes us hold."""


def row_description(columns: Schema, formats: Sequence[int]) -> RowDescription:
    return RowDescription(tuple(map(_result_column, columns, formats)))


def _result_column(column: Column, format: int) -> ResultColumn:
    """Lists and maps have no binary form, and the description says so."""
    type = column.type
    sent_as = TEXT if isinstance(type, ListOf | MapOf) else format
    return ResultColumn(column.name, oid_of(type), length_of(type), modifier_of(type), sent_as)


def row_block(batch: pa.RecordBatch, columns: Schema, formats: Sequence[int]) -> RowBlock:
    """One DataRow message for each row of the batch."""
    sizes = np.full(batch.num_rows, 2 + 4 * len(columns), dtype=np.int64)
    parts: list[pa.Array] = []
    for values, column, format in zip(batch.columns, columns, formats, strict=True):
        encode = binary_form if format == BINARY else text_form
        field = encode(values, column.type).cast(pa.binary())
        lengths = pc.fill_null(pc.binary_length(field), -1).to_numpy(zero_copy_only=False)
        sizes += np.maximum(lengths, 0)
        parts += [fixed(lengths.astype(">i4")), pc.fill_null(field, b"")]
    return block(b"D", sizes, [_counts(batch.num_rows, len(columns)), *parts])


def _counts(rows: int, columns: int) -> pa.Array:
    return fixed(np.full(rows, columns, dtype=">i2"))


def block(tag: bytes, sizes: np.ndarray, parts: Sequence[pa.Array]) -> RowBlock:
    """Messages with this tag, each of `sizes` bytes joined from the parts of its row."""
    header = np.empty(len(sizes), dtype=[("tag", "S1"), ("length", ">i4")])
    header["tag"] = tag
    header["length"] = sizes + 4
    return RowBlock(len(sizes), contents(concat(fixed(header), *parts)))


def contents(values: pa.Array) -> bytes:
    """All bytes of a binary column, one value after the other."""
    _, offsets, data = values.buffers()
    if data is None:
        return b""
    ends = np.frombuffer(offsets, dtype=np.int32, count=len(values) + 1, offset=4 * values.offset)
    return memoryview(data)[ends[0] : ends[-1]].tobytes()


def pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in slices of about PIECE_BYTES."""
    rows = max(1, batch.num_rows * PIECE_BYTES // max(1, batch.nbytes))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)
