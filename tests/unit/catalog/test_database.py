"""A data directory belongs to one process at a time, and what it was told is all there or not at all."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.catalog.database import Database
from tailrace.errors import ObjectInUse

OPEN = """
import sys
from pathlib import Path
from tailrace.catalog.database import Database
from tailrace.errors import ObjectInUse
try:
    Database(Path(sys.argv[1])).close()
except ObjectInUse as error:
    print(error.sqlstate, error.detail)
"""


def opened_elsewhere(directory: Path) -> str:
    """What another process says when it opens the directory: nothing if it may."""
    run = subprocess.run([sys.executable, "-c", OPEN, str(directory)], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def test_a_second_process_cannot_open_the_directory(tmp_path: Path) -> None:
    database = Database(tmp_path)
    assert opened_elsewhere(tmp_path) == f"55006 Process {os.getpid()} has it open."
    database.close()
    assert opened_elsewhere(tmp_path) == ""


def test_not_even_the_same_process_opens_it_twice(tmp_path: Path) -> None:
    database = Database(tmp_path)
    with pytest.raises(ObjectInUse, match="is in use"):
        Database(tmp_path)
    database.close()
    Database(tmp_path).close()


def test_a_transaction_is_all_or_nothing(tmp_path: Path) -> None:
    database = Database(tmp_path)
    with database.transaction() as sql:
        sql.execute("INSERT INTO ticks VALUES (1)")
    with pytest.raises(sqlite3.IntegrityError), database.transaction() as sql:
        sql.executemany("INSERT INTO ticks VALUES (?)", [(2,), (1,)])
    database.close()
    database = Database(tmp_path)
    with database.transaction() as sql:
        assert sql.execute("SELECT t FROM ticks").fetchall() == [(1,)]
    database.close()


def test_a_fact_is_decided_once(tmp_path: Path) -> None:
    database = Database(tmp_path)
    region = database.region
    assert database.fact("color", "red") == "red"
    assert database.fact("color", "blue") == "red"
    database.close()
    database = Database(tmp_path)
    assert database.region == region
    database.close()


def test_nobody_else_may_read_the_file(tmp_path: Path) -> None:
    Database(tmp_path).close()
    assert stat.S_IMODE((tmp_path / "tailrace.db").stat().st_mode) == 0o600
