"""Transactions as Materialize allows them: reads of one time, or inserts that appear together, or definitions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import psycopg
import pytest

from tailrace.server.listener import Server

_names = itertools.count(1)


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection]:
    dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


@pytest.fixture
def other(server: Server) -> Iterator[psycopg.Connection]:
    dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


@pytest.fixture
def table(other: psycopg.Connection) -> str:
    name = f"x{next(_names)}"
    other.execute(f"CREATE TABLE {name} (k int)".encode())
    return name


def count(connection: psycopg.Connection, table: str) -> int:
    [(found,)] = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchall()
    return int(found)


def test_all_reads_of_a_transaction_see_one_time(
    connection: psycopg.Connection, other: psycopg.Connection, table: str
) -> None:
    connection.execute("BEGIN")
    assert count(connection, table) == 0
    other.execute(f"INSERT INTO {table} VALUES (1)".encode())
    assert count(other, table) == 1
    assert count(connection, table) == 0
    connection.execute("COMMIT")
    assert count(connection, table) == 1


def test_inserts_appear_together_at_the_end(
    connection: psycopg.Connection, other: psycopg.Connection, table: str
) -> None:
    connection.execute("BEGIN")
    connection.execute(f"INSERT INTO {table} VALUES (1)".encode())
    connection.execute(f"INSERT INTO {table} VALUES (%s), (3)".encode(), (2,))
    assert count(other, table) == 0
    connection.execute("COMMIT")
    assert count(other, table) == 3


def test_what_was_rolled_back_never_was(connection: psycopg.Connection, other: psycopg.Connection, table: str) -> None:
    connection.execute("BEGIN")
    connection.execute(f"INSERT INTO {table} VALUES (1)".encode())
    connection.execute("SAVEPOINT s")
    connection.execute(f"INSERT INTO {table} VALUES (2)".encode())
    connection.execute("ROLLBACK TO SAVEPOINT s")
    connection.execute("COMMIT")
    assert other.execute(f"SELECT k FROM {table}".encode()).fetchall() == [(1,)]
    connection.execute("BEGIN")
    connection.execute(f"INSERT INTO {table} VALUES (3)".encode())
    with pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute("SELECT 1 / 0")
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        connection.execute("SELECT 1")
    connection.execute("COMMIT")
    assert count(other, table) == 1


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        ("SELECT * FROM {}", "INSERT INTO {} VALUES (1)", psycopg.errors.ReadOnlySqlTransaction),
        ("INSERT INTO {} VALUES (1)", "SELECT * FROM {}", psycopg.errors.ActiveSqlTransaction),
        ("INSERT INTO {} VALUES (1)", "DELETE FROM {}", psycopg.errors.ActiveSqlTransaction),
        ("INSERT INTO {} VALUES (1)", "CREATE TABLE other (k int)", psycopg.errors.ActiveSqlTransaction),
        ("SELECT 1", "UPDATE {} SET k = 2", psycopg.errors.ActiveSqlTransaction),
    ],
)
def test_a_transaction_is_of_one_kind(
    connection: psycopg.Connection, table: str, first: str, second: str, error: type[psycopg.Error]
) -> None:
    connection.execute("BEGIN")
    connection.execute(first.format(table).encode())
    with pytest.raises(error):
        connection.execute(second.format(table).encode())
    connection.execute("ROLLBACK")


def test_definitions_cannot_be_undone_and_say_so(connection: psycopg.Connection, table: str) -> None:
    heard: list[str] = []
    connection.add_notice_handler(lambda notice: heard.append(str(notice.message_primary)))
    connection.execute("BEGIN")
    connection.execute(f"CREATE VIEW v_{table} AS SELECT * FROM {table}".encode())
    connection.execute("ROLLBACK")
    assert heard == ["objects were changed in this transaction, which cannot be undone"]
    assert count(connection, f"v_{table}") == 0


def test_begin_and_commit_out_of_place_are_warned_of(connection: psycopg.Connection) -> None:
    heard: list[str] = []
    connection.add_notice_handler(lambda notice: heard.append(f"{notice.severity}: {notice.message_primary}"))
    connection.execute("COMMIT")
    connection.execute("BEGIN")
    connection.execute("BEGIN")
    connection.execute("ROLLBACK")
    assert heard == [
        "WARNING: there is no transaction in progress",
        "WARNING: there is already a transaction in progress",
    ]
    with pytest.raises(psycopg.errors.NoActiveSqlTransaction):
        connection.execute("SAVEPOINT s")


def test_statements_are_prepared_by_name(connection: psycopg.Connection, table: str) -> None:
    connection.execute(f"PREPARE put (int) AS INSERT INTO {table} VALUES ($1)".encode())
    connection.execute("EXECUTE put (3 + 4)")
    connection.execute(f"PREPARE look AS SELECT k + $1::int FROM {table}".encode())
    assert connection.execute("EXECUTE look (1)").fetchall() == [(8,)]
    with pytest.raises(psycopg.errors.DuplicatePreparedStatement):
        connection.execute("PREPARE look AS SELECT 1")
    with pytest.raises(psycopg.errors.SyntaxError, match="wrong number of parameters"):
        connection.execute("EXECUTE look")
    connection.execute("DEALLOCATE look")
    with pytest.raises(psycopg.errors.InvalidSqlStatementName):
        connection.execute("EXECUTE look (1)")
    connection.execute("DISCARD ALL")
    with pytest.raises(psycopg.errors.InvalidSqlStatementName):
        connection.execute("EXECUTE put (1)")


def test_the_statements_of_one_string_are_one_transaction(connection: psycopg.Connection, table: str) -> None:
    insert = f"INSERT INTO {table} VALUES"
    with pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute(f"{insert} (1); {insert} (2); SELECT 1 / 0".encode())
    assert count(connection, table) == 0
    connection.execute(f"{insert} (1); {insert} (2)".encode())
    assert count(connection, table) == 2
    # What reads comes after what was written before it.
    cursor = connection.execute(f"{insert} (3); SELECT count(*) FROM {table}; DELETE FROM {table} WHERE k = 1".encode())
    assert cursor.nextset()
    assert cursor.fetchall() == [(3,)]
    assert count(connection, table) == 2
    connection.execute(f"BEGIN; {insert} (9); ROLLBACK".encode())
    assert count(connection, table) == 2
