"""How each SQL type is held in Arrow: what Spark gives for the DDL of types/spark.py, without asking Spark."""

from __future__ import annotations

from typing import assert_never

import pyarrow as pa

from tailrace.types.core import (
    ArrayOf,
    Char,
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

_INTERVAL = pa.struct([("months", pa.int32()), ("days", pa.int32()), ("micros", pa.int64())])
SCALARS = {
    "boolean": pa.bool_(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "uint2": pa.int32(),
    "uint4": pa.int64(),
    "uint8": pa.decimal128(20, 0),
    "oid": pa.int64(),
    "real": pa.float32(),
    "double precision": pa.float64(),
    "text": pa.string(),
    "bytea": pa.binary(),
    "date": pa.date32(),
    "time": pa.int64(),
    "interval": _INTERVAL,
    "jsonb": pa.string(),
    "uuid": pa.string(),
    "mz_timestamp": pa.int64(),
    "unknown": pa.string(),
}


def arrow_type(type: SqlType) -> pa.DataType:
    match type:
        case Scalar(name=name):
            return SCALARS[name]
        case Numeric(scale=scale):
            return pa.decimal128(38, UNSCALED_DIGITS if scale is None else scale)
        case Varchar() | Char():
            return pa.string()
        case Timestamp():
            return pa.timestamp("us")
        case TimestampTz():
            return pa.timestamp("us", tz="UTC")
        case ListOf(element=element) | ArrayOf(element=element):
            return pa.list_(pa.field("element", arrow_type(element)))
        case MapOf(value=value):
            return pa.map_(pa.string(), arrow_type(value))
        case Record(fields=fields):
            return pa.struct([(f"f{i}", arrow_type(field.type)) for i, field in enumerate(fields)])
        case RangeOf(element=element):
            truth, bound = pa.bool_(), arrow_type(element)
            low, high = [("holds", truth), ("lower", bound), ("after", truth)], [("endless", truth), ("upper", bound)]
            return pa.struct([*low, *high, ("until", truth)])
        case _:
            assert_never(type)


def arrow_schema(columns: Schema) -> pa.Schema:
    """Columns c0, c1, …"""
    return pa.schema([(f"c{i}", arrow_type(column.type)) for i, column in enumerate(columns)])
