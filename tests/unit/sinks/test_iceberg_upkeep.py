"""A table that is put in order has the same rows, in fewer files, and nothing that a reader needs is deleted."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import FileScanTask
from pyiceberg.transforms import parse_transform

from tailrace.errors import Fenced
from tailrace.sinks import iceberg_upkeep
from unit.sinks.iceberg_table import Written

SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.string())])
SUMMARY = {"mz-frontier": "[11]", "mz-sink-id": "u7"}


def filled(table: Written, commits: int = 10) -> list[tuple[int, str]]:
    """Every commit changes a row and adds one."""
    table.change({"k": list(range(20)), "v": ["0"] * 20})
    for n in range(1, commits):
        table.change({"k": [n, 100 + n], "v": [str(n), "new"]}, {"k": [n]})
    return table.rows()


def live_files(table: Written) -> int:
    return len(list(table.table.scan().plan_files()))


@pytest.mark.parametrize("partitioned", [False, True])
def test_merged_files_have_the_same_rows(partitioned: bool, tmp_path: Path) -> None:
    field = PartitionField(source_id=1, field_id=1000, transform=parse_transform("bucket[2]"), name="k_bucket")
    table = Written(tmp_path, SCHEMA, PartitionSpec(*([field] if partitioned else [])))
    rows = filled(table, commits=20)
    assert iceberg_upkeep.compact(table.table, table.files, SUMMARY)
    assert table.rows() == rows
    assert live_files(table) == (2 if partitioned else 1)
    assert table.table.inspect.delete_files().num_rows == 0
    snapshot = table.table.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    assert snapshot.summary.operation.value == "replace"
    assert snapshot.summary["mz-frontier"] == "[11]"
    assert len(snapshot.manifests(table.table.io)) <= 2
    assert not iceberg_upkeep.compact(table.table, table.files, SUMMARY)
    table.change({"k": [5], "v": ["after"]}, {"k": [5]})
    assert table.rows() == sorted([row for row in rows if row[0] != 5] + [(5, "after")], key=str)


def test_a_large_file_is_not_written_again_for_the_sake_of_small_ones(tmp_path: Path) -> None:
    table = Written(tmp_path, SCHEMA)
    table.change({"k": list(range(20_000)), "v": [str(n * 7919) for n in range(20_000)]})
    [large] = [task.file.file_path for task in table.table.scan().plan_files()]
    for n in range(iceberg_upkeep._WORTH_MERGING):
        table.change({"k": [n], "v": ["new"]}, {"k": [n]})
    rows = table.rows()
    assert iceberg_upkeep.compact(table.table, table.files, SUMMARY)
    assert large in [task.file.file_path for task in table.table.scan().plan_files()]
    assert live_files(table) == 2
    assert table.rows() == rows


@pytest.mark.parametrize(
    ("sizes", "count"),
    [
        ([1] * 20 + [100, 100], 20),
        ([1] * 7, 7),
        ([1] * 7 + [100], 7),  # too few to be worth anything
        ([1] * 7 + [100, 100], 9),
        ([1] + [2] * 9, 10),
        ([2**n for n in range(12)], 0),  # as few files as there can be
        ([], 0),
    ],
)
def test_files_are_merged_into_one_of_twice_the_size(sizes: list[int], count: int) -> None:
    files = [DataFile.from_args(file_size_in_bytes=size) for size in reversed(sizes)]
    chosen = iceberg_upkeep._of_like_size([FileScanTask(file) for file in files])
    assert [task.file.file_size_in_bytes for task in chosen] == sizes[:count]


def test_deletes_are_merged_where_rows_are_not_worth_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iceberg_upkeep, "_SMALL_BYTES", 0)  # no file is small
    monkeypatch.setattr(iceberg_upkeep, "_MUCH", 1.0)
    table = Written(tmp_path, SCHEMA)
    rows = filled(table)
    assert table.table.inspect.delete_files().num_rows == 9
    assert iceberg_upkeep.compact(table.table, table.files, SUMMARY)
    assert table.rows() == rows
    assert table.table.inspect.delete_files().num_rows == 1


def test_who_has_committed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    table = Written(tmp_path, SCHEMA)
    filled(table)
    late = table.catalog.load_table("n.t")
    table.change({"k": [1000], "v": ["other"]})
    with pytest.raises(Fenced):
        iceberg_upkeep.compact(late, table.files, SUMMARY)
    assert (1000, "other") in table.rows()


def test_old_snapshots_expire_with_the_files_that_only_they_have(tmp_path: Path) -> None:
    table = Written(tmp_path, SCHEMA, **{"history.expire.max-snapshot-age-ms": "0"})
    rows = filled(table)
    iceberg_upkeep.compact(table.table, table.files, SUMMARY)
    before = table.paths()
    assert iceberg_upkeep.expire(table.table) == 10
    assert table.rows() == rows
    data = [path for path in table.paths() if path.suffix == ".parquet"]
    assert len(data) == 1
    assert len(table.paths()) < len(before) - 30  # manifests and lists, too
    assert iceberg_upkeep.expire(table.table) == 0
    table.change({"k": [7], "v": ["after"]}, {"k": [7]})
    assert (7, "after") in table.rows()


def test_snapshots_stay_as_long_as_the_table_says(tmp_path: Path) -> None:
    kept = Written(tmp_path, SCHEMA, **{"history.expire.max-snapshot-age-ms": "0", "gc.enabled": "false"})
    filled(kept, commits=3)
    assert iceberg_upkeep.expire(kept.table) == 0
    with kept.table.transaction() as change:
        change.set_properties({"gc.enabled": "true", "history.expire.max-snapshot-age-ms": "3600000"})
    assert iceberg_upkeep.expire(kept.table) == 0
    assert len(kept.table.metadata.snapshots) == 3
