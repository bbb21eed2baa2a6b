"""Deleting by key from a real Iceberg table leaves exactly the rows of other keys, NULL or not."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tailrace.sinks.iceberg_filter import filters

SCHEMA = pa.schema([("a", pa.int32()), ("b", pa.string())])
SPACE = [(a, b) for a in (None, 1, 2, 3) for b in (None, "a", "b")]


def table_of(rows: list[tuple[int | None, str | None]]) -> pa.Table:
    return pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]}, SCHEMA)


@pytest.mark.parametrize("key", [("a",), ("b",), ("a", "b")], ids="-".join)
def test_other_rows_stay(key: tuple[str, ...], tmp_path: Path) -> None:
    catalog = SqlCatalog("default", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("n")
    draw = random.Random(7)
    for number in range(6):
        rows = [row for row in SPACE if draw.random() < 0.8]
        keys = table_of([row for row in SPACE if draw.random() < 0.4]).select(key)
        table = catalog.create_table(f"n.t{number}", SCHEMA)
        table.append(table_of(rows))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of deletes that find nothing
            for each in filters(keys):
                table.delete(each)
        gone = {tuple(row.values()) for row in keys.to_pylist()}
        stay = [row for row in rows if tuple(row[SCHEMA.names.index(name)] for name in key) not in gone]
        found = [tuple(row.values()) for row in table.scan().to_arrow().to_pylist()]
        assert sorted(map(str, found)) == sorted(map(str, stay))
