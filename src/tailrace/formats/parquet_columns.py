"""Columns as a Parquet file of COPY … TO holds them: Spark text for what Spark must rearrange, else Arrow types.

Each field's metadata names its SQL type, `materialize.v1.{type}`; the Arrow schema is stored in the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import pyarrow as pa

from tailrace.formats.encode_scalars import interval_text, literal
from tailrace.types.arrow import SCALARS
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

UNSCALED_DIGITS = 10
"""Digits after the point of a numeric without a scale: 28 remain before it.  Fewer than in memory."""

_SCALARS = {
    **{name: type for name, type in SCALARS.items() if name != "interval"},
    "uint2": pa.uint16(),
    "uint4": pa.uint32(),
    "uint8": pa.uint64(),
    "oid": pa.uint32(),
    "time": pa.time64("us"),
    "uuid": pa.binary(16),
    "mz_timestamp": pa.uint64(),
}
"""As in memory, but for types that Parquet has and Spark has not."""
RANGE_FLAGS = ("lower_inclusive", "upper_inclusive", "empty")
"""What is told of a range beside its bounds."""
_NAMES = {"double precision": "double", "unknown": "text"}


def not_encodable(schema: Schema) -> list[str]:
    """The columns that Parquet cannot hold, each with its type."""
    return [f"{column.name} {column.type}" for column in schema if not _is_encodable(column.type)]


def names_of(schema: Schema) -> list[str]:
    """Column names, those that repeat with a number from 2 on."""
    names: list[str] = []
    for column in schema:
        name, number = column.name, 2
        while name in names:
            name, number = f"{column.name}{number}", number + 1
        names.append(name)
    return names


def arrow_schema(schema: Schema) -> pa.Schema:
    return pa.schema(
        [
            pa.field(name, arrow_type(column.type), column.nullable, {"ARROW:extension:name": _extension(column.type)})
            for name, column in zip(names_of(schema), schema, strict=True)
        ]
    )


def select(schema: Schema, places: Sequence[str]) -> str:
    """Spark text: the select list whose columns cast to `arrow_schema`."""
    outputs = (spark_text(place, column.type) for place, column in zip(places, schema, strict=True))
    return ", ".join(f"{text} AS c{i}" for i, text in enumerate(outputs))


def arrow_type(type: SqlType) -> pa.DataType:
    match type:
        case Scalar(name=name):
            return _SCALARS[name]
        case Numeric(scale=scale):
            return pa.decimal128(38, UNSCALED_DIGITS if scale is None else scale)
        case Varchar() | Char():
            return pa.string()
        case Timestamp():
            return pa.timestamp("us")
        case TimestampTz():
            return pa.timestamp("us", "UTC")
        case ListOf(element=element):
            return pa.list_(pa.field("item", arrow_type(element)))
        case ArrayOf():
            base, _ = _base(type)
            items = pa.list_(pa.field("item", arrow_type(base)))
            return pa.struct([pa.field("items", items), pa.field("dimensions", pa.uint8())])
        case MapOf(value=value):
            return pa.map_(pa.string(), pa.field("value", arrow_type(value)))
        case Record(fields=fields):
            return pa.struct([pa.field(field.name, arrow_type(field.type)) for field in fields])
        case RangeOf(element=element):
            bounds = [pa.field(name, arrow_type(element)) for name in ("lower", "upper")]
            return pa.struct([*bounds, *(pa.field(name, pa.bool_()) for name in RANGE_FLAGS)])
        case _:
            assert_never(type)


def spark_text(x: str, type: SqlType, depth: int = 0) -> str:
    """The value as Arrow can cast it.  `depth` keeps the variables of nested lambdas apart."""
    match type:
        case Scalar(name="uuid"):
            return f"unhex(replace({x}, '-', ''))"
        case Scalar(name="interval"):  # of Iceberg's alone
            return interval_text(x)
        case Char(length=length):
            return f"rpad({x}, {length}, ' ')"
        case ListOf(element=element):
            return f"transform({x}, e{depth} -> {spark_text(f'e{depth}', element, depth + 1)})"
        case ArrayOf():
            return _array(x, type, depth)
        case MapOf(value=value):
            return f"transform_values({x}, (k{depth}, v{depth}) -> {spark_text(f'v{depth}', value, depth + 1)})"
        case Record(fields=fields):
            parts = ", ".join(
                f"{literal(f.name)}, {spark_text(f'{x}.f{i}', f.type, depth)}" for i, f in enumerate(fields)
            )
            return f"CASE WHEN {x} IS NOT NULL THEN named_struct({parts}) END"
        case RangeOf(element=element):
            lower, upper = (spark_text(f"{x}.{bound}", element, depth) for bound in ("lower", "upper"))
            flags = (f"({x}.lower IS NOT NULL AND NOT {x}.after)", f"{x}.until", f"(NOT {x}.holds)")
            told = ", ".join(f"'{name}', {flag}" for name, flag in zip(RANGE_FLAGS, flags, strict=True))
            return f"CASE WHEN {x} IS NOT NULL THEN named_struct('lower', {lower}, 'upper', {upper}, {told}) END"
        case _:
            return x


def _array(x: str, type: ArrayOf, depth: int) -> str:
    base, dimensions = _base(type)
    flat = x
    for _ in range(dimensions - 1):
        flat = f"flatten({flat})"
    items = f"transform({flat}, e{depth} -> {spark_text(f'e{depth}', base, depth + 1)})"
    count = f"CAST(CASE WHEN size({flat}) = 0 THEN 0 ELSE {dimensions} END AS smallint)"
    return f"CASE WHEN {x} IS NOT NULL THEN named_struct('items', {items}, 'dimensions', {count}) END"


def _base(type: SqlType) -> tuple[SqlType, int]:
    if not isinstance(type, ArrayOf):
        return type, 0
    base, dimensions = _base(type.element)
    return base, dimensions + 1


def _is_encodable(type: SqlType) -> bool:
    match type:
        case Scalar(name=name):
            return name in _SCALARS
        case ListOf(element=inner) | ArrayOf(element=inner) | MapOf(value=inner):
            return _is_encodable(inner)
        case Record(fields=fields):
            return bool(fields) and all(_is_encodable(field.type) for field in fields)
        case _:
            return True


def _extension(type: SqlType) -> str:
    match type:
        case Scalar(name=name):
            shown = _NAMES.get(name, name)
        case TimestampTz():
            shown = "timestamptz"
        case RangeOf():
            shown = "range"
        case ListOf() | ArrayOf() | MapOf():
            shown = {"ListOf": "list", "ArrayOf": "array", "MapOf": "map"}[type.__class__.__name__]
        case _:
            shown = type.__class__.__name__.lower()
    return f"materialize.v1.{shown}"
