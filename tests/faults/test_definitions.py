"""Definitions that change several objects at once: after a death in their middle it is all of them, or none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tailrace.testing.engine_process import EngineProcess

OBJECTS = """
CREATE SCHEMA x;
CREATE TABLE x.bids (item int, price int);
CREATE VIEW x.dear AS SELECT * FROM x.bids WHERE price > 10;
CREATE MATERIALIZED VIEW x.kept AS SELECT * FROM x.dear;
CREATE MATERIALIZED VIEW total AS SELECT sum(price) AS price FROM x.bids;
"""
DONE = {"ddl.before_commit": False, "ddl.after_commit": True}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EngineProcess]:
    with EngineProcess(tmp_path / "data", tmp_path / "engine.log", "--master", "local[2]") as process:
        process.start()
        with process.connect() as connection:
            connection.execute(OBJECTS)
            connection.execute("INSERT INTO x.bids VALUES (1, 30), (2, 5)")
            assert rows(connection, "SELECT * FROM total") == [(35,)]
        process.stop()
        yield process


def die_at(engine: EngineProcess, point: str, statement: str) -> None:
    """The statement is the first to pass the point after a start."""
    engine.start(TAILRACE_CRASH=point)
    with engine.connect() as connection, pytest.raises(psycopg.OperationalError):
        connection.execute(statement.encode())
    engine.wait_until_dead()
    engine.start()


def rows(connection: psycopg.Connection, query: str) -> list[tuple[object, ...]]:
    return sorted(connection.execute(query.encode()).fetchall(), key=repr)


@pytest.mark.parametrize("point", DONE)
def test_a_column_is_there_for_everybody_or_for_nobody_after_dying_at(point: str, engine: EngineProcess) -> None:
    die_at(engine, point, "ALTER TABLE x.bids ADD COLUMN note text")
    with engine.connect() as connection:
        if not DONE[point]:
            assert rows(connection, "SELECT * FROM x.bids") == [(1, 30), (2, 5)]
            connection.execute("ALTER TABLE x.bids ADD COLUMN note text")
        assert rows(connection, "SELECT * FROM x.bids") == [(1, 30, None), (2, 5, None)]
        connection.execute("INSERT INTO x.bids VALUES (3, 40, 'new')")
        connection.execute("DELETE FROM x.bids WHERE item = 1")
        connection.execute("CREATE MATERIALIZED VIEW noted AS SELECT * FROM x.bids")
    engine.start()  # kill -9 once more: the rows of both widths are in the log
    with engine.connect() as connection:
        assert rows(connection, "SELECT * FROM noted") == [(2, 5, None), (3, 40, "new")]
        assert rows(connection, "SELECT * FROM x.kept") == rows(connection, "SELECT * FROM x.dear") == [(3, 40)]
        assert rows(connection, "SELECT * FROM total") == [(45,)]


@pytest.mark.parametrize("point", DONE)
def test_a_schema_is_renamed_wholly_or_not_at_all_after_dying_at(point: str, engine: EngineProcess) -> None:
    die_at(engine, point, "ALTER SCHEMA x RENAME TO y")
    name, gone = ("y", "x") if DONE[point] else ("x", "y")
    with engine.connect() as connection:
        with pytest.raises(psycopg.errors.InvalidSchemaName):
            connection.execute(f"SELECT * FROM {gone}.bids".encode())
        connection.execute(f"INSERT INTO {name}.bids VALUES (3, 40)".encode())
        assert rows(connection, f"SELECT * FROM {name}.kept") == [(1, 30), (3, 40)]
        assert rows(connection, "SELECT * FROM total") == [(75,)]
