"""The driver's hash of a key is Spark's: a row that one of them puts under it the other one finds."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tailrace.ivm.tables import arrow_schema
from tailrace.state.hashing import can_hash, hashed
from tailrace.state.layout import key_hash

RANDOM = random.Random(5)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TEXTS = ["", "a", "ü€𝄞", "x" * 31, "x" * 32, "y" * 33, "z" * 64]
TEXTS += ["".join(RANDOM.choices("abcäß0", k=RANDOM.randrange(150))) for _ in range(400)]

VALUES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "tinyint": [0, 1, -1, 127, -128],
    "smallint": [0, -1, 32767, -32768],
    "int": [0, 1, -1, 2**31 - 1, -(2**31), *(RANDOM.randrange(-(2**31), 2**31) for _ in range(50))],
    "bigint": [0, 1, -1, 2**63 - 1, -(2**63), *(RANDOM.randrange(-(2**63), 2**63) for _ in range(50))],
    "date": [date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29)],
    "timestamp": [EPOCH, EPOCH + timedelta(microseconds=1), EPOCH - timedelta(days=9, microseconds=7)],
    "timestamp_ntz": [each.replace(tzinfo=None) for each in (EPOCH, EPOCH - timedelta(days=999, microseconds=1))],
    "string": TEXTS,
    "binary": [text.encode() for text in TEXTS],
}


def both(spark: SparkSession, rows: list[tuple[Any, ...]], types: list[str]) -> tuple[list[int], list[int]]:
    """Spark's hashes and ours."""
    ddl = ", ".join(f"c{i} {type}" for i, type in enumerate(types))
    columns = [
        pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), arrow_schema(ddl), strict=True)
    ]
    table = pa.table(columns, schema=arrow_schema(ddl))
    frame = spark.createDataFrame(table)
    frame.createOrReplaceTempView("keys")
    text = key_hash([f"c{i}" for i in range(len(types))])
    expected = spark.sql(f"SELECT {text} AS h FROM keys").toArrow()["h"].to_pylist()
    return expected, hashed(table.columns, types, table.num_rows).tolist()


@pytest.mark.parametrize("type", VALUES)
def test_one_column(spark: SparkSession, type: str) -> None:
    assert can_hash([type])
    expected, ours = both(spark, [(value,) for value in (*VALUES[type], None)], [type])
    assert ours == expected


def test_a_key_of_several_columns_some_of_them_null(spark: SparkSession) -> None:
    types = list(VALUES)
    rows = [tuple(RANDOM.choice([None, *VALUES[type]]) for type in types) for _ in range(300)]
    expected, ours = both(spark, rows, types)
    assert ours == expected


def test_rows_without_a_key_are_under_one_hash() -> None:
    assert hashed([], [], 3).tolist() == [0, 0, 0]
    assert hashed([pa.chunked_array([], pa.string())], ["string"], 0).dtype == np.int64


@pytest.mark.parametrize("type", ["double", "float", "decimal(38,0)", "array<int>", "struct<a:int>"])
def test_other_types_are_left_to_spark(type: str) -> None:
    assert not can_hash(["int", type])
