"""The tick log as the data directory keeps it, read by sqlite3 alone: which input each tick consists of.

The engine forgets ticks that a checkpoint has made needless.  Triggers of ours keep them, so that every tick
there ever was can be checked.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa

from tailrace.catalog.database import Database

_KEPT = ("ticks", "positions", "table_changes")


class Archive:
    """Made before the engine's first start."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "tailrace.db"
        if not self._file.exists():
            Database(directory).close()  # makes the tables
            with self._open() as sql:
                for table in _KEPT:
                    sql.executescript(
                        f"CREATE TABLE kept_{table} AS SELECT * FROM {table};"
                        f"CREATE TRIGGER keep_{table} AFTER INSERT ON {table} BEGIN"
                        f" INSERT INTO kept_{table} SELECT * FROM {table} WHERE rowid = new.rowid; END"
                    )

    @property
    def ticks(self) -> list[int]:
        return [t for (t,) in self._rows("SELECT DISTINCT t FROM kept_ticks ORDER BY t")]

    def positions(self, source: str) -> list[tuple[int, dict[int, int]]]:
        """How far a source had been read at each tick that moved it."""
        query = "SELECT t, offsets FROM kept_positions WHERE source = ? ORDER BY t"
        found = self._rows(query, self._id(source))
        return [(t, {int(p): offset for p, offset in json.loads(offsets).items()}) for t, offsets in found]

    def position(self, source: str) -> dict[int, int]:
        positions = self.positions(source)
        return positions[-1][1] if positions else {}

    def changes(self, table: str) -> list[tuple[int, list[dict[str, Any]]]]:
        """What statements did to a table: rows of c0 … and weight, by tick."""
        query = "SELECT t, rows FROM kept_table_changes WHERE relation = ? ORDER BY t"
        found = self._rows(query, self._id(table))
        return [(t, pa.ipc.open_stream(BytesIO(rows)).read_all().to_pylist()) for t, rows in found]

    def has(self, name: str) -> bool:
        """Whether the catalog has an object of this name."""
        return bool(self._rows("SELECT id FROM items WHERE name = ?", name))

    def _id(self, name: str) -> str:
        found = self._rows("SELECT id FROM items WHERE name = ?", name)
        return str(found[0][0]) if found else ""

    def _rows(self, query: str, *arguments: str) -> list[tuple[Any, ...]]:
        with self._open() as sql:
            return sql.execute(query, arguments).fetchall()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._file, timeout=60)) as sql:
            yield sql
