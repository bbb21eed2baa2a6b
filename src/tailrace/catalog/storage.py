"""The catalog on disk: one row an item, with its CREATE statement; read back by parsing and planning it again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tailrace.catalog.database import Database
from tailrace.catalog.items import FullName, Item
from tailrace.catalog.namespaces import FIRST, Namespace, Namespaces
from tailrace.secret import Secret
from tailrace.testing.crash import crash_point


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """An item as it was written; `create_sql` must still be parsed."""

    id: str
    kind: str
    name: FullName
    create_sql: str
    facts: dict[str, Any]


class Storage:
    def __init__(self, database: Database) -> None:
        self._database = database

    def next_id(self) -> str:
        """From one counter for all kinds; an id is never used twice, not even after a DROP."""
        with self._database.transaction() as sql:
            return _next(sql, "next_id")

    def add(self, *items: Item, secret: Secret | None = None, instead_of: Iterable[str] = ()) -> None:
        """On return the items exist, whatever happens next, and those they replace do not; before, the reverse.

        A secret is the first one's.
        """
        crash_point("ddl.before_commit")
        with self._database.transaction() as sql:
            _remove(sql, instead_of)
            for item in items:
                facts = json.dumps(dict(item.facts))
                values = (item.id, item.number, item.kind, *item.name.parts, item.create_sql, facts)
                sql.execute("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
            if secret is not None:
                sql.execute("INSERT OR REPLACE INTO secrets VALUES (?, ?)", (items[0].id, secret.reveal()))
        crash_point("ddl.after_commit")

    def remove(self, ids: Iterable[str], namespaces: Iterable[Namespace] = ()) -> None:
        """Items, and the namespaces that they were in: all or nothing."""
        with self._database.transaction() as sql:
            _remove(sql, ids)
            for each in namespaces:
                sql.execute("DELETE FROM namespaces WHERE kind = ? AND id = ?", (each.kind, each.id))
                sql.execute("DELETE FROM comments WHERE id = ?", (each.key,))

    def replace(self, *items: Item, namespaces: Iterable[Namespace] = ()) -> None:
        """The same items and namespaces under other names or with other facts: all or nothing."""
        crash_point("ddl.before_commit")
        with self._database.transaction() as sql:
            for item in items:
                facts = json.dumps(dict(item.facts))
                sql.execute(
                    "UPDATE items SET database = ?, schema = ?, name = ?, create_sql = ?, facts = ? WHERE id = ?",
                    (*item.name.parts, item.create_sql, facts, item.id),
                )
            _write(sql, namespaces)
        crash_point("ddl.after_commit")

    def namespaces(self) -> Namespaces:
        """The first ones are there from the start, until somebody drops them."""
        with self._database.transaction() as sql:
            if not sql.execute("SELECT 1 FROM facts WHERE name = 'next_schema'").fetchall():
                for first in FIRST:
                    _next(sql, f"next_{first.kind}")
                    # From before there were others, comments were kept under the name.
                    sql.execute("UPDATE comments SET id = ? WHERE id = ?", (first.key, f"{first.kind} {first.name}"))
                _write(sql, FIRST)
            rows = sql.execute("SELECT id, name, database FROM namespaces").fetchall()
        return Namespaces(tuple(Namespace(id=id, name=name, database=database) for id, name, database in rows))

    def next_namespace_id(self, kind: str) -> str:
        """From one counter for each kind; never used twice."""
        with self._database.transaction() as sql:
            return _next(sql, f"next_{kind}")

    def add_namespaces(self, *namespaces: Namespace) -> None:
        crash_point("ddl.before_commit")
        with self._database.transaction() as sql:
            _write(sql, namespaces)
        crash_point("ddl.after_commit")

    def items(self) -> list[Stored]:
        """In the order of `Item.rank`: what an item needs comes before it."""
        with self._database.transaction() as sql:
            rows = sql.execute(
                "SELECT id, kind, database, schema, name, create_sql, facts FROM items ORDER BY kind = 'sink', number"
            ).fetchall()
        return [
            Stored(id=id, kind=kind, name=FullName(d, s, n), create_sql=text, facts=json.loads(facts))
            for id, kind, d, s, n, text, facts in rows
        ]

    def secret(self, id: str) -> Secret:
        with self._database.transaction() as sql:
            [[value]] = sql.execute("SELECT value FROM secrets WHERE id = ?", (id,)).fetchall()
        return Secret(value)

    def set_secret(self, id: str, value: Secret) -> None:
        with self._database.transaction() as sql:
            sql.execute("UPDATE secrets SET value = ? WHERE id = ?", (value.reveal(), id))

    def audit(self, event: str, object_type: str, details: str, role: str, at: float) -> None:
        with self._database.transaction() as sql:
            sql.execute(
                "INSERT INTO audit (event, object_type, details, role, at) VALUES (?, ?, ?, ?, ?)",
                (event, object_type, details, role, at),
            )

    def audit_events(self) -> list[tuple[int, str, str, str, str, float]]:
        """(number, event, type of object, details as JSON, role, when)"""
        with self._database.transaction() as sql:
            return sql.execute("SELECT id, event, object_type, details, role, at FROM audit ORDER BY id").fetchall()

    def comments(self) -> dict[tuple[str, int], str]:
        """(id, column number from 1, or 0 for the item itself) → comment."""
        with self._database.transaction() as sql:
            rows = sql.execute("SELECT id, place, comment FROM comments").fetchall()
        return {(id, place): comment for id, place, comment in rows}

    def comment(self, id: str, place: int, comment: str | None) -> None:
        with self._database.transaction() as sql:
            sql.execute("DELETE FROM comments WHERE id = ? AND place = ?", (id, place))
            if comment is not None:
                sql.execute("INSERT INTO comments VALUES (?, ?, ?)", (id, place, comment))


def _remove(sql: sqlite3.Connection, ids: Iterable[str]) -> None:
    for id in ids:
        for table in ("items", "secrets", "comments"):
            sql.execute(f"DELETE FROM {table} WHERE id = ?", (id,))


def _next(sql: sqlite3.Connection, counter: str) -> str:
    sql.execute("INSERT OR IGNORE INTO facts VALUES (?, '1')", (counter,))
    [[number]] = sql.execute("SELECT value FROM facts WHERE name = ?", (counter,)).fetchall()
    sql.execute("UPDATE facts SET value = ? WHERE name = ?", (str(int(number) + 1), counter))
    return f"u{number}"


def _write(sql: sqlite3.Connection, namespaces: Iterable[Namespace]) -> None:
    for each in namespaces:
        values = (each.kind, each.id, each.name, each.database)
        sql.execute("INSERT OR REPLACE INTO namespaces VALUES (?, ?, ?, ?)", values)
