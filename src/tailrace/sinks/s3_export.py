"""COPY … TO a path of a bucket: an empty path, a sentinel, the files, and the sentinel's end.

1. The path must be empty, and we must be allowed to delete there.  2. `mz-{id}-INCOMPLETE` is put.  3. Files
`mz-{id}-batch-{BBBB}-{NNNN}.{csv|parquet}` appear, each when it is complete.  4. The sentinel is deleted: people hang
the next step on that event.  After a failure the sentinel stays, and blocks the path.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import DataFrame

from tailrace.errors import SqlError, TailraceError
from tailrace.sinks.contract import Written
from tailrace.sinks.s3_connection import S3Connection, translate
from tailrace.sinks.s3_delete import delete
from tailrace.sinks.s3_files import OUTCOME, FileFormat, FileTask

Answer = TypeVar("Answer")


@dataclass(frozen=True, kw_only=True, slots=True)
class Export:
    """`directory`: bucket and path, without a slash at the end."""

    id: str
    connection: S3Connection
    directory: str
    format: FileFormat
    largest: int

    def check(self) -> None:
        """Refuses before anything is written."""
        system = self.connection.file_system()
        there = len(self._objects(system))
        if there:
            raise SqlError(
                f"S3 bucket path is not empty, contains {there} objects",
                detail=f"The path is s3://{self.directory}.",
                hint="COPY writes to an empty path only; one that ends in the date is a common choice.",
                sqlstate="55000",
            )
        bucket = self.directory.split("/", 1)[0]
        if self._do(lambda: system.get_file_info(bucket), "listing the bucket").type == fs.FileType.NotFound:
            raise SqlError(f'bucket "{bucket}" does not exist', sqlstate="42704")
        delete(self.connection, f"{self.directory}/{self._sentinel}")  # is not there: only to see whether we may

    def complete(self) -> tuple[int, int]:
        """How many files are complete by now, and their bytes.  Asks the bucket."""
        system = self.connection.file_system()
        selector = fs.FileSelector(self.directory, allow_not_found=True, recursive=True)
        found = self._do(lambda: system.get_file_info(selector), "listing the bucket")
        files = [info for info in found if info.type == fs.FileType.File and info.base_name != self._sentinel]
        return len(files), sum(info.size for info in files)

    def run(self, rows: DataFrame, collect: Callable[[DataFrame], pa.Table]) -> Written:
        """Writes the files and returns when all are complete.  Runs a Spark job, through `collect`."""
        system = self.connection.file_system()
        sentinel = f"{self.directory}/{self._sentinel}"
        self._do(lambda: self._put(system, sentinel), "using PutObject")
        task = FileTask(
            connection=self.connection,
            directory=self.directory,
            prefix=f"mz-{self.id}",
            format=self.format,
            largest=self.largest,
        )
        outcomes = collect(rows.mapInArrow(task.run, OUTCOME))
        _raise_failure(outcomes)
        files = {path for each in outcomes.column("files").to_pylist() for path in each}
        if not files:
            files = {self._write_empty(system, task)}
        for path in set(self._objects(system)) - files - {sentinel}:  # of a task that was run again
            delete(self.connection, path)
        delete(self.connection, sentinel)
        return Written(
            messages=sum(outcomes.column("rows").to_pylist()), bytes=sum(outcomes.column("bytes").to_pylist())
        )

    @property
    def _sentinel(self) -> str:
        return f"mz-{self.id}-INCOMPLETE"

    def _objects(self, system: fs.S3FileSystem) -> list[str]:
        selector = fs.FileSelector(self.directory, allow_not_found=True, recursive=True)
        found = self._do(lambda: system.get_file_info(selector), "listing the bucket")
        return [info.path for info in found if info.type == fs.FileType.File]

    def _put(self, system: fs.S3FileSystem, path: str) -> None:
        with system.open_output_stream(path):
            pass

    def _write_empty(self, system: fs.S3FileSystem, task: FileTask) -> str:
        """Also nothing is a file: readers find the columns in it."""
        path = task.path(0, 0)
        with system.open_output_stream(path) as stream:
            self.format.open(stream, self.largest).close()
        return path

    def _do(self, work: Callable[[], Answer], doing: str) -> Answer:
        try:
            return work()
        except OSError as error:
            raise translate(error, doing, self.connection) from error


def _raise_failure(outcomes: pa.Table) -> None:
    failures: list[TailraceError] = [
        pickle.loads(each) for each in outcomes.column("failure").drop_null().to_pylist()
    ]
    if failures:
        raise min(failures, key=lambda failure: not isinstance(failure, SqlError))
