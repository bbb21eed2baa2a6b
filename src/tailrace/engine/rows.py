"""Rows that the driver has as Python values, as a result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from tailrace.ivm import views
from tailrace.types.core import Schema
from tailrace.types.spark import ddl


def rows_of(columns: Schema, rows: Iterable[Sequence[Any]]) -> list[pa.RecordBatch]:
    """One batch; no Spark job."""
    schema = arrow_schema(columns)
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(column, field.type) for column, field in zip(values, schema, strict=True)]
    return [pa.RecordBatch.from_arrays(arrays, schema=schema)]


def arrow_schema(columns: Schema) -> pa.Schema:
    """The Arrow schema that Spark gives a relation with these columns."""
    return views.arrow_schema(ddl(columns))
