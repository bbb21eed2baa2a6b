"""psycopg 3: sync, async, binary, prepared, pipelined, server cursors, COPY, cancel."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from clients.values import COLUMNS, VALUES

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def connection(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


@pytest.mark.parametrize("form", ["text", "binary"])
def test_parameters_of_every_type_go_in_and_come_back(connection: Connection, form: str) -> None:
    mark, binary = ("%b", True) if form == "binary" else ("%t", False)
    connection.execute(f"CREATE TABLE psycopg_{form} ({COLUMNS}, j jsonb)".encode())
    marks = ", ".join([mark] * len(VALUES))
    values = [*VALUES.values(), Jsonb({"a": [1, None]})]
    connection.execute(f"INSERT INTO psycopg_{form} VALUES ({marks}, %s)".encode(), values)
    query = f"SELECT * FROM psycopg_{form} WHERE c0 = {mark}"
    [row] = connection.execute(query.encode(), (True,), binary=binary).fetchall()
    assert row == (*VALUES.values(), {"a": [1, None]})
    for type, value in VALUES.items():
        answer = connection.execute(f"SELECT {mark}::{type}, {mark}::{type}".encode(), (value, None), binary=binary)
        assert answer.fetchone() == (value, None), type


def test_many_prepared_and_pipelined_statements(connection: Connection) -> None:
    connection.execute("CREATE TABLE psycopg_many (k int, v text)")
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO psycopg_many VALUES (%s, %s)", [(k, f"v{k}") for k in range(12)])
    for k in range(8):  # prepared from the fifth time on
        assert connection.execute("SELECT v FROM psycopg_many WHERE k = %s", (k,)).fetchone() == (f"v{k}",)
    with connection.pipeline():
        first = connection.execute("SELECT count(*) FROM psycopg_many")
        second = connection.execute("SELECT %s::int + 1", (1,))
        assert (first.fetchone(), second.fetchone()) == ((12,), (2,))
    with connection.pipeline():
        failing = connection.execute("SELECT nope")
        with pytest.raises(psycopg.errors.UndefinedColumn):
            failing.fetchone()
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_server_side_cursor_goes_through_rows_and_a_subscription(dsn: str, connection: Connection) -> None:
    connection.execute("CREATE TABLE psycopg_followed (k int)")
    connection.execute("INSERT INTO psycopg_followed VALUES (1)")
    with psycopg.connect(dsn) as reader:
        with reader.cursor("rows") as rows:
            rows.itersize = 30
            rows.execute("SELECT n FROM generate_series(1, %s::int) AS n ORDER BY n", (100,))
            assert rows.fetchone() == (1,)
            assert rows.fetchmany(3) == [(2,), (3,), (4,)]
            assert sum(n for (n,) in rows) == 5050 - 10
        reader.commit()
        with reader.cursor("following") as following:
            following.execute("SUBSCRIBE psycopg_followed")
            assert following.fetchmany(1)[0][1:] == (1, 1)
            connection.execute("INSERT INTO psycopg_followed VALUES (2)")
            assert following.fetchmany(1)[0][1:] == (1, 2)


@pytest.mark.parametrize("form", ["text", "binary"])
def test_copy_goes_in_and_out(connection: Connection, form: str) -> None:
    connection.execute(f"CREATE TABLE psycopg_copy_{form} (k int, v text, d date)".encode())
    rows = [(1, "one\t\\", VALUES["date"]), (2, None, None)]
    with connection.cursor().copy(f"COPY psycopg_copy_{form} FROM STDIN".encode()) as copy:
        for row in rows:
            copy.write_row(row)
    out = f"COPY (SELECT * FROM psycopg_copy_{form} ORDER BY k) TO STDOUT WITH (FORMAT {form})"
    with connection.cursor().copy(out.encode()) as copy:
        copy.set_types(["int4", "text", "date"])
        assert list(copy.rows()) == rows


def test_a_subscription_streams_until_it_is_cancelled(dsn: str, connection: Connection) -> None:
    connection.execute("CREATE TABLE psycopg_streamed (k int)")
    connection.execute("INSERT INTO psycopg_streamed VALUES (1), (2)")
    with psycopg.connect(dsn, autocommit=True) as reader:
        rows = reader.cursor().stream("SUBSCRIBE psycopg_streamed")
        assert sorted(next(rows)[2] for _ in range(2)) == [1, 2]
        threading.Timer(0.1, reader.cancel_safe).start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            next(rows)
        assert reader.execute("SELECT 1").fetchone() == (1,)


def test_asynchronous_connections_run_beside_each_other(dsn: str) -> None:
    async def ask(n: int) -> Any:
        async with await psycopg.AsyncConnection.connect(dsn) as connection:
            await connection.execute("SELECT pg_backend_pid()")
            return await (await connection.execute("SELECT %s::int * 2", (n,))).fetchone()

    async def all_of_them() -> list[Any]:
        return await asyncio.gather(*map(ask, range(20)))

    assert asyncio.run(all_of_them()) == [(2 * n,) for n in range(20)]
