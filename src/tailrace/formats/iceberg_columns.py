"""Columns as an Iceberg table holds them.  What Spark must rearrange for it, it does as for other Parquet files.

Iceberg has no unsigned integers, intervals or arrays of unknown dimension: the first are the next wider type, intervals
are text, and arrays are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

import pyarrow as pa
from pyiceberg import types as iceberg
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema as IcebergSchema

from tailrace.formats.parquet_columns import RANGE_FLAGS, UNSCALED_DIGITS
from tailrace.types.core import (
    ArrayOf,
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
)

_SCALARS: dict[str, iceberg.IcebergType] = {
    "boolean": iceberg.BooleanType(),
    "smallint": iceberg.IntegerType(),
    "integer": iceberg.IntegerType(),
    "bigint": iceberg.LongType(),
    "uint2": iceberg.IntegerType(),
    "uint4": iceberg.LongType(),
    "uint8": iceberg.DecimalType(20, 0),
    "real": iceberg.FloatType(),
    "double precision": iceberg.DoubleType(),
    "text": iceberg.StringType(),
    "unknown": iceberg.StringType(),
    "bytea": iceberg.BinaryType(),
    "date": iceberg.DateType(),
    "time": iceberg.TimeType(),
    "interval": iceberg.StringType(),
    "jsonb": iceberg.StringType(),
    "uuid": iceberg.FixedType(16),
    "mz_timestamp": iceberg.DecimalType(20, 0),
}
_NO_KEY = ("real", "double precision")


def not_encodable(schema: Schema) -> list[str]:
    """The columns that Iceberg cannot hold, each with its type."""
    return [f"{column.name} {column.type}" for column in schema if not _is_encodable(column.type)]


def can_be_key(type: SqlType) -> bool:
    composite = isinstance(type, ListOf | ArrayOf | MapOf | Record | RangeOf)
    return not composite and not (isinstance(type, Scalar) and type.name in _NO_KEY)


def table_schema(schema: Schema, key: Sequence[int] = ()) -> IcebergSchema:
    """Of a table that we create.  Key columns that are never NULL identify its rows."""
    ids = count(1)
    fields = [
        iceberg.NestedField(next(ids), column.name, _type(column.type, ids), required=not column.nullable)
        for column in schema
    ]
    known = [fields[place].field_id for place in key] if all(fields[place].required for place in key) else []
    return IcebergSchema(*fields, identifier_field_ids=known)


def arrow_schema(schema: Schema) -> pa.Schema:
    """What `parquet_columns.select` casts to, for a table made by `table_schema`."""
    return schema_to_pyarrow(table_schema(schema), include_field_ids=False)


def _type(type: SqlType, ids: Iterator[int]) -> iceberg.IcebergType:
    match type:
        case Scalar(name=name):
            return _SCALARS[name]
        case Numeric(scale=scale):
            return iceberg.DecimalType(38, UNSCALED_DIGITS if scale is None else scale)
        case Timestamp():
            return iceberg.TimestampType()
        case TimestampTz():
            return iceberg.TimestamptzType()
        case ListOf(element=element):
            return iceberg.ListType(next(ids), _type(element, ids), element_required=False)
        case MapOf(value=value):
            key, of_value = next(ids), next(ids)
            return iceberg.MapType(key, iceberg.StringType(), of_value, _type(value, ids), value_required=False)
        case Record(fields=fields):
            return iceberg.StructType(
                *(iceberg.NestedField(next(ids), f.name, _type(f.type, ids), required=False) for f in fields)
            )
        case RangeOf(element=element):
            parts = {"lower": _type(element, ids), "upper": _type(element, ids)}
            parts |= dict.fromkeys(RANGE_FLAGS, iceberg.BooleanType())
            return iceberg.StructType(
                *(iceberg.NestedField(next(ids), name, part, required=False) for name, part in parts.items())
            )
        case _:  # texts of all kinds
            return iceberg.StringType()


def _is_encodable(type: SqlType) -> bool:
    match type:
        case Scalar(name=name):
            return name in _SCALARS
        case ArrayOf():
            return False
        case ListOf(element=inner) | MapOf(value=inner):
            return _is_encodable(inner)
        case Record(fields=fields):
            return bool(fields) and all(_is_encodable(field.type) for field in fields)
        case _:
            return True
