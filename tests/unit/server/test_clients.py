"""Real clients: psycopg in text and binary, asyncpg, psql.  They know the protocol better than we do."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import asyncpg
import psycopg
import pytest
from psycopg.types.json import Jsonb

from unit.server.conftest import PATIENCE, Running

# cast, the Python value, and the one that comes back if it is another
VALUES: list[tuple[str, Any, Any]] = [
    ("bool", True, True),
    ("int2", -5, -5),
    ("int4", 2**31 - 1, 2**31 - 1),
    ("int8", -(2**63), -(2**63)),
    ("float4", 1.5, 1.5),
    ("float8", 1e300, 1e300),
    ("numeric", Decimal("-12345.678900"), Decimal("-12345.6789")),
    ("text", 'é "x" \\', 'é "x" \\'),
    ("varchar", "", ""),
    ("bytea", b"\0\xff", b"\0\xff"),
    ("date", date(2024, 7, 3), date(2024, 7, 3)),
    ("time", time(18, 43, 5, 312456), time(18, 43, 5, 312456)),
    ("timestamp", datetime(1999, 12, 31, 23, 59, 59, 1), datetime(1999, 12, 31, 23, 59, 59, 1)),  # noqa: DTZ001
    ("timestamptz", datetime(2024, 7, 3, tzinfo=UTC), datetime(2024, 7, 3, tzinfo=UTC)),
    ("interval", timedelta(days=3, seconds=5, microseconds=7), timedelta(days=3, seconds=5, microseconds=7)),
    ("uuid", UUID(int=1), UUID(int=1)),
    ("int4[]", [1, None, 3], [1, None, 3]),
    ("text[]", ["a", None, "x y"], ["a", None, "x y"]),
]
IDS = [cast for cast, _, _ in VALUES]


@pytest.fixture
def psycopg_connection(running: Running) -> Iterator[psycopg.Connection]:
    with psycopg.connect(running.url, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
@pytest.mark.parametrize(("cast", "value", "expected"), VALUES, ids=IDS)
def test_psycopg_gets_back_what_it_sends(
    psycopg_connection: psycopg.Connection, cast: str, value: Any, expected: Any, binary: bool
) -> None:
    mark = "%b" if binary else "%t"
    cursor = psycopg_connection.execute(
        f"select {mark}::{cast}, {mark}::{cast}", (value, None), binary=binary
    )
    assert cursor.fetchall() == [(expected, None)]


def test_psycopg_reads_json(psycopg_connection: psycopg.Connection) -> None:
    for binary in (False, True):
        cursor = psycopg_connection.execute("select %s::jsonb", (Jsonb({"a": [1]}),), binary=binary)
        assert cursor.fetchone() == ({"a": [1]},)


# Of int4[] asyncpg first asks pg_type what it is: that takes a catalog.
@pytest.mark.parametrize(("cast", "value", "expected"), [v for v in VALUES if v[0] != "int4[]"])
def test_asyncpg_gets_back_what_it_sends(running: Running, cast: str, value: Any, expected: Any) -> None:
    async def echo() -> list[Any]:
        connection = await asyncpg.connect(running.url, timeout=PATIENCE)
        try:
            return list(await connection.fetchrow(f"select $1::{cast}, $2::{cast}", value, None))
        finally:
            await connection.close()

    assert asyncio.run(echo()) == [expected, None]


def test_psycopg_knows_the_server_and_its_types(psycopg_connection: psycopg.Connection) -> None:
    assert psycopg_connection.info.parameter_status("server_version") == "9.5.0"
    assert psycopg_connection.info.encoding == "utf-8"
    cursor = psycopg_connection.execute("select %s::numeric", (1,))
    assert cursor.description is not None
    assert [(column.name, column.type_code) for column in cursor.description] == [("c0", 1700)]


def test_psycopg_gets_errors_with_all_their_fields(psycopg_connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero) as caught:
        psycopg_connection.execute("fail")
    told = caught.value.diag
    assert (told.message_primary, told.message_detail, told.message_hint) == (
        "it failed",
        "Because.",
        "Do not.",
    )
    assert told.statement_position == "1"
    assert psycopg_connection.execute("select 1").fetchone() == (1,)


def test_psycopg_gets_notices(psycopg_connection: psycopg.Connection) -> None:
    heard: list[str | None] = []
    psycopg_connection.add_notice_handler(lambda told: heard.append(told.message_primary))
    psycopg_connection.execute("notify")
    assert heard == ["be warned"]


def test_psycopg_transactions_fail_and_recover(running: Running) -> None:
    with psycopg.connect(running.url) as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute("fail")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("select 1")
        connection.rollback()
        assert connection.execute("select 2").fetchone() == (2,)
    assert running.sessions[0].executed[-1].lower() == "commit"


def test_psycopg_prepares_pipelines_and_runs_many(psycopg_connection: psycopg.Connection) -> None:
    for i in range(10):  # prepared on the server from the sixth time on
        assert psycopg_connection.execute("select %s::int8", (i,)).fetchone() == (i,)
    with psycopg_connection.pipeline():
        cursors = [psycopg_connection.execute("select %s::int8", (i,)) for i in range(20)]
    assert [cursor.fetchone() for cursor in cursors] == [(i,) for i in range(20)]
    psycopg_connection.cursor().executemany("insert %s::int8", [(i,) for i in range(20)])
    psycopg_connection.prepare_threshold = 0
    psycopg_connection.prepared_max = 1
    for text in ("select %s::int8", "select %s::int4", "select %s::int2"):  # each drops the one before
        assert psycopg_connection.execute(text, (1,)).fetchone() == (1,)


def test_psycopg_runs_several_statements_in_one_string(psycopg_connection: psycopg.Connection) -> None:
    cursor = psycopg_connection.execute("select 1; insert x; select 2")
    assert cursor.fetchall() == [(1,)]
    assert cursor.nextset()
    assert cursor.statusmessage == "INSERT 0 1"
    assert cursor.nextset()
    assert cursor.fetchall() == [(2,)]


def test_psycopg_streams_rows_as_they_come(psycopg_connection: psycopg.Connection, running: Running) -> None:
    rows = psycopg_connection.cursor().stream("forever")
    assert [next(rows), next(rows)] == [(0,), (1,)]
    psycopg_connection.cancel_safe(timeout=PATIENCE)
    with pytest.raises(psycopg.errors.QueryCanceled):
        next(rows)
    assert psycopg_connection.execute("select 1").fetchone() == (1,)


def test_psycopg_reads_large_results(psycopg_connection: psycopg.Connection) -> None:
    cursor = psycopg_connection.execute("numbers 200000 50000")
    assert cursor.rowcount == 200_000
    assert sum(n for (n,) in cursor) == sum(range(200_000))


@pytest.mark.parametrize("style", ["text", "csv", "binary"])
def test_psycopg_copies_out(psycopg_connection: psycopg.Connection, style: str) -> None:
    with psycopg_connection.cursor().copy(f"copy {style}") as copy:
        if style == "csv":
            assert b"".join(copy) == b'1,a\tb\n2,\n3,"q""x,"\n'
        else:
            copy.set_types(["int4", "text"])
            assert list(copy.rows()) == [(1, "a\tb"), (2, None), (3, 'q"x,')]


def test_asyncpg_has_cursors_transactions_and_cancels(running: Running) -> None:
    async def use() -> None:
        connection = await asyncpg.connect(running.url, timeout=PATIENCE, server_settings={"jit": "off"})
        async with connection.transaction():
            cursor = await connection.cursor("numbers 10 5")
            assert [r["n"] for r in await cursor.fetch(3)] == [0, 1, 2]
            assert [r["n"] for r in await cursor.fetch(100)] == [3, 4, 5, 6, 7, 8, 9]
        statement = await connection.prepare("select $1::int4")
        assert [await statement.fetchval(i) for i in range(3)] == [0, 1, 2]
        with pytest.raises(asyncpg.DivisionByZeroError):
            await connection.execute("fail")
        with pytest.raises(asyncpg.DivisionByZeroError):
            await connection.fetch("fail")
        await connection.executemany("insert $1::int4", [(1,), (2,)])
        with pytest.raises(TimeoutError):
            await connection.fetch("sleep", timeout=0.05)
        assert await connection.fetchval("select 5") == 5
        await connection.close()

    asyncio.run(use())


def psql(running: Running, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    command = ["psql", "-X", "-A", "-t", running.url, *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not on PATH")
def test_psql_runs_a_script(running: Running) -> None:
    script = (
        "select 1; select 2;\nbegin;\nfail;\nselect 3;\nrollback;\n"
        "notify;\ncopy csv;\n\\echo :ENCODING\nshow TimeZone;\n"
    )
    said = psql(running, text=script)
    assert said.stdout.split("\n") == [
        *("1", "2", "BEGIN", "ROLLBACK", "NOTIFY", "1,a\tb", "2,", '3,"q""x,"', "UTF8", "UTC", "")
    ]
    assert "ERROR:  it failed\nLINE 1: fail;\n        ^\nDETAIL:  Because.\nHINT:  Do not.\n" in said.stderr
    assert "current transaction is aborted" in said.stderr
    assert "WARNING:  be warned\nHINT:  Look.\n" in said.stderr


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not on PATH")
def test_psql_points_at_the_mistake_within_a_longer_text(running: Running) -> None:
    said = psql(running, "-c", "select 1; selec 2")
    assert said.stdout == "1\n"
    assert "LINE 1: select 1; selec 2\n                  ^\n" in said.stderr
