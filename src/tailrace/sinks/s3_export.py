"""COPY … TO a path of a bucket: an empty path, a sentinel, the files, and the sentinel's end.

1. The path must be empty, and we must be allowed to delete there.  2. `mz-{id}-INCOMPLETE` is put.  3. Files
`mz-{id}-batch-{BBBB}-{NNNN}.{csv|parquet}` appear, each when it is complete.  4. The sentinel is deleted: people hang
the next step on that event.

After a failure, or a kill -9, the sentinel stays: nobody takes what is there for complete.  The next COPY of the same
engine begins the path anew: every id begins with the engine's own mark, so it knows whose leavings they are.  It keeps
that sentinel instead of one of its own, because the end of a sentinel must mean one thing only.  Its files have new
names: a task of the dead one may still be about to write, or to delete, an old one.
"""

from __future__ import annotations

import pickle
import re
import uuid
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
from tailrace.testing.crash import crash_point

Answer = TypeVar("Answer")
_INCOMPLETE = "-INCOMPLETE"


def new_id(mark: str) -> str:
    return mark + uuid.uuid4().hex[:12]


@dataclass(frozen=True, kw_only=True, slots=True)
class Export:
    """`directory`: bucket and path, without a slash at the end; `scheme` is for people.  `mark`: how the ids of all
    exports of ours begin."""

    id: str
    mark: str
    connection: S3Connection
    directory: str
    format: FileFormat
    largest: int
    scheme: str = "s3"

    @property
    def shown(self) -> str:
        return f"{self.scheme}://{self.directory}"

    def check(self) -> int:
        """Refuses before anything is written.  Returns how many objects are there that we have not completed."""
        system = self.connection.file_system()
        left = self._leavings(system)
        bucket = self.directory.split("/", 1)[0]
        if self._do(lambda: system.get_file_info(bucket), "listing the bucket").type == fs.FileType.NotFound:
            raise SqlError(f'bucket "{bucket}" does not exist', sqlstate="42704")
        delete(self.connection, self._sentinel)  # is not there: only to see whether we may
        return len(left)

    def complete(self) -> tuple[int, int]:
        """How many files are complete by now, and their bytes.  Asks the bucket."""
        system = self.connection.file_system()
        selector = fs.FileSelector(self.directory, allow_not_found=True, recursive=True)
        found = self._do(lambda: system.get_file_info(selector), "listing the bucket")
        files = [info for info in found if info.base_name.startswith(f"mz-{self.id}-batch-")]
        return len(files), sum(info.size for info in files)

    def run(self, rows: DataFrame, collect: Callable[[DataFrame], pa.Table]) -> Written:
        """Writes the files and returns when all are complete.  Runs a Spark job, through `collect`."""
        system = self.connection.file_system()
        sentinels = self._begin(system)
        crash_point("copy.begun")
        task = FileTask(
            connection=self.connection,
            directory=self.directory,
            shown=self.shown,
            prefix=f"mz-{self.id}",
            format=self.format,
            largest=self.largest,
        )
        outcomes = collect(rows.mapInArrow(task.run, OUTCOME))
        _raise_failure(outcomes)
        files = {path for each in outcomes.column("files").to_pylist() for path in each}
        if not files:
            files = {self._write_empty(system, task)}
        crash_point("copy.written_not_complete")
        self._complete(system, files, sentinels)
        return Written(
            messages=sum(outcomes.column("rows").to_pylist()), bytes=sum(outcomes.column("bytes").to_pylist())
        )

    def _begin(self, system: fs.S3FileSystem) -> set[str]:
        """Sentinels: those that we have left there before, or a new one."""
        sentinels = {path for path in self._leavings(system) if path.endswith(_INCOMPLETE)}
        if not sentinels:
            self._do(lambda: self._put(system, self._sentinel), "using PutObject")
        return sentinels or {self._sentinel}

    def _complete(self, system: fs.S3FileSystem, files: set[str], sentinels: set[str]) -> None:
        there = set(self._objects(system))
        gone = (files | sentinels) - there
        if gone:
            raise SqlError(
                f"{len(gone)} objects of this COPY were deleted by somebody else",
                detail=f"One of them is {self.scheme}://{min(gone)}.",
                sqlstate="55000",
            )
        for path in filter(self._is_ours, there - files - sentinels):  # of a task run again, or an older COPY
            delete(self.connection, path)
        for path in sentinels:
            delete(self.connection, path)

    def _leavings(self, system: fs.S3FileSystem) -> list[str]:
        """What a COPY of ours that did not finish has left there.  Refuses anything else."""
        there = self._objects(system)
        incomplete = [path for path in there if path.endswith(_INCOMPLETE)]
        if not there or (incomplete and all(map(self._is_ours, there))):
            return there
        theirs = [path.rsplit("/", 1)[1] for path in incomplete if not self._is_ours(path)]
        other = f"  {theirs[0]}: a COPY of another engine runs, or has not finished." if theirs else ""
        raise SqlError(
            f"S3 bucket path is not empty, contains {len(there)} objects",
            detail=f"The path is {self.shown}.{other}",
            hint="COPY writes to an empty path only; one that ends in the date is a common choice.",
            sqlstate="55000",
        )

    def _is_ours(self, path: str) -> bool:
        """A file or sentinel of some COPY of ours to this very path."""
        name = path.removeprefix(f"{self.directory}/")
        return re.fullmatch(rf"mz-{self.mark}[0-9a-f]+(-batch-\d+-\d+\.\w+|{_INCOMPLETE})", name) is not None

    @property
    def _sentinel(self) -> str:
        return f"{self.directory}/mz-{self.id}{_INCOMPLETE}"

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
