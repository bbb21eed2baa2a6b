"""A relation in an Iceberg table, exactly once: a commit is one snapshot of the table, with its tick in the summary.

Every snapshot that we make says in its summary up to which tick the table holds the relation.  A commit is made
against the very metadata that was read before: if anybody has committed meanwhile, it fails, and the table is asked
again.  So nobody needs to be fenced before progress is read, and a commit whose answer was lost is recognised.
pyiceberg would rather try again on top of the other's commit, which is what must not happen: we commit by ourselves.

UPSERT adds new rows and deletes those of changed keys where they are, by position; APPEND adds a row for each change.
Large changes are written by Spark's tasks, and the driver only commits; small ones by the driver.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io.pyarrow import _check_pyarrow_schema_compatible
from pyiceberg.manifest import DataFile, DataFileContent
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyspark.sql import SparkSession

from tailrace.errors import InternalError, KeyViolation, SqlError, TailraceError, Unavailable
from tailrace.formats import iceberg_columns
from tailrace.ivm.views import TooMuch, few
from tailrace.ivm.zset import ZSet
from tailrace.sinks import iceberg_history, iceberg_upkeep
from tailrace.sinks.arrow_cast import cast
from tailrace.sinks.arrow_stream import stream
from tailrace.sinks.contract import Progress, Written
from tailrace.sinks.iceberg_commit import Change, commit, prepared
from tailrace.sinks.iceberg_connection import S3_TABLES, translated
from tailrace.sinks.iceberg_definition import Defences, IcebergSinkDefinition
from tailrace.sinks.iceberg_partitions import check
from tailrace.sinks.iceberg_positions import Finder, Found, write_deletes
from tailrace.sinks.iceberg_write import ICEBERGS, TableFiles
from tailrace.sinks.kept import Kept
from tailrace.testing.crash import crash_point
from tailrace.types.core import Tick

_log = logging.getLogger(__name__)

_PROPERTIES = {
    "format-version": "2",
    "write.metadata.delete-after-commit.enabled": "true",  # or every commit leaves a file behind
    "write.metadata.previous-versions-max": "100",
}
"""Of a table that we create."""


class IcebergSink:
    """Keeps the contract of sinks/contract.py.  Not for two threads at a time."""

    def __init__(
        self,
        definition: IcebergSinkDefinition,
        spark: SparkSession,
        *,
        small: SparkSession | None = None,
        small_rows: int = 20_000,
        upkeep_after: int = iceberg_upkeep.AFTER_COMMITS,
        defences: Defences | None = None,
    ) -> None:
        """`upkeep_after`: so many commits, the table is put in order."""
        self._sink = definition
        self._spark = spark
        self._small = small or spark
        self._small_rows = small_rows
        self._upkeep_after = upkeep_after
        self._defences = defences or Defences()
        self._table: Table | None = None
        self._tick: int | None = None
        self._commits = 0
        self._kept = Kept()

    def progress(self) -> Progress:
        """Reads which tick the table's last snapshot of ours holds.  Makes a missing table, and missing columns."""
        self.close()
        sink = self._sink
        with translated(f'asking table "{sink.shown}" what it holds', sink.connection):
            table = self._load(sink.connection.open())
            held = iceberg_history.held(table, sink.id, continues=sink.continues)
        crash_point("iceberg.progress_read")
        self._table, self._tick = table, held
        return Progress(tick=held)

    def write(self, tick: Tick, delta: ZSet) -> Written:
        """Runs a Spark job; for a large change one for each kind of row: those that came, and those that left."""
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
        self._keep_up(table, tick)
        return written

    def close(self) -> None:
        self._table = None

    # ── the table ──

    def _load(self, catalog: Catalog) -> Table:
        sink = self._sink
        try:
            table = catalog.load_table(sink.identifier)
        except NoSuchTableError:
            if self._tick is not None:
                raise SqlError(
                    f'table "{sink.shown}" of sink "{sink.name}" is gone',
                    hint="Bring it back from a copy; or drop the sink and create it again.",
                    sqlstate="42P01",
                ) from None
            schema = sink.table_schema
            spec = sink.partition_spec(schema)
            table = catalog.create_table(sink.identifier, schema, partition_spec=spec, properties=_PROPERTIES)
        if table.format_version != 2:
            raise SqlError(f'table "{sink.shown}" has format version {table.format_version}, not 2', sqlstate="0A000")
        self._add_columns(table)
        self._check_partitions(table)
        _check_pyarrow_schema_compatible(table.schema(), sink.arrow_schema)
        return table

    def _add_columns(self, table: Table) -> None:
        """Columns that may be NULL are added; older rows have none.  Commits, if there are any."""
        there = {field.name for field in table.schema().fields}
        missing = [column for column in self._sink.columns if column.name not in there]
        if not missing:
            return
        self._refuse_dropped(table, [column.name for column in missing])
        for column in missing:
            if not column.nullable:
                raise SqlError(
                    f'table "{self._sink.shown}" has no column "{column.name}"',
                    detail="It cannot be added, because it is never NULL and older rows would have no value.",
                    hint="Write to another table; one that does not exist is created.",
                    sqlstate="42703",
                )
        with table.update_schema() as update:
            update.union_by_name(iceberg_columns.table_schema(tuple(missing)))

    def _refuse_dropped(self, table: Table, names: list[str]) -> None:
        """Or rows would keep NULL where the relation has a value."""
        known = {field.name for schema in table.metadata.schemas for field in schema.fields}
        dropped = [name for name in names if name in known]
        if dropped and table.current_snapshot() is not None:
            raise SqlError(
                f'column "{dropped[0]}" of table "{self._sink.shown}" was dropped',
                detail="Rows that are there have lost their values.",
                hint="Drop the sink and the table, and create the sink again; or let it write to another table.",
                sqlstate="42703",
            )

    def _check_partitions(self, table: Table) -> None:
        schema, spec = table.schema(), table.spec()
        for field in spec.fields:
            check(field, schema.find_field(field.source_id).field_type)
        if self._sink.partition_by and not spec.compatible_with(self._sink.partition_spec(schema)):
            raise SqlError(
                f'table "{self._sink.shown}" is partitioned otherwise', detail=f"It has {spec}.", sqlstate="42P16"
            )

    def _files(self, table: Table) -> TableFiles:
        return TableFiles(
            connection=self._sink.connection,
            shown=self._sink.shown,
            io=table.io,
            metadata=table.metadata,
            columns=self._sink.arrow_schema,
        )

    # ── one commit ──

    def _write(self, table: Table, tick: Tick, delta: ZSet) -> Written:
        with translated(f'writing to table "{self._sink.shown}"', self._sink.connection):
            added = self._appended(table, tick, delta) if self._sink.key is None else self._upserted(table, delta)
            summary = iceberg_history.summary(self._sink.id, tick) if self._defences.progress_record else {}
            deletes = any(file.content is not DataFileContent.DATA for file in added)
            operation = Operation.OVERWRITE if deletes else Operation.APPEND
            transaction = prepared(table, Change(operation=operation, summary=summary, added=tuple(added)))
        crash_point("iceberg.written_not_committed")
        with translated(f'committing to table "{self._sink.shown}"', self._sink.connection):
            commit(table, transaction, conditional=self._defences.conditional_commit)
        crash_point("iceberg.committed_not_seen")
        return Written(
            messages=sum(file.record_count for file in added), bytes=sum(file.file_size_in_bytes for file in added)
        )

    def _appended(self, table: Table, tick: Tick, delta: ZSet) -> list[DataFile]:
        return self._data_files(self._files(table), self._sink.appended(delta, tick), delta)

    def _upserted(self, table: Table, delta: ZSet) -> list[DataFile]:
        """The keys of rows that left are on the driver at once."""
        files = self._files(table)
        if self._sink.sole:
            self._refuse_repeated(table, delta)
        if delta.positive:
            return self._data_files(files, self._sink.came(delta), delta)
        if delta.rows <= self._small_rows:
            with suppress(TooMuch):
                came, left = self._sink.split(few(self._small, self._sink.changes(delta)))
                deletes = write_deletes(files, self._found(table, left.to_batches()))
                return files.write(came.to_batches()) + deletes
            delta = delta.many()
        deletes = write_deletes(files, self._found(table, stream(self._spark.sql(self._sink.left(delta)))))
        return self._data_files(files, self._sink.came(delta), delta) + deletes

    def _data_files(self, files: TableFiles, text: str, delta: ZSet) -> list[DataFile]:
        if delta.rows <= self._small_rows:
            with suppress(TooMuch):
                return files.write(few(self._small, text).to_batches())
        return files.write_in_tasks(self._spark.sql(text))

    def _found(self, table: Table, keys: Iterable[pa.RecordBatch]) -> list[Found]:
        """Where the rows of some keys are."""
        names = self._sink.key_names
        schema = pa.schema([self._sink.arrow_schema.field(name) for name in names])
        sought = pa.Table.from_batches((cast(each, schema, ICEBERGS) for each in keys), schema)
        return list(Finder(table, names, self._kept).find(sought))

    def _batches(self, text: str, delta: ZSet) -> Iterable[pa.RecordBatch]:
        if delta.rows <= self._small_rows:
            with suppress(TooMuch):
                here: list[pa.RecordBatch] = few(self._small, text).to_batches()
                return here
        return stream(self._spark.sql(text))

    # ── keys that are not unique ──

    def _refuse_repeated(self, table: Table, delta: ZSet) -> None:
        """Two more Spark jobs, for keys that were promised, not proven, to be unique."""
        for batch in self._batches(self._sink.repeated(delta), delta):
            if batch.num_rows:
                raise self._violation(batch.slice(0, 1).to_pylist()[0].values())
        if self._tick is None:
            return
        for found in self._found(table, self._batches(self._sink.new(delta), delta)):
            raise self._violation(found.values(table, self._sink.key_names))

    def _violation(self, key: Iterable[object]) -> KeyViolation:
        names, values = ", ".join(self._sink.key_names), ", ".join(map(str, key))
        return KeyViolation(
            f'sink "{self._sink.name}" has more than one row of key ({names}) = ({values})',
            hint="The sink goes on by itself when the relation has one row of this key again.",
        )

    # ── between two commits ──

    def _keep_up(self, table: Table, tick: Tick) -> None:
        """Puts the table in order now and then.  Amazon does that by itself for its own."""
        self._commits += 1
        if self._commits % self._upkeep_after or self._sink.connection.catalog_type == S3_TABLES:
            return
        try:
            with translated(f'compacting table "{self._sink.shown}"', self._sink.connection):
                summary = iceberg_history.summary(self._sink.id, tick)
                iceberg_upkeep.compact(table, self._files(table), summary, self._kept)
                iceberg_upkeep.expire(table)
        except TailraceError as error:
            _log.warning("table not compacted table=%s error=%s", self._sink.shown, error.message)
            self.close()  # somebody else has committed, or nobody knows whether we have: the loop asks
