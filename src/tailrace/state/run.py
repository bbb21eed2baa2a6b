"""A run: the changes of one relation over a range of ticks, written once and never changed.

Small runs are Arrow tables on the driver: they are part of Spark's plan and cost no job.  Large ones are Parquet
files in the data directory.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.types.core import Tick


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Changes of the ticks above `lo`, up to and including `hi`.  Either `table` or `path` is set.

    `view` is the name Spark knows it by.  `is_settled`: no row is in it twice.
    """

    lo: Tick
    hi: Tick
    rows: int
    view: str
    is_settled: bool = False
    table: pa.Table | None = None
    path: Path | None = None


def count_rows(path: Path) -> int:
    """How many rows the Parquet files of a folder hold, from their footers."""
    return sum(pq.read_metadata(file).num_rows for file in path.glob("*.parquet"))


def write_table(table: pa.Table, path: Path) -> None:
    """An Arrow run as Parquet, sorted by hash so that readers can skip."""
    path.mkdir(parents=True)
    pq.write_table(table.sort_by("h"), path / "part-0.parquet", compression="zstd", row_group_size=1 << 17)


def remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
