"""Rows are found by their key wherever they are, and those that were deleted are not found again."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import PyArrowFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import parse_transform

from unit.sinks.iceberg_table import Written

EARLY = datetime(1969, 1, 1, tzinfo=UTC)
KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "boolean": (pa.bool_(), [True, False, None]),
    "int": (pa.int32(), [1, -5, None]),
    "bigint": (pa.int64(), [2**60, -1, None]),
    "decimal": (pa.decimal128(38, 2), [Decimal("1.50"), Decimal("-2.00"), None]),
    "text": (pa.string(), ["", "ü", None]),
    "bytes": (pa.binary(), [b"", b"\x00\xff", None]),
    "date": (pa.date32(), [date(2024, 2, 29), date(1969, 1, 1), None]),
    "timestamp": (pa.timestamp("us"), [datetime(2024, 2, 29, 1), datetime(1969, 1, 1), None]),  # noqa: DTZ001
    "timestamptz": (pa.timestamp("us", "UTC"), [datetime(2024, 2, 29, tzinfo=UTC), EARLY, None]),
    "uuid": (pa.binary(16), [bytes(range(16)), bytes(16), None]),
}


@pytest.mark.parametrize("name", KEYS)
def test_a_key_of_any_type_is_found(name: str, tmp_path: Path) -> None:
    type_, (first, second, none) = KEYS[name]
    table = Written(tmp_path, pa.schema([("k", type_), ("v", pa.int32())]))
    table.change({"k": [first, second, none], "v": [1, 2, 3]})
    table.change({"k": [second], "v": [4]}, {"k": [second]})
    assert sorted(v for _, v in table.rows()) == [1, 3, 4]
    table.change({"k": [], "v": []}, {"k": [none, second]})
    assert table.rows() == [(first, 1)]


def test_keys_of_several_columns_are_compared_as_wholes(tmp_path: Path) -> None:
    table = Written(tmp_path, pa.schema([("a", pa.int32()), ("b", pa.string())]))
    table.change({"a": [1, 1, 2, 2, None], "b": ["x", None, "x", None, None]})
    table.change({"a": [], "b": []}, {"a": [1, 2, None], "b": [None, "x", None]})
    assert table.rows() == [(1, "x"), (2, None)]


def test_a_row_is_deleted_once(tmp_path: Path) -> None:
    """However often its key comes and goes, or deletes would grow with its history."""
    table = Written(tmp_path, pa.schema([("k", pa.int32())]))
    table.change({"k": [1]})
    for _ in range(3):
        table.change({"k": [1]}, {"k": [1]})
    assert table.rows() == [(1,)]
    assert table.table.inspect.delete_files()["record_count"].to_pylist() == [1, 1, 1]


def test_a_row_may_move_to_another_partition(tmp_path: Path) -> None:
    field = PartitionField(source_id=2, field_id=1000, transform=parse_transform("identity"), name="v")
    table = Written(tmp_path, pa.schema([("k", pa.int32()), ("v", pa.string())]), PartitionSpec(field))
    table.change({"k": [1, 2], "v": ["a", "b"]})
    table.change({"k": [1], "v": ["b"]}, {"k": [1]})
    assert table.rows() == [(1, "b"), (2, "b")]
    assert [task.file.partition[0] for task in table.table.scan("v = 'b'").plan_files()] == ["b", "b"]


def test_a_column_may_have_had_another_name(tmp_path: Path) -> None:
    table = Written(tmp_path, pa.schema([("k", pa.int32()), ("v", pa.string())]))
    table.change({"k": [1, 2], "v": ["a", "b"]})
    with table.table.update_schema() as update:
        update.rename_column("k", "id")
    table.arrow = table.table.schema().as_arrow()
    table.change({"id": [1], "v": ["c"]}, {"id": [1]})
    assert table.rows() == [(1, "c"), (2, "b")]


def test_a_commit_may_have_no_rows(tmp_path: Path) -> None:
    table = Written(tmp_path, pa.schema([("k", pa.int32())]))
    table.change({"k": []}, tick="1")
    assert table.rows() == []
    table.change({"k": [1]})
    table.change({"k": []}, {"k": [7]}, tick="3")
    assert table.rows() == [(1,)]
    assert [s.summary.get("tick") for s in table.table.metadata.snapshots if s.summary] == ["1", None, "3"]


def test_what_a_file_says_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or every tick would read what all before it have written."""
    table = Written(tmp_path, pa.schema([("k", pa.int32()), ("v", pa.int32())]))
    table.change({"k": [1, 2, 3], "v": [0, 0, 0]})
    opened: list[str] = []
    open_file = PyArrowFile.open
    monkeypatch.setattr(PyArrowFile, "open", lambda self, *a: opened.append(self.location) or open_file(self, *a))
    for n in range(1, 6):
        opened.clear()
        table.change({"k": [2], "v": [n]}, {"k": [2]})
    assert len([path for path in opened if path.endswith("parquet")]) == 2  # the last row of key 2, and what it deleted
    assert len([path for path in opened if "-m" in path.rsplit("/", 1)[1]]) == 2  # their manifests
    assert table.rows() == [(1, 0), (2, 5), (3, 0)]


def test_what_others_have_committed_is_seen(tmp_path: Path) -> None:
    table = Written(tmp_path, pa.schema([("k", pa.int32()), ("v", pa.int32())]))
    table.change({"k": [1, 2], "v": [0, 0]})
    table.change({"k": [1], "v": [1]}, {"k": [1]})
    other = table.catalog.load_table("n.t")
    other.delete("k = 2")
    other.append(pa.table({"k": pa.array([2], pa.int32()), "v": pa.array([7], pa.int32())}))
    table.table.refresh()
    table.change({"k": [2], "v": [8]}, {"k": [1, 2]})
    assert table.rows() == [(2, 8)]
