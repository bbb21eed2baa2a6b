"""A run: the changes of one relation over a range of ticks, written once and never changed.

Small runs are Arrow tables on the driver: they are part of Spark's plan and cost no job.  Large ones are Parquet
files in the data directory.
"""

from __future__ import annotations

import itertools
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.types.core import Tick

_ids = itertools.count(1)


class ViewName:
    """The name of a Spark view that is made when a text first mentions it: many a small run never is."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self.made: str | None = None

    def get(self) -> str:
        with self._lock:
            if self.made is None:
                self.made = self._make()
            return self.made


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Changes of the ticks above `lo`, up to and including `hi`: `table`, or the files of `path`, or both.

    `id` tells runs of one process apart.  `is_settled`: no row is in it twice.  `positive`: it takes nothing away.
    """

    lo: Tick
    hi: Tick
    rows: int
    name: ViewName
    is_settled: bool = False
    positive: bool = False
    table: pa.Table | None = None
    path: Path | None = None
    id: int = field(default_factory=lambda: next(_ids))

    @property
    def view(self) -> str:
        """What Spark knows it by."""
        return self.name.get()


def count_rows(path: Path) -> int:
    """How many rows the Parquet files of a folder hold, from their footers."""
    return sum(pq.read_metadata(file).num_rows for file in path.glob("*.parquet"))


COMPRESSION = "lz4_raw"
"""Of files that Spark writes.  What it calls lz4 is framed in a way that Arrow reads in small pages only."""


def write_table(table: pa.Table, path: Path) -> None:
    """An Arrow run as Parquet, sorted by hash so that readers can skip."""
    path.mkdir(parents=True)
    pq.write_table(table.sort_by("h"), path / "part-0.parquet", compression="zstd", row_group_size=1 << 17)


def remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
