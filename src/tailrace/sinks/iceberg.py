"""A relation in an Iceberg table, exactly once: a commit is one change of the table, with its tick in the summary.

Every snapshot that we make says in its summary up to which tick the table holds the relation.  A commit is made
against the very metadata that was read before: if anybody has committed meanwhile, it fails, and the table is asked
again.  So nobody needs to be fenced before progress is read, and a commit whose answer was lost is recognised.
pyiceberg would rather try again on top of the other's commit, which is what must not happen: we commit by ourselves.

UPSERT deletes the keys that changed, by rewriting the files they are in (copy on write), and adds their new rows;
APPEND adds a row for each change.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.table import Table, Transaction
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.table.update import AssertTableUUID
from pyspark.sql import SparkSession

from tailrace.errors import DataError, Fenced, InternalError, KeyViolation, SqlError, Unavailable
from tailrace.formats import iceberg_columns
from tailrace.ivm.zset import ZSet
from tailrace.sinks.arrow_stream import stream
from tailrace.sinks.contract import Progress, Written
from tailrace.sinks.iceberg_connection import IcebergConnection, translated
from tailrace.sinks.iceberg_filter import filters
from tailrace.testing.crash import crash_point
from tailrace.types.core import BIGINT, INTEGER, Column, Schema, Tick

FRONTIER, VERSION, SINK = "mz-frontier", "mz-sink-version", "mz-sink-id"
DIFF, TIMESTAMP = "_mz_diff", "_mz_timestamp"


@dataclass(frozen=True, kw_only=True, slots=True)
class IcebergSinkDefinition:
    """Which relation goes to which table.  One that exists is valid.

    `key` is None for MODE APPEND.  `sole`: the key was promised, not proven, to be unique.
    """

    id: str
    name: str
    connection: IcebergConnection
    namespace: str
    table: str
    schema: Schema
    key: tuple[int, ...] | None
    sole: bool = False

    def __post_init__(self) -> None:
        unknown = iceberg_columns.not_encodable(self.schema)
        if unknown:
            message = f"Cannot encode the following columns/types: [{', '.join(unknown)}]"
            raise SqlError(message, hint="Cast them, for example to text.", sqlstate="0A000")
        for place in self.key or ():
            column = self.schema[place]
            if not iceberg_columns.can_be_key(column.type):
                reason = "which cannot be used as an Iceberg equality delete key"
                raise SqlError(f"column {column.name} has type {column.type} {reason}", sqlstate="42P10")
        for column in self.schema:
            if self.key is None and column.name in (DIFF, TIMESTAMP):
                conflict = "conflicts with the system column that MODE APPEND adds to the Iceberg table"
                raise SqlError(f'column "{column.name}" {conflict}', sqlstate="42701")

    @property
    def identifier(self) -> tuple[str, ...]:
        return (*self.namespace.split("."), self.table)

    @property
    def shown(self) -> str:
        return ".".join(self.identifier)

    @property
    def columns(self) -> Schema:
        """Of the table."""
        if self.key is not None:
            return self.schema
        return (*self.schema, Column(DIFF, INTEGER, False), Column(TIMESTAMP, BIGINT, False))

    def appended(self, delta: ZSet, tick: Tick) -> str:
        """Spark text: every change as a row."""
        consolidated = delta.consolidated()
        places = [f"c{i}" for i in range(len(self.schema))]
        return (
            f"SELECT {iceberg_columns.select(self.schema, places)}, CAST(weight AS int) AS diff,"
            f" {tick}L AS t FROM ({consolidated.sql})"
        )

    def upserted(self, delta: ZSet) -> str:
        """Spark text: the rows that came or left, with their weight; a key that changed has one of each."""
        places = [f"c{i}" for i in range(len(self.schema))]
        return f"SELECT {iceberg_columns.select(self.schema, places)}, weight FROM ({delta.consolidated().sql})"


class IcebergSink:
    """Keeps the contract of sinks/contract.py.  Not for two threads at a time."""

    def __init__(
        self,
        definition: IcebergSinkDefinition,
        spark: SparkSession,
        *,
        small: SparkSession | None = None,
        small_rows: int = 20_000,
        progress_record: bool = True,
    ) -> None:
        """`progress_record` is switched off by tests alone."""
        self._sink = definition
        self._spark = spark
        self._small = small or spark
        self._small_rows = small_rows
        self._progress_record = progress_record
        self._table: Table | None = None
        self._tick: int | None = None

    def progress(self) -> Progress:
        """Reads which tick the table's last snapshot of ours holds.  Makes a missing table."""
        self.close()
        with translated(f'asking table "{self._sink.shown}" what it holds', self._sink.connection):
            table = self._load(self._sink.connection.open())
            held = _held(table)
        crash_point("iceberg.progress_read")
        self._table, self._tick = table, held
        return Progress(tick=None if held is None else Tick(held))

    def write(self, tick: Tick, delta: ZSet) -> Written:
        """Runs one Spark job, or for a large change one for each partition."""
        table, name = self._table, self._sink.name
        if table is None:
            raise Unavailable(f'it is in doubt what sink "{name}" has written')
        if self._tick is not None and tick <= self._tick:
            raise InternalError(f'sink "{name}" holds tick {self._tick} and was given {tick}')
        try:
            written = self._write(table, tick, delta)
        except BaseException:
            self.close()
            raise
        self._tick = tick
        return written

    def close(self) -> None:
        self._table = None

    def _load(self, catalog: Catalog) -> Table:
        sink = self._sink
        try:
            table = catalog.load_table(sink.identifier)
        except NoSuchTableError:
            schema = iceberg_columns.table_schema(sink.columns, sink.key or ())
            table = catalog.create_table(sink.identifier, schema, properties={"format-version": "2"})
        there = {field.name for field in table.schema().fields}
        missing = [column.name for column in sink.columns if column.name not in there]
        if missing:
            raise SqlError(
                f'table "{sink.shown}" has no column "{missing[0]}"',
                hint="The schema of an Iceberg sink's table cannot change; write to another table.",
                sqlstate="42703",
            )
        if not table.spec().is_unpartitioned():
            raise SqlError(f'table "{sink.shown}" is partitioned', sqlstate="0A000")
        return table

    # ── one commit ──

    def _write(self, table: Table, tick: Tick, delta: ZSet) -> Written:
        summary = {FRONTIER: f"[{tick + 1}]", VERSION: "0", SINK: self._sink.id} if self._progress_record else {}
        transaction = Transaction(table)
        write = self._append if self._sink.key is None else self._upsert
        with translated(f'writing to table "{self._sink.shown}"', self._sink.connection), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pyiceberg warns of deletes that find nothing
            written = write(transaction, tick, delta, summary)
        crash_point("iceberg.written_not_committed")
        self._commit(table, transaction)
        crash_point("iceberg.committed_not_seen")
        return written

    def _append(self, transaction: Transaction, tick: Tick, delta: ZSet, summary: dict[str, str]) -> Written:
        schema = iceberg_columns.arrow_schema(self._sink.columns)
        counted = _Counted()
        batches = counted.of(_cast(batch, schema) for batch in self._batches(self._sink.appended(delta, tick), delta))
        transaction.append(pa.RecordBatchReader.from_batches(schema, batches), snapshot_properties=summary)
        return Written(messages=counted.rows, bytes=counted.bytes)

    def _upsert(self, transaction: Transaction, tick: Tick, delta: ZSet, summary: dict[str, str]) -> Written:
        """The keys of rows that left are on the driver at once; new rows go by in batches."""
        if self._sink.sole:
            self._refuse_repeated(delta)
        schema = iceberg_columns.arrow_schema(self._sink.columns)
        counted = _Counted()
        text = self._sink.upserted(delta)
        if not delta.positive:
            gone = f"SELECT * EXCEPT (weight) FROM ({text}) WHERE weight < 0"
            left = pa.Table.from_batches((_cast(b, schema) for b in self._batches(gone, delta)), schema)
            names = [self._sink.schema[place].name for place in self._sink.key or ()]
            for each in filters(left.select(names)):
                transaction.delete(each, snapshot_properties=summary)
            counted.rows += len(left)
        came = f"SELECT * EXCEPT (weight) FROM ({text}) WHERE weight > 0"
        batches = counted.of(_cast(batch, schema) for batch in self._batches(came, delta))
        transaction.append(pa.RecordBatchReader.from_batches(schema, batches), snapshot_properties=summary)
        return Written(messages=counted.rows, bytes=counted.bytes)

    def _refuse_repeated(self, delta: ZSet) -> None:
        """One more Spark job, for keys that were promised, not proven, to be unique."""
        names = [self._sink.schema[place].name for place in self._sink.key or ()]
        columns = ", ".join(f"c{place}" for place in self._sink.key or ())
        several = self._small.sql(
            f"SELECT {columns} FROM ({delta.consolidated().sql}) WHERE weight > 0"
            f" GROUP BY {columns} HAVING sum(weight) > 1 LIMIT 1"
        ).toArrow()
        for row in several.to_pylist():
            key = ", ".join(map(str, row.values()))
            raise KeyViolation(
                f'sink "{self._sink.name}" has more than one row of key ({", ".join(names)}) = ({key})',
                hint="The sink goes on by itself when the relation has one row of this key again.",
            )

    def _batches(self, text: str, delta: ZSet) -> Iterable[pa.RecordBatch]:
        if delta.rows <= self._small_rows:
            few: list[pa.RecordBatch] = self._small.sql(text).toArrow().to_batches()
            return few
        return stream(self._spark.sql(text))

    def _commit(self, table: Table, transaction: Transaction) -> None:
        """Once, against what we read."""
        requirements = (*transaction._requirements, AssertTableUUID(uuid=table.metadata.table_uuid))
        try:
            with translated(f'committing to table "{self._sink.shown}"', self._sink.connection):
                try:
                    table._do_commit(transaction._updates, requirements)
                except CommitFailedException as error:
                    raise Fenced(
                        f'table "{self._sink.shown}" has been modified by another writer', detail=str(error)
                    ) from error
        finally:
            transaction._updates, transaction._requirements = (), ()


@dataclass(slots=True)
class _Counted:
    rows: int = 0
    bytes: int = 0

    def of(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self.rows += batch.num_rows
            self.bytes += batch.nbytes
            yield batch


def _held(table: Table) -> int | None:
    """From the last snapshot that says; those of others that only rearrange files are passed over."""
    snapshots: list[Snapshot] = sorted(table.metadata.snapshots, key=lambda s: -(s.sequence_number or 0))
    current = table.metadata.current_snapshot_id
    for snapshot in snapshots if current is not None else []:
        summary = snapshot.summary
        frontier = None if summary is None else summary.additional_properties.get(FRONTIER)
        if frontier is not None:
            [upper] = json.loads(frontier)
            return int(upper) - 1
        operation = None if summary is None else summary.operation
        if operation is not Operation.REPLACE:
            raise SqlError(
                f"Iceberg table is in an inconsistent state: snapshot {snapshot.snapshot_id} has operation"
                f" '{'unknown' if operation is None else operation.value}' but is missing '{FRONTIER}' property",
                hint="Nobody else may write to the table of a sink.  Drop the sink and create it with another table.",
                sqlstate="55000",
            )
    return None


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    arrays = []
    for column, to in zip(batch.columns, schema, strict=True):
        try:
            arrays.append(column.cast(to.type))
        except pa.ArrowInvalid as error:
            raise DataError(
                f'value of column "{to.name}" out of range for Iceberg\'s {to.type}',
                detail=str(error),
                sqlstate="22003",
            ) from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
