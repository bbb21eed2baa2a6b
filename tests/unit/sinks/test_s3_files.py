"""Parquet files as other systems read them: each type in the form that their loaders document."""

from __future__ import annotations

import io

import pyarrow.parquet as pq

from tailrace.formats.parquet_columns import arrow_schema
from tailrace.sinks.s3_files import ParquetFiles
from tailrace.types.core import Column, Numeric, Scalar, SqlType, Timestamp, TimestampTz

TYPES: dict[SqlType, str] = {
    Scalar("boolean"): "BOOLEAN",
    Scalar("smallint"): "INT32 INT_16",
    Scalar("integer"): "INT32",
    Scalar("bigint"): "INT64",
    Scalar("uint2"): "INT32 UINT_16",
    Scalar("uint4"): "INT64",  # version 1.0 of the format has no UINT_32
    Scalar("uint8"): "INT64 UINT_64",
    Scalar("real"): "FLOAT",
    Scalar("double precision"): "DOUBLE",
    Numeric(scale=2): "FIXED_LEN_BYTE_ARRAY DECIMAL(38,2)",
    Numeric(scale=None): "FIXED_LEN_BYTE_ARRAY DECIMAL(38,10)",
    Scalar("text"): "BYTE_ARRAY UTF8",
    Scalar("jsonb"): "BYTE_ARRAY UTF8",
    Scalar("bytea"): "BYTE_ARRAY",
    Scalar("uuid"): "FIXED_LEN_BYTE_ARRAY",
    Scalar("date"): "INT32 DATE",
    Scalar("time"): "INT64 Time(isAdjustedToUTC=false, timeUnit=microseconds)",
    Timestamp(): "INT64 Timestamp(isAdjustedToUTC=false, timeUnit=microseconds)",
    TimestampTz(): "INT64 Timestamp(isAdjustedToUTC=true, timeUnit=microseconds)",
}


def shown(column: pq.ColumnSchema) -> str:
    logical = str(column.logical_type).split(", is_from")[0]
    if logical.startswith("Time"):
        return f"{column.physical_type} {logical.rstrip(')')})"
    if column.converted_type == "DECIMAL":
        return f"{column.physical_type} DECIMAL({column.precision},{column.scale})"
    return column.physical_type + ("" if column.converted_type == "NONE" else f" {column.converted_type}")


def test_every_type_is_what_loaders_expect() -> None:
    schema = tuple(Column(f"c{i}", type, True) for i, type in enumerate(TYPES))
    content = io.BytesIO()
    ParquetFiles(arrow_schema(schema)).open(content, 1 << 28).close()
    read = pq.ParquetFile(io.BytesIO(content.getvalue()))
    assert [shown(read.schema.column(i)) for i in range(len(schema))] == list(TYPES.values())
    assert read.metadata.format_version == "1.0"
