"""A Postgres sink as the catalog keeps it, and every name and statement it uses in the database, in one place."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql

from tailrace.errors import SqlError
from tailrace.ivm.zset import ZSet
from tailrace.sinks import upserts
from tailrace.sinks.postgres_connection import PostgresConnection
from tailrace.sinks.postgres_types import NULL, column_type, copy_text
from tailrace.sinks.upserts import Encoding
from tailrace.types.core import Schema

PROGRESS_TABLE = "tailrace_progress"
TICK_SETTING = "tailrace.tick"
"""Triggers of the table find the tick they belong to by current_setting('tailrace.tick')."""

_STAGE = "tailrace_stage"
_OLDEST_FOR_NULL_KEYS = 150_000  # NULLS NOT DISTINCT came with PostgreSQL 15


@dataclass(frozen=True, kw_only=True, slots=True)
class PostgresSinkDefinition:
    """Which relation goes to which table.  One that exists is valid.

    `sole`: a key that comes new must not be in the table yet.  So it is for keys that were promised, not proven, to
    be unique, once the table has the snapshot: two rows of one key would hide each other silently.  `proven`: the key
    is known to be unique.
    """

    id: str
    name: str
    connection: PostgresConnection
    region: str
    table: tuple[str, str]
    schema: Schema
    key: tuple[int, ...]
    sole: bool = False
    proven: bool = False

    def __post_init__(self) -> None:
        if not self.key:
            raise SqlError("Postgres sinks must specify a key", sqlstate="42601")

    @property
    def progress_key(self) -> str:
        """Of the sink's own row in the progress table."""
        return f"{self.region}-{self.id}"

    @property
    def application(self) -> str:
        """How the sink's sessions are called; PostgreSQL cuts names after 63 bytes."""
        return f"tailrace {self.progress_key}"[-63:]

    # ── rows, as Spark SQL text ──

    def lines(self, delta: ZSet, partitions: int) -> str:
        """`line`, for COPY into the stage; `came`: how many rows a key has now; `change`; `k`: the key, for people.

        One row for each key that changed: its new row, or the last one it had.  One shuffle.
        """
        changes = upserts.per_key(delta, self._encoding, partitions, proven=self.proven)
        return f"SELECT concat(r, '\\t', change, '\\n') AS line, came, change, k FROM ({changes})"

    def first_lines(self, delta: ZSet, partitions: int) -> str:
        """`line`, for COPY into an empty table: a snapshot in which no key repeats.  One shuffle: it bounds parts."""
        lines = f"SELECT concat({self._encoding.row}, '\\n') AS line FROM ({delta.sql})"
        return f"SELECT /*+ REPARTITION({partitions}, line) */ line FROM ({lines})"

    def encoded(self, delta: ZSet) -> str:
        """For `lines_here`.  No shuffle."""
        return upserts.encoded(delta, self._encoding)

    def lines_here(self, encoded: pa.Table) -> pa.Table:
        """The same as `lines`, made on the driver."""
        changes = upserts.per_key_here(encoded)
        line = pc.binary_join_element_wise(changes["r"], "\t", changes["change"], "\n", "")
        return changes.append_column("line", line)

    @property
    def _encoding(self) -> Encoding:
        texts = [copy_text(f"c{i}", column.type) for i, column in enumerate(self.schema)]
        gone = [text if i in self.key else NULL for i, text in enumerate(texts)]
        return Encoding(_fields([texts[i] for i in self.key]), _fields(texts), _fields(gone))

    # ── statements of the database ──

    @property
    def target(self) -> sql.Identifier:
        return sql.Identifier(*self.table)

    @property
    def progress(self) -> sql.Identifier:
        return sql.Identifier(self.table[0], PROGRESS_TABLE)

    @property
    def shown(self) -> str:
        return ".".join(self.table)

    @property
    def _key_names(self) -> list[str]:
        return [self.schema[i].name for i in self.key]

    @property
    def _columns(self) -> sql.Composed:
        return _names([column.name for column in self.schema])

    @property
    def _change(self) -> sql.Identifier:
        name = "tailrace_change"
        while name in [column.name for column in self.schema]:
            name += "_"
        return sql.Identifier(name)

    def create_progress(self) -> sql.Composed:
        return sql.SQL(
            "CREATE TABLE IF NOT EXISTS {} (sink text PRIMARY KEY, generation bigint NOT NULL, tick bigint)"
        ).format(self.progress)

    def create_table(self, server_version: int) -> sql.Composed:
        columns = [
            sql.SQL("{} {}{}").format(
                sql.Identifier(column.name),
                sql.SQL(column_type(column.type)),
                sql.SQL("" if column.nullable else " NOT NULL"),
            )
            for column in self.schema
        ]
        may_be_null = [name for i, name in zip(self.key, self._key_names, strict=True) if self.schema[i].nullable]
        if may_be_null and server_version < _OLDEST_FOR_NULL_KEYS:
            raise SqlError(
                f'key column "{may_be_null[0]}" of sink "{self.name}" may be NULL',
                detail="PostgreSQL before version 15 cannot keep such keys unique.",
                hint="WITH (ASSERT NOT NULL …) of CREATE MATERIALIZED VIEW promises that it is not.",
                sqlstate="0A000",
            )
        unique = sql.SQL("UNIQUE NULLS NOT DISTINCT ({})" if may_be_null else "PRIMARY KEY ({})")
        parts = sql.SQL(", ").join([*columns, unique.format(_names(self._key_names))])
        return sql.SQL("CREATE TABLE {} ({})").format(self.target, parts)

    def create_stage(self) -> sql.Composed:
        """Typed as the table is; empty again after every transaction."""
        columns = "SELECT {}, CAST('i' AS text) AS {} FROM {} WITH NO DATA"
        return sql.SQL("CREATE TEMPORARY TABLE {} ON COMMIT DELETE ROWS AS " + columns).format(
            sql.Identifier(_STAGE), self._columns, self._change, self.target
        )

    def fill_stage(self) -> sql.Composed:
        return sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(_STAGE))

    def fill_table(self) -> sql.Composed:
        return sql.SQL("COPY {} ({}) FROM STDIN").format(self.target, self._columns)

    def has_rows(self) -> sql.Composed:
        return sql.SQL("SELECT EXISTS (SELECT FROM {})").format(self.target)

    def analyze_stage(self) -> sql.Composed:
        return sql.SQL("ANALYZE {}").format(sql.Identifier(_STAGE))

    def raise_generation(self) -> sql.Composed:
        return sql.SQL(
            "INSERT INTO {0} AS p (sink, generation) VALUES (%s, 1)"
            " ON CONFLICT (sink) DO UPDATE SET generation = p.generation + 1 RETURNING generation, tick"
        ).format(self.progress)

    def read_tick(self) -> sql.Composed:
        return sql.SQL("SELECT tick FROM {} WHERE sink = %s").format(self.progress)

    def advance(self, *, guarded: bool) -> sql.Composed:
        """From one tick to the next, if the sink is still ours and where we left it."""
        guard = " AND generation = %s AND tick IS NOT DISTINCT FROM %s" if guarded else ""
        return sql.SQL("UPDATE {} SET tick = %s WHERE sink = %s" + guard).format(self.progress)

    def known_twice(self) -> sql.Composed:
        """A key that comes new and is in the table all the same."""
        return sql.SQL("SELECT {} FROM {} s WHERE s.{} = 'i' AND EXISTS (SELECT FROM {} t WHERE {}) LIMIT 1").format(
            _names(self._key_names), sql.Identifier(_STAGE), self._change, self.target, self._same_key()
        )

    def delete(self) -> list[sql.Composed]:
        """The keys that are gone.  Those with a NULL apart: no index finds them by equality."""
        gone = sql.SQL("DELETE FROM {} t USING {} s WHERE s.{} = 'd' AND {}")
        tables = (self.target, sql.Identifier(_STAGE), self._change)
        nullable = [sql.Identifier(self.schema[i].name) for i in self.key if self.schema[i].nullable]
        statements = [gone.format(*tables, self._same_key())]
        if nullable:
            some_null = sql.SQL(" OR ").join(sql.SQL("s.{} IS NULL").format(name) for name in nullable)
            same = self._same_key(sql.SQL("t.{0} IS NOT DISTINCT FROM s.{0}"))
            statements.append(gone.format(*tables, sql.SQL("({}) AND {}").format(some_null, same)))
        return statements

    def upsert(self) -> sql.Composed:
        names = [c.name for i, c in enumerate(self.schema) if i not in self.key]
        assign = sql.SQL(", ").join(sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in names)
        action = sql.SQL("DO UPDATE SET {}").format(assign) if names else sql.SQL("DO NOTHING")
        return sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} WHERE {} <> 'd' ON CONFLICT ({}) {}").format(
            self.target,
            self._columns,
            self._columns,
            sql.Identifier(_STAGE),
            self._change,
            _names(self._key_names),
            action,
        )

    def _same_key(self, each: sql.SQL | None = None) -> sql.Composed:
        form = each or sql.SQL("t.{0} = s.{0}")
        return sql.SQL(" AND ").join(form.format(sql.Identifier(name)) for name in self._key_names)


def _fields(texts: list[str]) -> str:
    return f"concat_ws('\\t', {', '.join(texts)})"


def _names(names: list[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))


@dataclass(frozen=True, kw_only=True, slots=True)
class Defences:
    """What exactly-once rests on.  Each can be switched off, by tests alone.

    `progress_record`: the tick is committed with the rows.  `fence_before_progress`: the generation is raised before
    the tick is read.  `end_older`: sessions of older writers are ended before that, with what they have open.
    `generation`: every write checks that nobody has raised it.
    """

    progress_record: bool = True
    fence_before_progress: bool = True
    end_older: bool = True
    generation: bool = True
