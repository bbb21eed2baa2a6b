"""The tick log: which input each tick consists of, durable before any effect of the tick.

Replaying a tick therefore reads exactly the same input again, and makes exactly the same output.  All of exactly once
rests on this.
"""

from __future__ import annotations

import bisect
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from io import BytesIO

import pyarrow as pa

from tailrace.catalog.database import Database
from tailrace.sources.contract import Offsets
from tailrace.types.core import BEGINNING, Tick

READER = "reader "
"""How the names of those begin whose first step is noted among the watermarks."""


class TickLog:
    """Kept in SQLite; positions also in memory, where they are looked up several times in a tick."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ticks: list[Tick] = []
        self._positions: defaultdict[str, list[tuple[Tick, Offsets]]] = defaultdict(list)
        with database.transaction() as sql:
            self._ticks = [Tick(t) for (t,) in sql.execute("SELECT t FROM ticks ORDER BY t")]
            for source, t, offsets in sql.execute("SELECT source, t, offsets FROM positions ORDER BY t"):
                self._positions[source].append((Tick(t), _decode(offsets)))

    @property
    def last(self) -> Tick:
        return self._ticks[-1] if self._ticks else BEGINNING

    def __contains__(self, t: Tick) -> bool:
        """Whether `t` is known: logged, and not forgotten since."""
        at = bisect.bisect_left(self._ticks, t)
        return at < len(self._ticks) and self._ticks[at] == t

    def at(self, time: int) -> Tick | None:
        """The tick whose state holds at `time`: the last one up to it.  None: it is forgotten."""
        place = bisect.bisect_right(self._ticks, time)
        if place:
            return self._ticks[place - 1]
        return None if self._ticks else BEGINNING

    @property
    def first(self) -> Tick:
        """The oldest tick that is not forgotten."""
        return self._ticks[0] if self._ticks else BEGINNING

    def after(self, t: Tick) -> list[Tick]:
        """The logged ticks later than `t`."""
        return self._ticks[bisect.bisect_right(self._ticks, t) :]

    def append(self, t: Tick, positions: Mapping[str, Offsets], changes: Mapping[str, pa.Table]) -> None:
        """Makes `t` exist: from here on it will be done, whatever happens."""
        self.write(t, positions, changes)
        self.remember(t, positions)

    def write(self, t: Tick, positions: Mapping[str, Offsets], changes: Mapping[str, pa.Table]) -> None:
        with self._database.transaction() as sql:
            sql.execute("INSERT INTO ticks VALUES (?)", (t,))
            for source, offsets in positions.items():
                sql.execute("INSERT INTO positions VALUES (?, ?, ?)", (source, t, json.dumps(dict(offsets))))
            for relation, rows in changes.items():
                sql.execute("INSERT INTO table_changes VALUES (?, ?, ?)", (relation, t, _to_bytes(rows)))

    def remember(self, t: Tick, positions: Mapping[str, Offsets]) -> None:
        self._ticks.append(t)
        for source, offsets in positions.items():
            self._positions[source].append((t, dict(offsets)))

    def start(self, source: str, t: Tick, offsets: Offsets) -> None:
        """The position before the first row of a new source."""
        with self._database.transaction() as sql:
            sql.execute(
                "INSERT OR REPLACE INTO positions VALUES (?, ?, ?)", (source, BEGINNING, json.dumps(dict(offsets)))
            )
        self._positions[source] = [(BEGINNING, dict(offsets))]

    def position(self, source: str, t: Tick) -> Offsets:
        """How far `source` had been read at `t`."""
        entries = self._positions[source]
        at = bisect.bisect_right(entries, t, key=lambda entry: entry[0]) - 1
        return entries[at][1] if at >= 0 else {}

    def positions(self, source: str, lo: Tick, hi: Tick) -> list[tuple[Tick, Offsets]]:
        """Where `source` was read to by each tick above `lo` up to `hi` that moved it."""
        return [entry for entry in self._positions[source] if lo < entry[0] <= hi]

    def watermarks(self, source: str) -> list[tuple[Tick, str]]:
        """What was noted of a source's watermark, by tick."""
        with self._database.transaction() as sql:
            rows = sql.execute("SELECT t, mark FROM watermarks WHERE source = ? ORDER BY t", (source,)).fetchall()
        return [(Tick(t), mark) for t, mark in rows]

    def note_watermarks(self, source: str, marks: Iterable[tuple[Tick, str]]) -> None:
        """Notes marks of ticks that are logged; noting one again changes nothing."""
        rows = [(source, t, mark) for t, mark in marks]
        if rows:
            with self._database.transaction() as sql:
                sql.executemany("INSERT OR REPLACE INTO watermarks VALUES (?, ?, ?)", rows)

    def changes(self, relation: str, lo: Tick, hi: Tick) -> list[tuple[Tick, pa.Table]]:
        """What statements did to a table in the ticks above `lo` up to `hi`."""
        with self._database.transaction() as sql:
            rows = sql.execute(
                "SELECT t, rows FROM table_changes WHERE relation = ? AND t > ? AND t <= ? ORDER BY t",
                (relation, lo, hi),
            ).fetchall()
        return [(Tick(t), _from_bytes(blob)) for t, blob in rows]

    def forget(self, before: Tick) -> None:
        """Drops what nobody will replay: ticks before `before`, but for each source its position then."""
        keep = self._ticks[bisect.bisect_left(self._ticks, before) :]
        with self._database.transaction() as sql:
            sql.execute("DELETE FROM ticks WHERE t < ?", (before,))
            sql.execute("DELETE FROM table_changes WHERE t < ?", (before,))
            sql.execute(f"DELETE FROM watermarks WHERE source LIKE '{READER}%' AND t < ?", (before,))
            sql.execute(
                "DELETE FROM watermarks WHERE t <"
                " (SELECT max(t) FROM watermarks w WHERE w.source = watermarks.source AND w.t <= ?)",
                (before,),
            )
            for source, entries in self._positions.items():
                at = max(bisect.bisect_right(entries, before, key=lambda entry: entry[0]) - 1, 0)
                gone = [t for t, _ in entries[:at] if t != BEGINNING]
                self._positions[source] = [e for e in entries[:at] if e[0] == BEGINNING] + entries[at:]
                sql.executemany("DELETE FROM positions WHERE source = ? AND t = ?", [(source, t) for t in gone])
        self._ticks = keep

    def drop(self, relations: Iterable[str]) -> None:
        """Forgets everything of relations that are no more."""
        with self._database.transaction() as sql:
            for relation in relations:
                sql.execute("DELETE FROM positions WHERE source = ?", (relation,))
                sql.execute("DELETE FROM table_changes WHERE relation = ?", (relation,))
                sql.execute("DELETE FROM watermarks WHERE source = ?", (relation,))
                self._positions.pop(relation, None)


def _decode(text: str) -> Offsets:
    return {int(partition): offset for partition, offset in json.loads(text).items()}


def _to_bytes(table: pa.Table) -> bytes:
    buffer = BytesIO()
    with pa.ipc.new_stream(buffer, table.schema) as stream:
        stream.write_table(table)
    return buffer.getvalue()


def _from_bytes(blob: bytes) -> pa.Table:
    return pa.ipc.open_stream(blob).read_all()
