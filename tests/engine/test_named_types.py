"""CREATE TYPE: names for lists, maps and records, in columns and casts, and what depends on them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import psycopg
import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.server.listener import Server

TYPES = """
CREATE TYPE numbers AS LIST (ELEMENT TYPE = int);
CREATE TYPE tags AS MAP (KEY TYPE = text, VALUE TYPE = text);
CREATE TYPE point AS (x int, y double precision);
CREATE TYPE path AS LIST (ELEMENT TYPE = point);
"""


@pytest.fixture(scope="module", autouse=True)
def types(engine: Engine) -> None:
    engine.sql(TYPES)
    engine.sql("CREATE TABLE drawn (k int, n numbers, t tags, p point, q path)")


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection]:
    dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


def test_columns_and_casts_are_of_the_named_type(connection: psycopg.Connection) -> None:
    connection.execute("INSERT INTO drawn VALUES (1, '{1,2}', '{a=>b}', '(3,0.5)', LIST['(1,1)'::point])")
    connection.execute("INSERT INTO drawn VALUES (2, %s, NULL, ROW(4, 1), NULL)", ("{7}",))
    query = "SELECT n, t, p, (p).y, list_length(q) FROM drawn ORDER BY k"
    assert connection.execute(query).fetchall() == [
        ("{1,2}", "{a=>b}", "(3,0.5)", 0.5, 1),
        ("{7}", None, "(4,1)", 1.0, None),
    ]
    casts = "SELECT ('(1,2)'::point).x, '{1}'::numbers, pg_typeof(n) FROM drawn LIMIT 1"
    assert connection.execute(casts).fetchone() == (1, "{1}", "numbers")


def test_the_catalog_knows_them(connection: psycopg.Connection) -> None:
    shown = connection.execute("SELECT name FROM (SHOW TYPES) ORDER BY 1").fetchall()
    assert shown == [("numbers",), ("path",), ("point",), ("tags",)]
    created = connection.execute("SHOW CREATE TYPE path").fetchone()
    assert created == (
        "materialize.public.path",
        "CREATE TYPE materialize.public.path AS LIST (ELEMENT TYPE = point);",
    )
    types = "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'drawn'::regclass"
    assert connection.execute(types + " ORDER BY attnum").fetchall() == [
        ("k", "integer"), ("n", "numbers"), ("t", "tags"), ("p", "point"), ("q", "path"),
    ]  # fmt: skip
    kinds = "SELECT typname, typtype, typcategory FROM pg_type WHERE oid >= 20000 AND typelem = 0 ORDER BY 1"
    assert connection.execute(kinds).fetchall() == [
        ("numbers", "b", "U"), ("path", "b", "U"), ("point", "c", "C"), ("tags", "b", "U"),
    ]  # fmt: skip
    connection.execute("COMMENT ON TYPE point IS 'in the plane'; COMMENT ON COLUMN point.x IS 'to the right'")
    comments = "SELECT object_type, object_sub_id, comment FROM mz_internal.mz_comments ORDER BY 2"
    assert connection.execute(comments).fetchall() == [("type", 1, "to the right"), ("type", None, "in the plane")]


def test_asyncpg_reads_and_sends_records(server: Server) -> None:
    async def work() -> None:
        connection = await asyncpg.connect(f"postgresql://materialize@127.0.0.1:{server.port}/materialize")
        try:
            found = await connection.fetchval("SELECT '(3,0.5)'::point")
            assert (found["x"], found["y"]) == (3, 0.5)
            sent = await connection.fetchrow("SELECT ($1::point).x, ($1::point).y IS NULL", (7, None))
            assert tuple(sent) == (7, True)
        finally:
            await connection.close()

    asyncio.run(work())


def test_what_is_used_cannot_be_dropped(connection: psycopg.Connection) -> None:
    connection.execute("CREATE VIEW casting AS SELECT '{1}'::numbers AS n")
    for statement in ("DROP TYPE point", "DROP TYPE numbers", "DROP TYPE tags RESTRICT"):
        with pytest.raises(psycopg.errors.DependentObjectsStillExist):
            connection.execute(statement)
    with pytest.raises(psycopg.errors.DependentObjectsStillExist, match="is made of it"):
        connection.execute("ALTER TYPE tags RENAME TO labels")
    with pytest.raises(psycopg.errors.UndefinedObject) as caught:
        connection.execute("CREATE TABLE wrong (p points)")
    assert caught.value.diag.statement_position == "23"
    connection.execute("CREATE TYPE brief AS LIST (ELEMENT TYPE = text); ALTER TYPE brief RENAME TO short")
    connection.execute("DROP TYPE short; DROP TYPE IF EXISTS short")


@pytest.mark.slow
def test_they_survive_a_restart_and_a_cascade(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark, tmp_path) as engine:
        engine.sql(TYPES)
        engine.sql("CREATE TABLE t (p point, q path)")
        engine.sql("CREATE MATERIALIZED VIEW v AS SELECT (p).x AS x, '{1}'::numbers AS n FROM t")
        engine.sql("INSERT INTO t VALUES ('(1,2)', NULL)")
    with Engine(spark, tmp_path) as engine:
        answer = engine.sql("SELECT x, n FROM v")
        assert answer is not None
        assert answer.to_pylist() == [{"x": 1, "n": [1]}]
        engine.sql("DROP TYPE point CASCADE")
        assert [item.name.item for item in engine.catalog.items.values() if item.id.startswith("u")] == [
            *("numbers", "tags"),
        ]
