"""Rows that the driver has as Python values, as a result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from tailrace.types.arrow import arrow_schema
from tailrace.types.core import INTERVAL, ArrayOf, ListOf, RangeOf, Record, Schema, SqlType

__all__ = ["arrow_schema", "rows_of"]


def rows_of(columns: Schema, rows: Iterable[Sequence[Any]]) -> list[pa.RecordBatch]:
    """One batch of values as plan/values.py has them; no Spark job."""
    schema = arrow_schema(columns)
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [
        pa.array([_held(value, column.type) for value in each], field.type)
        for each, column, field in zip(values, columns, schema, strict=True)
    ]
    return [pa.RecordBatch.from_arrays(arrays, schema=schema)]


def _held(value: Any, type: SqlType) -> Any:
    """Arrow takes the parts of a struct by name."""
    if value is None:
        return None
    if type == INTERVAL:
        return dict(zip(("months", "days", "micros"), value, strict=True))
    if isinstance(type, Record):
        parts = zip(value, type.fields, strict=True)
        return {f"f{i}": _held(part, field.type) for i, (part, field) in enumerate(parts)}
    if isinstance(type, RangeOf):
        return asdict(value)
    if isinstance(type, ListOf | ArrayOf):
        return [_held(part, type.element) for part in value]
    return value
