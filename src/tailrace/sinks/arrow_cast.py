"""Columns as Spark made them to the types of a file, which are sometimes narrower."""

from __future__ import annotations

import pyarrow as pa

from tailrace.errors import DataError


def cast(batch: pa.RecordBatch, schema: pa.Schema, kind: str, hint: str | None = None) -> pa.RecordBatch:
    """`batch` with the names and types of `schema`.  A value that does not fit is an error that names `kind`'s type."""
    arrays = []
    for column, to in zip(batch.columns, schema, strict=True):
        try:
            arrays.append(column if column.type == to.type else column.cast(to.type))
        except pa.ArrowInvalid as error:
            raise DataError(
                f'value of column "{to.name}" out of range for {kind} {to.type}',
                detail=str(error),
                hint=hint,
                sqlstate="22003",
            ) from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
