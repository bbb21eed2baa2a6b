"""The SQLite file of a data directory: catalog, secrets, tick log and table rows, each change durable on return.

One process at a time: a lock file is held for as long as the directory is open.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailrace.errors import ObjectInUse

_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS items (
    id TEXT PRIMARY KEY, number INTEGER NOT NULL, kind TEXT NOT NULL, database TEXT NOT NULL, schema TEXT NOT NULL,
    name TEXT NOT NULL, create_sql TEXT NOT NULL, facts TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS namespaces (kind TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, database TEXT,
    PRIMARY KEY (kind, id));
CREATE TABLE IF NOT EXISTS secrets (id TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS comments (id TEXT NOT NULL, place INTEGER NOT NULL, comment TEXT NOT NULL,
    PRIMARY KEY (id, place));
CREATE TABLE IF NOT EXISTS roles (
    id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, login INTEGER NOT NULL, superuser INTEGER NOT NULL,
    inherit INTEGER NOT NULL, verifier TEXT);
CREATE TABLE IF NOT EXISTS role_settings (role TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (role, name));
CREATE TABLE IF NOT EXISTS role_members (role TEXT NOT NULL, member TEXT NOT NULL, PRIMARY KEY (role, member));
CREATE TABLE IF NOT EXISTS grants (role TEXT NOT NULL, privilege TEXT NOT NULL, object TEXT NOT NULL,
    PRIMARY KEY (role, privilege, object));
CREATE TABLE IF NOT EXISTS owners (id TEXT PRIMARY KEY, role TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS audit (id INTEGER PRIMARY KEY AUTOINCREMENT, event TEXT NOT NULL,
    object_type TEXT NOT NULL, details TEXT NOT NULL, role TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS clusters (id TEXT PRIMARY KEY, name TEXT NOT NULL, size TEXT, factor INTEGER NOT NULL,
    named TEXT);
CREATE TABLE IF NOT EXISTS status_history (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL,
    status TEXT NOT NULL, error TEXT, hint TEXT, sqlstate TEXT, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS ticks (t INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS positions (source TEXT NOT NULL, t INTEGER NOT NULL, offsets TEXT NOT NULL,
    PRIMARY KEY (source, t));
CREATE TABLE IF NOT EXISTS watermarks (source TEXT NOT NULL, t INTEGER NOT NULL, mark TEXT NOT NULL,
    PRIMARY KEY (source, t));
CREATE TABLE IF NOT EXISTS table_changes (relation TEXT NOT NULL, t INTEGER NOT NULL, rows BLOB NOT NULL,
    PRIMARY KEY (relation, t));
"""


FILE = "tailrace.db"


class Database:
    """Opens or makes `directory`/tailrace.db.  Thread-safe: one transaction at a time."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._lock_file = _claim(directory)
        self._lock = threading.RLock()
        path = directory / FILE
        path.touch(mode=0o600)  # secrets are in it
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.executescript(_SCHEMA)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; durable when the block has ended."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def fact(self, name: str, default: str) -> str:
        """A value that is decided once, at the first call, and then kept."""
        with self.transaction() as sql:
            sql.execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", (name, default))
            [[value]] = sql.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchall()
        return str(value)

    @property
    def region(self) -> str:
        """The id that names on the wire carry, so that two deployments never meet."""
        return self.fact("region", str(uuid.uuid4()))

    def close(self) -> None:
        with self._lock:
            self._connection.close()
            os.close(self._lock_file)


def _claim(directory: Path) -> int:
    handle = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(handle, 20).decode().strip() or "unknown"
        os.close(handle)
        raise ObjectInUse(
            f'data directory "{directory}" is in use',
            detail=f"Process {holder} has it open.",
            hint="Stop that process, or give this one another --data-dir.",
        ) from None
    os.ftruncate(handle, 0)
    os.write(handle, f"{os.getpid()}\n".encode())
    return handle


def temporary_directory() -> Path:
    return Path(tempfile.mkdtemp(prefix="tailrace-"))
