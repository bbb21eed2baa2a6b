"""A relation in a PostgreSQL table, exactly once: a tick's rows and the tick itself are one transaction.

The rows are encoded by Spark as lines of COPY and go, batch by batch, into a temporary table; from there two
statements delete and upsert by key.  A snapshot into an empty table goes there directly.  The transaction begins with
the sink's row in the progress table: the tick moves from where we left it, if nobody has raised the generation since.
So readers of the table see whole ticks.

At the start and after every doubt: end what older writers have open, raise the generation, and only then read the
tick.  Raising waits for a commit that is under way, and fences whoever comes later.  tests/targets holds this
against a real server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql
from pyspark.sql import SparkSession

from tailrace.errors import Fenced, InternalError, KeyViolation, SqlError, Unavailable
from tailrace.ivm.views import TooMuch, few
from tailrace.ivm.zset import ZSet
from tailrace.sinks.arrow_stream import bytes_of, stream
from tailrace.sinks.contract import Progress, Written
from tailrace.sinks.cord import Cord
from tailrace.sinks.postgres_connection import translate
from tailrace.sinks.postgres_definition import TICK_SETTING, Defences, PostgresSinkDefinition
from tailrace.sinks.upserts import DELETE, INSERT, UPDATE, partitions
from tailrace.testing.crash import crash_point
from tailrace.types.core import Tick

_LOCK_SECONDS = 10  # that we wait for somebody's LOCK TABLE, or an older writer's commit
_WORTH_ANALYZING = 1000


@dataclass(slots=True)
class _Writer:
    """An open session, and what it knows of the sink's row in the progress table."""

    session: psycopg.Connection
    cord: Cord
    generation: int
    tick: int | None


class PostgresSink:
    """Keeps the contract of sinks/contract.py.  Not for two threads at a time."""

    def __init__(
        self,
        definition: PostgresSinkDefinition,
        spark: SparkSession,
        *,
        small: SparkSession | None = None,
        small_rows: int = 20_000,
        defences: Defences | None = None,
    ) -> None:
        """`small`: the session that plans for up to `small_rows` rows."""
        self._sink = definition
        self._spark = spark
        self._small = small or spark
        self._small_rows = small_rows
        self._defences = defences or Defences()
        self._lock_seconds = _LOCK_SECONDS
        self._writer: _Writer | None = None

    def progress(self) -> Progress:
        """Fences older writers, and only then reads what the table holds.  Makes missing tables."""
        self.close()
        sink = self._sink
        session = sink.connection.open(sink.application)
        try:
            with self._translated(f'asking table "{sink.shown}" what it holds'):
                self._ensure_progress(session)
                too_early = None if self._defences.fence_before_progress else self._read(session)
                if self._defences.end_older:
                    self._end_older(session)
                generation, tick = self._raise_generation(session)
                if too_early is not None:
                    [tick] = too_early
                else:
                    crash_point("postgres.progress_read")
                self._ensure_table(session, may_create=tick is None)
                session.execute(sink.create_stage())
        except BaseException:
            session.close()
            raise
        self._writer = _Writer(session, Cord(session.fileno()), generation, tick)
        return Progress(tick=None if tick is None else Tick(tick))

    def write(self, tick: Tick, delta: ZSet) -> Written:
        """Runs one Spark job, or for a large change one for each partition."""
        writer = self._writer
        if writer is None:
            raise Unavailable(f'it is in doubt what sink "{self._sink.name}" has written')
        if writer.tick is not None and tick <= writer.tick:
            raise InternalError(f'sink "{self._sink.name}" holds tick {writer.tick} and was given {tick}')
        try:
            with self._translated(f'writing to table "{self._sink.shown}"'):
                written = self._write(writer, tick, delta)
        except BaseException:
            self.close()  # the server rolls back; whatever it has done, the next writer asks
            raise
        writer.tick = tick
        return written

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.session.close()
            writer.cord.close()

    def interrupt(self) -> None:
        """The server rolls back what it has not been told to commit, when it looks for more."""
        writer = self._writer
        if writer is not None:
            writer.cord.cut()

    # ── who writes, and from where on ──

    def _ensure_progress(self, session: psycopg.Connection) -> None:
        if self._exists(session, self._sink.progress):
            return
        with session.transaction():  # of several sinks that start together one makes it
            session.execute("SELECT pg_advisory_xact_lock(hashtext('tailrace_progress'))")
            session.execute(self._sink.create_progress())

    def _read(self, session: psycopg.Connection) -> tuple[int | None]:
        found = session.execute(self._sink.read_tick(), (self._sink.progress_key,)).fetchone()
        crash_point("postgres.progress_read")
        return (found[0] if found else None,)

    def _end_older(self, session: psycopg.Connection) -> None:
        """An older writer may hang, or its machine be gone, with a transaction open that nobody will ever end."""
        session.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = %s AND usename = current_user AND datname = current_database()"
            " AND pid <> pg_backend_pid()",
            (self._sink.application,),
        )

    def _raise_generation(self, session: psycopg.Connection) -> tuple[int, int | None]:
        session.execute(f"SET lock_timeout = '{self._lock_seconds}s'")  # for all that follows in this session
        found = session.execute(self._sink.raise_generation(), (self._sink.progress_key,)).fetchone()
        assert found is not None
        return found[0], found[1]

    # ── the table ──

    def _ensure_table(self, session: psycopg.Connection, *, may_create: bool) -> None:
        sink = self._sink
        if not self._exists(session, sink.target):
            if not may_create:
                raise SqlError(
                    f'table "{sink.shown}" of sink "{sink.name}" is gone',
                    detail="The progress table says that it was written.",
                    hint="Bring it back from a copy; or drop the sink and create it again.",
                    sqlstate="42P01",
                )
            session.execute(sink.create_table(session.info.server_version))
        self._check_columns(session)
        self._check_key(session)

    def _check_columns(self, session: psycopg.Connection) -> None:
        query = "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
        there = {name for (name,) in session.execute(query, (self._regclass(session),))}
        missing = [column.name for column in self._sink.schema if column.name not in there]
        if missing:
            raise SqlError(
                f'table "{self._sink.shown}" has no column "{missing[0]}"',
                hint="Add the column, or write to another table; one that does not exist is created.",
                sqlstate="42703",
            )

    def _check_key(self, session: psycopg.Connection) -> None:
        """Without a unique index on the key, PostgreSQL cannot upsert."""
        wanted = sorted(self._sink.schema[i].name for i in self._sink.key)
        query = (
            "SELECT array_agg(a.attname::text) FROM pg_index i"
            " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1])"
            " WHERE i.indrelid = %s::regclass AND i.indisunique AND i.indisvalid AND i.indpred IS NULL"
            " AND i.indexprs IS NULL GROUP BY i.indexrelid"
        )
        found = [sorted(names) for (names,) in session.execute(query, (self._regclass(session),))]
        if wanted not in found:
            columns = ", ".join(f'"{name}"' for name in wanted)
            raise SqlError(
                f'table "{self._sink.shown}" has no unique index on the key of sink "{self._sink.name}"',
                hint=f"CREATE UNIQUE INDEX ON {self._sink.shown} ({columns}).",
                sqlstate="42P10",
            )

    def _exists(self, session: psycopg.Connection, table: sql.Identifier) -> bool:
        found = session.execute("SELECT to_regclass(%s)", (table.as_string(session),)).fetchone()
        return found is not None and found[0] is not None

    def _regclass(self, session: psycopg.Connection) -> str:
        return self._sink.target.as_string(session)

    # ── one tick ──

    def _write(self, writer: _Writer, tick: Tick, delta: ZSet) -> Written:
        with writer.session.transaction():
            self._advance(writer, tick)
            if self._is_first(writer, delta):
                written = self._copy(writer.session, self._sink.fill_table(), self._first_lines(delta))
            else:
                changes: Counter[str] = Counter()
                lines = self._counted(self._lines(delta), changes)
                written = self._copy(writer.session, self._sink.fill_stage(), lines)
                self._apply(writer, changes)
            crash_point("postgres.sent_not_committed")
        crash_point("postgres.committed_not_seen")
        return written

    def _advance(self, writer: _Writer, tick: Tick) -> None:
        session, sink = writer.session, self._sink
        session.execute("SELECT set_config(%s, %s, true)", (TICK_SETTING, str(tick)))
        if not self._defences.progress_record:
            return
        arguments: tuple[int | str | None, ...] = (tick, sink.progress_key)
        if self._defences.generation:
            arguments += (writer.generation, writer.tick)
        moved = session.execute(sink.advance(guarded=self._defences.generation), arguments)
        if moved.rowcount != 1:
            raise Fenced(
                "a newer writer of this sink has taken over",
                detail=f"The sink's row in the progress table is not of generation {writer.generation} any more.",
            )

    def _is_first(self, writer: _Writer, delta: ZSet) -> bool:
        """A snapshot into an empty table: there is nothing to upsert, so its rows need not wait in the stage."""
        if writer.tick is not None or not delta.positive or not self._sink.proven:
            return False
        return writer.session.execute(self._sink.has_rows()).fetchone() == (False,)

    def _copy(self, session: psycopg.Connection, into: sql.Composed, batches: Iterable[pa.RecordBatch]) -> Written:
        """COPY takes a batch as the bytes it is: a batch, not all of them, is in memory."""
        rows = size = 0
        with session.cursor() as cursor, cursor.copy(into) as copy:
            for batch in batches:
                lines = bytes_of(batch.column("line"))
                half = len(lines) // 2
                copy.write(lines[:half])
                crash_point("postgres.mid_copy")
                copy.write(lines[half:])
                rows, size = rows + batch.num_rows, size + len(lines)
        return Written(messages=rows, bytes=size)

    def _first_lines(self, delta: ZSet) -> Iterable[pa.RecordBatch]:
        if delta.is_empty:
            return []
        if delta.rows <= self._small_rows:
            with suppress(TooMuch):
                first: list[pa.RecordBatch] = few(self._small, self._sink.first_lines(delta, 1)).to_batches()
                return first
            delta = delta.many()
        return stream(self._spark.sql(self._sink.first_lines(delta, self._partitions(delta))))

    def _lines(self, delta: ZSet) -> Iterable[pa.RecordBatch]:
        if delta.is_empty:
            return []
        if delta.rows <= self._small_rows:
            with suppress(TooMuch):
                here: list[pa.RecordBatch] = self._sink.lines_here(
                    few(self._small, self._sink.encoded(delta))
                ).to_batches()
                return here
            delta = delta.many()
        return stream(self._spark.sql(self._sink.lines(delta, self._partitions(delta))))

    def _partitions(self, delta: ZSet) -> int:
        return partitions(delta, self._spark.sparkContext.defaultParallelism)

    def _counted(self, batches: Iterable[pa.RecordBatch], changes: Counter[str]) -> Iterator[pa.RecordBatch]:
        """The same batches; on the way, how many of each change there are.  Refuses keys that repeat."""
        for batch in batches:
            self._check_unique(batch)
            for count in batch.column("change").value_counts().to_pylist():
                changes[count["values"]] += count["counts"]
            yield batch

    def _apply(self, writer: _Writer, changes: Counter[str]) -> None:
        """Whatever the stage holds.  Statements for which it has nothing are not run."""
        session, sink = writer.session, self._sink
        asks_for_new = changes[INSERT] > 0 and sink.sole and writer.tick is not None
        if (asks_for_new or changes[DELETE]) and changes.total() >= _WORTH_ANALYZING:
            session.execute(sink.analyze_stage())  # nobody else does that for a temporary table
        if asks_for_new:
            twice = session.execute(sink.known_twice()).fetchone()
            if twice is not None:
                raise self._violation(", ".join(str(value) for value in twice))
        for statement in sink.delete() if changes[DELETE] else ():
            session.execute(statement)
        if changes[INSERT] or changes[UPDATE]:
            session.execute(sink.upsert())

    def _check_unique(self, batch: pa.RecordBatch) -> None:
        several = batch.filter(pc.greater(batch.column("came"), 1))
        if several.num_rows:
            raise self._violation(several.column("k")[0].as_py().replace("\t", ", "))

    def _violation(self, key: str) -> KeyViolation:
        names = ", ".join(self._sink.schema[i].name for i in self._sink.key)
        return KeyViolation(
            f'sink "{self._sink.name}" has more than one row of key ({names}) = ({key})',
            detail=f'Table "{self._sink.shown}" can hold one of them only, and which one cannot be known.',
            hint="The sink goes on by itself when the relation has one row of this key again.",
        )

    @contextmanager
    def _translated(self, doing: str) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise translate(error, doing, self._sink.connection) from error
