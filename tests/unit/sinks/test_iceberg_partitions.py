"""Transforms of columns, against pyiceberg's of single values."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg import types
from pyiceberg.partitioning import PartitionField, PartitionSpec, _to_partition_representation
from pyiceberg.schema import Schema
from pyiceberg.transforms import parse_transform

from tailrace.sinks.iceberg_partitions import split, transformed

TIMES = [datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 12, 30), None, datetime(1970, 1, 1)]  # noqa: DTZ001
COLUMNS: dict[str, tuple[types.IcebergType, pa.DataType, list[Any]]] = {
    "int": (types.IntegerType(), pa.int32(), [0, -1, 7, None, 2**31 - 1]),
    "long": (types.LongType(), pa.int64(), [0, -1, 10**15, None]),
    "text": (types.StringType(), pa.string(), ["", "a", "iceberg", None, "äöü€", "abcd", "x" * 1000]),
    "bytes": (types.BinaryType(), pa.binary(), [b"", b"\x00\xff", None, b"abcde"]),
    "day": (types.DateType(), pa.date32(), [date(1969, 12, 31), date(2024, 2, 29), None]),
    "time": (types.TimestampType(), pa.timestamp("us"), TIMES),
    "timetz": (types.TimestamptzType(), pa.timestamp("us", "UTC"), [t and t.replace(tzinfo=UTC) for t in TIMES]),
}
CASES = [
    *(("bucket[16]", name) for name in COLUMNS),
    *((f"truncate[{width}]", name) for width in (1, 3) for name in ("int", "long", "text")),
    *((unit, name) for unit in ("year", "month", "day") for name in ("day", "time", "timetz")),
    *(("hour", name) for name in ("time", "timetz")),
    *(("identity", name) for name in COLUMNS),
]


@pytest.mark.parametrize(("transform", "column"), CASES)
def test_a_column_is_transformed_as_its_values_are(transform: str, column: str) -> None:
    source, type_, values = COLUMNS[column]
    parsed = parse_transform(transform)
    field = PartitionField(source_id=1, field_id=1000, transform=parsed, name="p")
    one = parsed.transform(source)
    inside = [_to_partition_representation(source, value) for value in values]
    expected = [None if value is None else one(value) for value in inside]
    found = transformed(field, source, pa.array(values, type_)).to_pylist()
    assert [_to_partition_representation(source, value) for value in found] == expected


def test_rows_are_split_by_all_fields_of_the_partition() -> None:
    schema = Schema(types.NestedField(1, "a", types.IntegerType()), types.NestedField(2, "b", types.StringType()))
    spec = PartitionSpec(
        PartitionField(source_id=1, field_id=1000, transform=parse_transform("truncate[10]"), name="a_trunc"),
        PartitionField(source_id=2, field_id=1001, transform=parse_transform("identity"), name="b"),
    )
    rows = pa.table({"a": pa.array([1, 12, 5, None], pa.int32()), "b": ["x", "x", "x", None]})
    found = {tuple(key.partition._data): part.to_pylist() for key, part in split(rows, spec, schema) if key is not None}
    assert found == {
        (0, "x"): [{"a": 1, "b": "x"}, {"a": 5, "b": "x"}],
        (10, "x"): [{"a": 12, "b": "x"}],
        (None, None): [{"a": None, "b": None}],
    }
