"""Rows into the data files of an Iceberg table: on the driver if they are few, else in Spark's tasks.

A file becomes part of the table by a commit alone.  Those of a task that failed, or that Spark ran twice, stay where
they are, and nothing names them.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.io import FileIO, OutputFile
from pyiceberg.io.pyarrow import ParquetFormatWriter, parquet_path_to_id_mapping, schema_to_pyarrow
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionKey
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import Record
from pyiceberg.utils.properties import property_as_int
from pyspark.sql import DataFrame

from tailrace.errors import SqlError, TailraceError
from tailrace.sinks.arrow_cast import cast
from tailrace.sinks.iceberg_connection import IcebergConnection, translated
from tailrace.sinks.iceberg_partitions import split

_BUFFERED_BYTES = 64 << 20
"""Of rows that wait in memory for their row group."""
_SAMPLE, _MOSTLY = 10_000, 0.9
_TARGET = "write.target-file-size-bytes"
_TARGET_BYTES = 512 << 20
OUTCOME = "files binary, failure binary"
ICEBERGS = "Iceberg's"
"""Whose type a value does not fit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TableFiles:
    """Where and how files of a table are written.  Goes along with Spark's tasks.

    `columns`: of the rows that come, with the names and types of the table's.
    """

    connection: IcebergConnection
    shown: str
    io: FileIO
    metadata: TableMetadata
    columns: pa.Schema

    def write(self, batches: Iterable[pa.RecordBatch]) -> list[DataFile]:
        """Rows as Spark made them, here and now.  A row group, not all of them, is in memory."""
        return self.write_rows(cast(batch, self.columns, ICEBERGS) for batch in batches)

    def write_rows(self, batches: Iterable[pa.RecordBatch]) -> list[DataFile]:
        """Rows that have the table's types."""
        writer = _Writer(self)
        for batch in batches:
            writer.add(batch)
        return writer.finish()

    def write_in_tasks(self, rows: DataFrame) -> list[DataFile]:
        """Runs a Spark job, each task of which writes files of its own."""
        outcomes = rows.mapInArrow(self._run, OUTCOME).toArrow()
        failures: list[TailraceError] = [pickle.loads(f) for f in outcomes.column("failure").drop_null().to_pylist()]
        if failures:
            raise min(failures, key=lambda failure: not isinstance(failure, SqlError))
        return [file for each in outcomes.column("files").to_pylist() for file in pickle.loads(each)]

    def _run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What a task calls."""
        files, failure = [], None
        try:
            with translated(f'writing to table "{self.shown}"', self.connection):
                files = self.write(batches)
        except TailraceError as error:
            failure = pickle.dumps(error)
        columns = {"files": [pickle.dumps(files)], "failure": [failure]}
        yield pa.RecordBatch.from_pydict(columns, pa.schema([("files", pa.binary()), ("failure", pa.binary())]))

    def new_path(self, name: str, partition: PartitionKey | None = None) -> str:
        provider = load_location_provider(self.metadata.location, self.metadata.properties)
        return provider.new_data_location(f"{name}-{uuid.uuid4()}.parquet", partition)


@dataclass(slots=True)
class _Writer:
    """One file after another.  A partitioned table has one for each partition of what is in memory together."""

    files: TableFiles
    written: list[DataFile] = field(default_factory=list)
    _rows: list[pa.RecordBatch] = field(default_factory=list)
    _bytes: int = 0
    _open: _OpenFile | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        self._rows.append(batch)
        self._bytes += batch.nbytes
        if self._bytes >= _BUFFERED_BYTES:
            self._flush()

    def finish(self) -> list[DataFile]:
        self._flush()
        self._close()
        return self.written

    def _flush(self) -> None:
        metadata = self.files.metadata
        if self._bytes or any(batch.num_rows for batch in self._rows):
            table = pa.Table.from_batches(self._rows)
            for key, rows in split(table, metadata.spec(), metadata.schema()):
                self._write(key, rows)
        self._rows, self._bytes = [], 0

    def _write(self, key: PartitionKey | None, rows: pa.Table) -> None:
        if not len(rows):
            return
        if self._open is None:
            self._open = _OpenFile(self.files, key)
        self._open.write(rows)
        largest = property_as_int(self.files.metadata.properties, _TARGET, _TARGET_BYTES) or _TARGET_BYTES
        if key is not None or self._open.size() >= largest:
            self._close()

    def _close(self) -> None:
        if self._open is not None:
            self.written.append(self._open.close())
        self._open = None


def _mostly_differs(column: pa.ChunkedArray) -> bool:
    """Few values repeat: a dictionary of them would only be begun and given up, which takes as long as all the rest."""
    if pa.types.is_nested(column.type) or not len(column):
        return False
    some = column.take(np.arange(0, len(column), -(-len(column) // _SAMPLE)))
    return len(some.unique()) > _MOSTLY * len(some)


class _OpenFile:
    """A data file that is being written."""

    def __init__(self, files: TableFiles, key: PartitionKey | None) -> None:
        self._metadata = files.metadata
        self._key = key
        self._path = files.new_path("mz_data", key)
        self._schema = files.metadata.schema()
        self._arrow = schema_to_pyarrow(self._schema)
        self._output: OutputFile = files.io.new_output(self._path)
        self._writer = ParquetFormatWriter(self._output, self._schema, files.metadata.properties)

    def write(self, rows: pa.Table) -> None:
        columns = [self._column(rows, to) for to in self._arrow]
        table = pa.Table.from_arrays(columns, schema=self._arrow)
        if self._writer._writer is None:  # the first rows; those that follow are taken to be like them
            plain = {column.name for column in self._arrow if _mostly_differs(table.column(column.name))}
            paths = [path for path in parquet_path_to_id_mapping(self._schema) if path not in plain]
            self._writer._parquet_writer_kwargs["use_dictionary"] = paths
        self._writer.write(table)

    def _column(self, rows: pa.Table, to: pa.Field) -> pa.ChunkedArray | pa.Array:
        """One that the table has and the rows have not is NULL."""
        if to.name not in rows.column_names:
            return pa.nulls(len(rows), to.type)
        column = rows.column(to.name)
        return column if column.type == to.type else column.cast(to.type)

    def size(self) -> int:
        stream: Any = self._writer._fos
        return int(stream.tell())

    def close(self) -> DataFile:
        statistics = self._writer.close()
        file = DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=self._path,
            file_format=FileFormat.PARQUET,
            partition=self._key.partition if self._key is not None else Record(),
            file_size_in_bytes=len(self._output),
            sort_order_id=None,
            equality_ids=None,
            key_metadata=None,
            **statistics.to_serialized_dict(),
        )
        file.spec_id = self._metadata.default_spec_id
        return file
