"""How each SQL type is held in Spark: as DDL text, for schemas of DataFrames, Parquet files and Arrow tables.

time is µs of the day (Spark 4.0 has no time type), interval a struct of months, days and µs (compared in that
order), a range a struct too (types/core.py), jsonb and uuid text, unsigned integers the next wider signed type.
"""

from __future__ import annotations

from typing import assert_never

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

UNSCALED_DIGITS = 18
"""Digits after the point of a numeric without a scale; 20 remain before it."""

_SCALARS = {
    "boolean": "boolean",
    "smallint": "smallint",
    "integer": "int",
    "bigint": "bigint",
    "uint2": "int",
    "uint4": "bigint",
    "uint8": "decimal(20,0)",
    "oid": "bigint",
    "real": "float",
    "double precision": "double",
    "text": "string",
    "bytea": "binary",
    "date": "date",
    "time": "bigint",
    "interval": "struct<months:int,days:int,micros:bigint>",
    "jsonb": "string",
    "uuid": "string",
    "mz_timestamp": "bigint",
    "unknown": "string",
}


def spark_type(type: SqlType) -> str:
    """The Spark DDL text of a type, e.g. `decimal(38,18)`, `array<int>`."""
    match type:
        case Scalar(name=name):
            return _SCALARS[name]
        case Numeric(scale=scale):
            return f"decimal(38,{UNSCALED_DIGITS if scale is None else scale})"
        case Varchar() | Char():
            return "string"
        case Timestamp():
            return "timestamp_ntz"
        case TimestampTz():
            return "timestamp"
        case ListOf(element=element) | ArrayOf(element=element):
            return f"array<{spark_type(element)}>"
        case MapOf(value=value):
            return f"map<string,{spark_type(value)}>"
        case Record(fields=fields):
            return "struct<" + ",".join(f"f{i}:{spark_type(f.type)}" for i, f in enumerate(fields)) + ">"
        case RangeOf(element=element):
            bound = spark_type(element)
            return (
                f"struct<holds:boolean,lower:{bound},after:boolean,endless:boolean,upper:{bound},until:boolean>"
            )
        case _:
            assert_never(type)


def ddl(schema: Schema) -> str:
    """Columns as we hold them, `c0 bigint, c1 string, …`: by place, so that any name may be used in SQL."""
    return ", ".join(f"c{i} {spark_type(column.type)}" for i, column in enumerate(schema))
