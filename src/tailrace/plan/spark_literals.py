"""Constants as Spark SQL text.  Every text has exactly the Spark type that types/spark.py gives the SQL
type.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any, assert_never

from tailrace.plan.expressions import Literal
from tailrace.plan.values import parse_value
from tailrace.types.core import (
    BOOLEAN,
    ArrayOf,
    Char,
    ListOf,
    MapOf,
    Numeric,
    RangeOf,
    Record,
    Scalar,
    SqlType,
    Timestamp,
    TimestampTz,
    Varchar,
)
from tailrace.types.spark import spark_type


def spark_literal(literal: Literal) -> str:
    """The Spark text of a constant.  Raises InvalidText if its text is no value of its type."""
    if literal.text is None:
        return f"CAST(NULL AS {spark_type(literal.type)})"
    return spark_value(parse_value(literal.text, literal.type), literal.type)


def quoted(text: str) -> str:
    """A Spark string literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\0", "\\0")
    return f"'{escaped}'"


def spark_value(value: Any, type: SqlType) -> str:
    if value is None:
        return f"CAST(NULL AS {spark_type(type)})"
    match type:
        case Scalar(name=name):
            return _scalar(value, name)
        case Numeric():
            return _decimal(value, type)
        case Varchar() | Char():
            return quoted(str(value))
        case Timestamp():
            return _timestamp("TIMESTAMP_NTZ", value)
        case TimestampTz():
            return _timestamp("TIMESTAMP", value, zone="+00:00")
        case ListOf(element=element) | ArrayOf(element=element):
            inner = ", ".join(spark_value(each, element) for each in value)
            return f"array({inner})" if value else f"CAST(array() AS {spark_type(type)})"
        case MapOf(value=item):
            inner = ", ".join(f"{quoted(k)}, {spark_value(v, item)}" for k, v in sorted(value.items()))
            return f"map({inner})" if value else f"CAST(map() AS {spark_type(type)})"
        case Record(fields=fields):
            inner = ", ".join(
                f"'f{i}', {spark_value(v, f.type)}"
                for i, (v, f) in enumerate(zip(value, fields, strict=True))
            )
            return f"named_struct({inner})"
        case RangeOf(element=element):
            parts = (
                ("holds", BOOLEAN), ("lower", element), ("after", BOOLEAN),
                ("endless", BOOLEAN), ("upper", element), ("until", BOOLEAN),
            )  # fmt: skip
            inner = ", ".join(f"'{name}', {spark_value(getattr(value, name), part)}" for name, part in parts)
            return f"CAST(named_struct({inner}) AS {spark_type(type)})"
        case _:
            assert_never(type)


def _scalar(value: Any, name: str) -> str:
    match name:
        case "boolean":
            return "true" if value else "false"
        case "smallint":
            return f"{value}S"
        case "integer" | "uint2":
            return "(-2147483647 - 1)" if value == -(2**31) else str(value)
        case "bigint" | "uint4" | "oid" | "mz_timestamp" | "time":
            return "(-9223372036854775807L - 1L)" if value == -(2**63) else f"{value}L"
        case "uint8":
            return f"CAST({value} AS decimal(20,0))"
        case "real" | "double precision":
            return _float(value, "F" if name == "real" else "D")
        case "bytea":
            return f"X'{value.hex()}'"
        case "date":
            return f"DATE'{value.isoformat()}'" if isinstance(value, date) else f"DATE'{value}'"
        case "interval":
            months, days, micros = value
            return f"named_struct('months', {months}, 'days', {days}, 'micros', {micros}L)"
        case _:
            return quoted(str(value))


def _float(value: float, suffix: str) -> str:
    if value != value:
        return f"CAST('NaN' AS {'float' if suffix == 'F' else 'double'})"
    if value in (float("inf"), float("-inf")):
        word = "Infinity" if value > 0 else "-Infinity"
        return f"CAST('{word}' AS {'float' if suffix == 'F' else 'double'})"
    return f"CAST('{value!r}' AS {'float' if suffix == 'F' else 'double'})"


def _decimal(value: Decimal, type: SqlType) -> str:
    return f"CAST('{value:f}' AS {spark_type(type)})"


def _timestamp(kind: str, value: datetime, zone: str = "") -> str:
    return f"{kind}'{value.isoformat(' ')}{zone}'"
