"""Files of one COPY … TO, written by Spark tasks: each partition is a batch, and begins a new file when one is full.

A file appears when it is complete: S3 shows an object at the end of its upload.  A task that runs again writes the
same names again.  What went wrong goes back as a row, since Spark would turn an exception into text and try again.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs
from pyspark import TaskContext

from tailrace.errors import TailraceError
from tailrace.sinks.arrow_cast import cast
from tailrace.sinks.arrow_stream import bytes_of
from tailrace.sinks.s3_connection import S3Connection, translate
from tailrace.sinks.s3_delete import delete

OUTCOME = "rows bigint, bytes bigint, files array<string>, failure binary"
"""What a task gives back, as a Spark schema."""

_KIND = "column with precision of Parquet's"
_HINT = "Cast the column, e.g. to numeric(38, 4), or to text."
_LARGEST_ROW_GROUP = 128 << 20  # held in memory until it is full


class FileFormat(Protocol):
    """How batches become the bytes of a file.  Crosses to executors."""

    @property
    def suffix(self) -> str: ...

    def open(self, stream: Any, largest: int) -> OpenFile: ...


class OpenFile(Protocol):
    def write(self, batch: pa.RecordBatch) -> None: ...

    def size(self) -> int:
        """About so much so far."""

    def close(self) -> None:
        """Nothing more comes; the stream is the caller's."""


@dataclass(frozen=True, slots=True)
class CsvFiles:
    """Batches have one column, the lines."""

    header: str = ""
    suffix: str = "csv"

    def open(self, stream: Any, largest: int) -> OpenFile:
        stream.write(self.header.encode())
        return _CsvFile(stream)


@dataclass(slots=True)
class _CsvFile:
    stream: Any

    def write(self, batch: pa.RecordBatch) -> None:
        self.stream.write(bytes_of(batch.column(0)))

    def size(self) -> int:
        return int(self.stream.tell())

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """Batches have the columns of `schema`, in types that cast to its."""

    schema: pa.Schema
    suffix: str = "parquet"

    def open(self, stream: Any, largest: int) -> OpenFile:
        writer = pq.ParquetWriter(
            stream,
            self.schema,
            version="1.0",
            compression="snappy",
            use_dictionary=True,
            write_statistics=False,
            store_schema=True,
        )
        return _ParquetFile(stream, writer, min(largest // 5, _LARGEST_ROW_GROUP))


@dataclass(slots=True)
class _ParquetFile:
    """Batches are kept until they make a row group."""

    stream: Any
    writer: pq.ParquetWriter
    group: int
    waiting: list[pa.RecordBatch] = field(default_factory=list)
    waiting_bytes: int = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self.waiting.append(cast(batch, self.writer.schema, _KIND, _HINT))
        self.waiting_bytes += int(self.waiting[-1].nbytes)
        if self.waiting_bytes >= self.group:
            self._flush()

    def size(self) -> int:
        return int(self.stream.tell()) + self.waiting_bytes

    def close(self) -> None:
        self._flush()
        self.writer.close()

    def _flush(self) -> None:
        if self.waiting:
            self.writer.write_table(pa.Table.from_batches(self.waiting))
            self.waiting, self.waiting_bytes = [], 0


@dataclass(frozen=True, kw_only=True, slots=True)
class FileTask:
    """Writes what a Spark partition holds to `{directory}/{prefix}-batch-{partition}-{file}.{suffix}`."""

    connection: S3Connection
    directory: str
    shown: str
    prefix: str
    format: FileFormat
    largest: int

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """For mapInArrow."""
        context = TaskContext.get()
        yield self.write(0 if context is None else context.partitionId(), batches)

    def write(self, number: int, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
        """A row about what was written."""
        batch = _Batch(self, number, self.connection.file_system())
        failure = None
        try:
            try:
                batch.write_all(batches)
            except OSError as error:
                raise translate(error, f"writing to {self.shown}", self.connection) from error
        except TailraceError as error:
            batch.give_up()
            failure = pickle.dumps(error)
        except BaseException:
            batch.give_up()
            raise
        columns = {"rows": [batch.rows], "bytes": [batch.bytes], "files": [batch.files], "failure": [failure]}
        return pa.RecordBatch.from_pydict(columns, schema=_OUTCOME)

    def path(self, batch: int, file: int) -> str:
        return f"{self.directory}/{self.prefix}-batch-{batch:04}-{file:04}.{self.format.suffix}"


_OUTCOME = pa.schema(
    [("rows", pa.int64()), ("bytes", pa.int64()), ("files", pa.list_(pa.string())), ("failure", pa.binary())]
)


@dataclass(slots=True)
class _Batch:
    task: FileTask
    number: int
    system: fs.S3FileSystem
    rows: int = 0
    bytes: int = 0
    files: list[str] = field(default_factory=list)
    stream: Any = None
    file: OpenFile | None = None

    def write_all(self, batches: Iterable[pa.RecordBatch]) -> None:
        for batch in batches:
            if not batch.num_rows:
                continue
            if self.file is None:
                self.open()
            assert self.file is not None
            self.file.write(batch)
            self.rows += batch.num_rows
            if self.file.size() >= self.task.largest:
                self.close()
        self.close()

    def open(self) -> None:
        path = self.task.path(self.number, len(self.files))
        self.files.append(path)
        self.stream = self.system.open_output_stream(path)
        self.file = self.task.format.open(self.stream, self.task.largest)

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.bytes += int(self.stream.tell())
            self.stream.close()
        self.file = self.stream = None

    def give_up(self) -> None:
        """Closing is the only way to end an upload, and completes it: what should not be there is deleted."""
        with contextlib.suppress(OSError, pa.ArrowException):
            if self.stream is not None:
                self.stream.close()
        for path in self.files:
            with contextlib.suppress(TailraceError):
                delete(self.task.connection, path)
        self.file = self.stream = None
