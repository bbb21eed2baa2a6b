"""Schemas and databases: where names are, who may look there, and that all of it is there after a restart."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.errors import SqlError
from tailrace.server.listener import Server

MADE = """
CREATE TABLE t (v int);
CREATE SCHEMA x;
SET search_path = x;
CREATE TYPE pair AS (a int, b int);
CREATE TABLE t (v int, p pair);
CREATE VIEW plain AS SELECT v, '(1,2)'::pair AS p, CAST('(3,4)' AS pair) AS q FROM t;
CREATE MATERIALIZED VIEW m AS WITH t AS (SELECT v FROM plain) SELECT t.v FROM t JOIN x.t AS u ON u.v = t.v;
CREATE INDEX by_v ON public.t (v);
CREATE SECRET hidden AS 'x';
INSERT INTO t VALUES (1, '(7,8)');
"""


def connected(server: Server, user: str = "materialize", database: str = "materialize") -> psycopg.Connection:
    dsn = f"host=127.0.0.1 port={server.port} user={user} dbname={database}"
    return psycopg.connect(dsn, autocommit=True)


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection]:
    with connected(server) as opened:
        yield opened


def rows(engine: Engine, query: str) -> list[dict[str, object]]:
    answer = engine.sql(query)
    return [] if answer is None else answer.to_pylist()


def test_what_was_made_with_a_path_is_the_same_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark, data_dir=tmp_path) as engine:
        for _ in engine.session().sql(MADE):
            pass
        engine.sql("CREATE SCHEMA y; ALTER SCHEMA y RENAME TO z; COMMENT ON SCHEMA z IS 'said'")
        engine.sql("CREATE DATABASE d; CREATE TABLE d.public.t (d int); INSERT INTO d.public.t VALUES (5)")
        engine.sql("CREATE MATERIALIZED VIEW z.far AS TABLE d.public.t")
        before = {str(item.name): (item.id, item.create_sql) for item in engine.catalog.items.values()}
        oids = rows(engine, "SELECT oid, nspname FROM pg_namespace ORDER BY 1")
        assert rows(engine, "SELECT v FROM x.m") == [{"v": 1}]
    assert before["materialize.x.m"][1] == (
        "CREATE MATERIALIZED VIEW materialize.x.m\nIN CLUSTER quickstart\n"
        "AS WITH t AS (SELECT v FROM materialize.x.plain) SELECT t.v FROM t JOIN x.t AS u ON u.v = t.v;"
    )
    assert "'(1,2)'::materialize.x.pair AS p, CAST('(3,4)' AS materialize.x.pair)" in before["materialize.x.plain"][1]
    with Engine(spark, data_dir=tmp_path) as engine:
        assert {str(item.name): (item.id, item.create_sql) for item in engine.catalog.items.values()} == before
        assert rows(engine, "SELECT oid, nspname FROM pg_namespace ORDER BY 1") == oids
        assert rows(engine, "SHOW SCHEMAS LIKE 'z'") == [{"name": "z", "comment": "said"}]
        engine.sql("INSERT INTO x.t VALUES (2, NULL); INSERT INTO d.public.t VALUES (6)")
        assert rows(engine, "SELECT v FROM x.m ORDER BY v") == [{"v": 1}, {"v": 2}]
        assert rows(engine, "SELECT d FROM z.far ORDER BY d") == [{"d": 5}, {"d": 6}]
        engine.sql("DROP SCHEMA public CASCADE; DROP DATABASE d")
        with pytest.raises(SqlError, match="no schema has been selected"):
            engine.sql("CREATE TABLE t (v int)")
    with Engine(spark, data_dir=tmp_path) as engine:
        assert [row["name"] for row in rows(engine, "SHOW SCHEMAS")][:2] == ["x", "z"]
        assert rows(engine, "SHOW DATABASES") == [{"name": "materialize", "comment": ""}]
        assert rows(engine, "SELECT v FROM x.m ORDER BY v") == [{"v": 1}, {"v": 2}]


def test_clients_find_schemas(server: Server, connection: psycopg.Connection) -> None:
    connection.execute("CREATE SCHEMA sales; CREATE TABLE sales.orders (id int PRIMARY KEY)")
    connection.execute("CREATE TABLE orders (k text); COMMENT ON SCHEMA sales IS 'what we sell'")
    seen = "SELECT 'sales.orders'::regclass::text, 'orders'::regclass::text,"
    seen += " pg_table_is_visible('sales.orders'::regclass)"
    assert connection.execute(seen).fetchone() == ("sales.orders", "orders", False)
    connection.execute("SET search_path = sales")
    assert connection.execute(seen).fetchone() == ("orders", "orders", True)
    assert connection.execute("SHOW TABLES").fetchall() == [("orders", "")]
    assert connection.execute("SHOW TABLES FROM public").fetchall() == [("orders", "")]
    assert connection.execute("SELECT current_schemas(true)").fetchone() == (["mz_catalog", "pg_catalog", "sales"],)
    with connection.cursor() as cursor:
        with cursor.copy("COPY orders FROM STDIN") as copy:
            copy.write(b"7\n")
        with cursor.copy("COPY sales.orders TO STDOUT") as copy:
            assert b"".join(copy) == b"7\n"
        cursor.execute("BEGIN; DECLARE c CURSOR FOR SUBSCRIBE orders")
        assert cursor.execute("FETCH 1 c").fetchall()[0][2:] == (7,)
        cursor.execute("ROLLBACK")
    columns = "SELECT table_schema, column_name FROM information_schema.columns WHERE table_name = 'orders' ORDER BY 1"
    assert connection.execute(columns).fetchall() == [("public", "k"), ("sales", "id")]
    described = "SELECT n.nspname, obj_description(n.oid, 'pg_namespace') FROM pg_class c JOIN pg_namespace n"
    described += " ON n.oid = c.relnamespace WHERE c.relname = 'orders' ORDER BY 1"
    assert connection.execute(described).fetchall() == [("public", None), ("sales", "what we sell")]
    names = "SELECT s.name FROM mz_objects o JOIN mz_schemas s ON s.id = o.schema_id WHERE o.name = 'orders' ORDER BY 1"
    assert connection.execute(names).fetchall() == [("public",), ("sales",)]
    events = "SELECT event_type, details->>'name' FROM mz_audit_events WHERE object_type = 'schema' ORDER BY id"
    assert connection.execute(events).fetchall() == [("create", "sales"), ("comment", "sales")]
    alchemy = sqlalchemy.create_engine(f"postgresql+psycopg://materialize@127.0.0.1:{server.port}/materialize")
    inspector = sqlalchemy.inspect(alchemy)
    assert {"public", "sales"} <= set(inspector.get_schema_names())
    assert inspector.get_table_names(schema="sales") == ["orders"]
    assert inspector.get_pk_constraint("orders", schema="sales")["constrained_columns"] == ["id"]
    alchemy.dispose()
    psql = shutil.which("psql")
    if psql is not None:
        command = [psql, "-h", "127.0.0.1", "-p", str(server.port), "-U", "materialize", "materialize", "-At"]
        command += ["-c", r"\dn", "-c", r"\d sales.*"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "sales|materialize" in shown.stdout
        assert "id|integer||not null|" in shown.stdout


def test_tables_of_a_generator_are_where_it_is(engine: Engine) -> None:
    engine.sql("CREATE SCHEMA gen; CREATE SOURCE gen.house FROM LOAD GENERATOR AUCTION FOR ALL TABLES")
    names = [item.name for item in engine.catalog.of_kind("source")]
    assert len(names) > 3
    assert {name.schema for name in names} == {"gen"}
    engine.sql("DROP SCHEMA gen CASCADE")


def test_a_new_schema_is_for_its_owner_alone(server: Server, connection: psycopg.Connection) -> None:
    connection.execute("CREATE ROLE clerk LOGIN; CREATE SCHEMA office; CREATE TABLE office.desk (k int)")
    with connected(server, "clerk") as clerk:
        for statement in ("CREATE SCHEMA mine", "CREATE TABLE office.own (k int)", "DROP SCHEMA office CASCADE"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                clerk.execute(statement.encode())
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA office TO clerk")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match='SCHEMA "office"'):
            clerk.execute("SELECT * FROM office.desk")
        connection.execute("GRANT USAGE, CREATE ON SCHEMA office TO clerk")
        connection.execute("GRANT CREATE ON DATABASE materialize TO clerk")
        assert clerk.execute("SELECT * FROM office.desk").fetchall() == []
        clerk.execute("CREATE TABLE office.own (k int); CREATE SCHEMA mine; CREATE TABLE mine.t (k int)")
        assert clerk.execute("SELECT has_schema_privilege('mine', 'CREATE')").fetchone() == (True,)
        clerk.execute("ALTER SCHEMA mine RENAME TO ours; DROP SCHEMA ours CASCADE")
    connection.execute("DROP OWNED BY clerk CASCADE; DROP ROLE clerk; DROP SCHEMA office CASCADE")


def test_a_session_is_in_one_database(server: Server, connection: psycopg.Connection) -> None:
    connection.execute("CREATE DATABASE elsewhere; CREATE TABLE here (k int)")
    with pytest.raises(psycopg.errors.DuplicateDatabase):
        connection.execute("CREATE DATABASE elsewhere")
    with connected(server, database="elsewhere") as other:
        assert other.execute("SELECT current_database(), current_schema()").fetchone() == ("elsewhere", "public")
        other.execute("CREATE TABLE there (k int); CREATE VIEW v AS SELECT k FROM there; INSERT INTO there VALUES (1)")
        with pytest.raises(psycopg.errors.UndefinedTable):
            other.execute("SELECT * FROM here")
        assert other.execute("SELECT * FROM materialize.public.here").fetchall() == []
        own = "SELECT relname FROM pg_class WHERE relname IN ('here', 'there', 'v') ORDER BY 1"
        assert other.execute(own).fetchall() == [("there",), ("v",)]
        databases = other.execute("SELECT datname FROM pg_database ORDER BY 1").fetchall()
        assert databases == [("elsewhere",), ("materialize",)]
        with pytest.raises(psycopg.errors.ObjectInUse):
            other.execute("DROP DATABASE elsewhere")
    assert connection.execute("SELECT k FROM elsewhere.public.v").fetchall() == [(1,)]
    connection.execute("ALTER DATABASE elsewhere RENAME TO moved")
    assert connection.execute("SHOW SCHEMAS FROM moved LIKE 'pub%'").fetchall() == [("public", "")]
    with pytest.raises(psycopg.errors.DependentObjectsStillExist):
        connection.execute("DROP DATABASE moved RESTRICT")
    connection.execute("SET database = moved")
    assert connection.execute("SELECT k FROM v").fetchall() == [(1,)]
    connection.execute("RESET database; DROP DATABASE moved")
    with pytest.raises(psycopg.errors.InvalidCatalogName):
        connection.execute("SELECT * FROM moved.public.v")
