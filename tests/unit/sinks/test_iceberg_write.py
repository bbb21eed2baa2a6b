"""Data files: which of their columns have a dictionary."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from unit.sinks.iceberg_table import Written


def test_only_columns_whose_values_repeat_have_a_dictionary(tmp_path: Path) -> None:
    """Of others it would be given up when it is full, after most of the work and some of the space."""
    rows = 30_000  # of which some are looked at
    columns = {
        "id": (pa.int64(), list(range(rows))),
        "name": (pa.string(), [f"name {n}" for n in range(rows)]),
        "item": (pa.string(), [f"item {n % 100}" for n in range(rows)]),
        "price": (pa.int64(), [n // 100 for n in range(rows)]),
        "none": (pa.string(), [None] * rows),
        "tags": (pa.list_(pa.string()), [["a"]] * rows),
    }
    table = Written(tmp_path, pa.schema([(name, type_) for name, (type_, _) in columns.items()]))
    table.change({name: values for name, (_, values) in columns.items()})
    [task] = table.table.scan().plan_files()
    group = pq.read_metadata(task.file.file_path.removeprefix("file://")).row_group(0)
    chunks = [group.column(i) for i in range(group.num_columns)]
    with_dictionary = {chunk.path_in_schema for chunk in chunks if "RLE_DICTIONARY" in chunk.encodings}
    assert with_dictionary == {"item", "price", "none", "tags.list.element"}
    assert task.file.record_count == rows
