"""asyncpg: everything in binary, statements prepared, cursors, COPY, cancel by time-out, a pool that resets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import asyncpg
import pytest
from asyncpg.types import Range

from clients.values import VALUES


def run(dsn: str, work: Callable[[Any], Awaitable[Any]]) -> Any:
    async def connected() -> Any:
        connection = await asyncpg.connect(dsn)
        try:
            return await work(connection)
        finally:
            await connection.close()

    return asyncio.run(connected())


def test_parameters_of_every_type_go_in_and_come_back(dsn: str) -> None:
    async def work(connection: Any) -> Any:
        columns = ", ".join(f"c{i} {type}" for i, type in enumerate(VALUES))
        await connection.execute(f"CREATE TABLE asyncpg_values ({columns}, j jsonb)")
        marks = ", ".join(f"${i + 1}" for i in range(len(VALUES) + 1))
        values = [*VALUES.values(), json.dumps({"a": [1, None]})]
        assert await connection.execute(f"INSERT INTO asyncpg_values VALUES ({marks})", *values) == "INSERT 0 1"
        for type, value in VALUES.items():
            found = await connection.fetchrow(f"SELECT $1::{type}, $2::{type}", value, None)
            assert tuple(found) == (value, None), type
        return await connection.fetchrow("SELECT * FROM asyncpg_values WHERE c0 = $1", True)

    *values, document = run(dsn, work)
    assert values == list(VALUES.values())
    assert json.loads(document) == {"a": [1, None]}


def test_arrays_are_asked_about_once_and_then_taken_by_any_statement(dsn: str) -> None:
    async def work(connection: Any) -> None:
        await connection.execute("CREATE TABLE asyncpg_arrays (k int, n int[], t text[])")
        rows = [(k, list(range(k)), [str(i) for i in range(k)]) for k in range(4)]
        await connection.executemany("INSERT INTO asyncpg_arrays VALUES ($1, $2, $3)", rows)
        found = await connection.fetch("SELECT k, n, t FROM asyncpg_arrays WHERE k = ANY($1::int[]) ORDER BY k", [1, 3])
        assert [tuple(row) for row in found] == [rows[1], rows[3]]
        assert await connection.fetchval("SELECT array_agg(k ORDER BY k) FROM asyncpg_arrays") == [0, 1, 2, 3]

    run(dsn, work)


def test_ranges_are_learnt_from_the_catalog(dsn: str) -> None:
    moment = datetime(2024, 7, 3, 18, 43, tzinfo=UTC)
    ranges = {
        "int4range": Range(1, 5),
        "numrange": Range(Decimal("1.5"), None, lower_inc=False),
        "tstzrange": Range(None, moment, upper_inc=True),
        "daterange": Range(empty=True),
    }

    async def work(connection: Any) -> None:
        for type, value in ranges.items():
            assert await connection.fetchval(f"SELECT $1::{type}", value) == value, type
        await connection.execute("CREATE TABLE asyncpg_ranges (r int4range)")
        await connection.execute("INSERT INTO asyncpg_ranges VALUES ($1)", Range(1, 5))
        assert await connection.fetchval("SELECT r FROM asyncpg_ranges WHERE r @> $1::int", 4) == Range(1, 5)
        kinds = "SELECT typtype, typname FROM pg_type WHERE typtype = ANY($1) AND typname = 'int4range'"
        assert tuple(await connection.fetchrow(kinds, [b"r"])) == (b"r", "int4range")

    run(dsn, work)


def test_cursors_and_transactions(dsn: str) -> None:
    async def work(connection: Any) -> None:
        await connection.execute("CREATE TABLE asyncpg_block (k int)")
        async with connection.transaction():
            await connection.executemany("INSERT INTO asyncpg_block VALUES ($1)", [(k,) for k in range(5)])
        failing = connection.transaction()
        await failing.start()
        await connection.execute("INSERT INTO asyncpg_block VALUES (99)")
        with pytest.raises(asyncpg.UndefinedColumnError):
            await connection.fetch("SELECT nope")
        with pytest.raises(asyncpg.InFailedSQLTransactionError):
            await connection.fetch("SELECT 1")
        await failing.rollback()
        assert await connection.fetchval("SELECT sum(k) FROM asyncpg_block") == 10
        async with connection.transaction():
            cursor = await connection.cursor("SELECT n FROM generate_series(1, 100) AS n ORDER BY n")
            assert [row["n"] for row in await cursor.fetch(3)] == [1, 2, 3]
            assert (await cursor.fetchrow())["n"] == 4

    run(dsn, work)


def test_subscribe_by_cursor_and_by_portal(dsn: str) -> None:
    async def work(connection: Any) -> None:
        writer = await asyncpg.connect(dsn)
        await connection.execute("CREATE TABLE asyncpg_followed (k int)")
        async with connection.transaction():
            following = await connection.cursor("SUBSCRIBE asyncpg_followed")
            await writer.execute("INSERT INTO asyncpg_followed VALUES (1)")
            assert (await following.fetchrow())["k"] == 1
        async with connection.transaction():
            await connection.execute("DECLARE c CURSOR FOR SUBSCRIBE asyncpg_followed")
            assert [row["k"] for row in await connection.fetch("FETCH 1 c")] == [1]
        await writer.close()

    run(dsn, work)


def test_errors_time_outs_and_copy(dsn: str) -> None:
    async def work(connection: Any) -> None:
        with pytest.raises(asyncpg.UndefinedColumnError) as caught:
            await connection.fetch("SELECT itm FROM mz_objects")
        assert caught.value.position == "8"
        with pytest.raises(asyncpg.DivisionByZeroError):
            await connection.fetch("SELECT 1 / $1::int", 0)
        await connection.execute("CREATE TABLE asyncpg_copied (k int, v text)")
        with pytest.raises(asyncio.TimeoutError):
            await connection.fetch("SUBSCRIBE asyncpg_copied", timeout=0.3)
        records = [(1, "one"), (2, None)]
        assert await connection.copy_records_to_table("asyncpg_copied", records=records) == "COPY 2"
        found = await connection.fetch("SELECT k, v FROM asyncpg_copied ORDER BY k")
        assert [tuple(row) for row in found] == records

    run(dsn, work)


def test_a_pool_resets_what_it_lends(dsn: str) -> None:
    async def work() -> None:
        async with asyncpg.create_pool(dsn, min_size=1, max_size=1) as pool:
            await pool.execute("SET application_name = 'borrowed'")
            assert await pool.fetchval("SHOW application_name") == ""

    asyncio.run(work())
