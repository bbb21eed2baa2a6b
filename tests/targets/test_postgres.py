"""Views in PostgreSQL tables: what a psycopg client of that server reads is the view, tick by tick."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from tailrace.engine.engine import Engine
from tailrace.errors import InvalidOption, KeyNotUnique, SqlError, TailraceError, Unavailable
from tailrace.secret import Secret
from tailrace.sinks.postgres_connection import PostgresConnection
from tailrace.testing.postgres import PASSWORD, Postgres

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def connection(engine: Engine, postgres: Postgres) -> str:
    engine.sql(f"CREATE SECRET pg_password AS '{PASSWORD}'")
    engine.sql(
        "CREATE CONNECTION pg TO POSTGRES (HOST '127.0.0.1', USER postgres, DATABASE postgres,"
        f" PORT {postgres.port}, PASSWORD SECRET pg_password)"
    )
    return "pg"


@pytest.fixture
def server(postgres: Postgres) -> Iterator[psycopg.Connection]:
    with postgres.connect() as opened:
        yield opened


@pytest.fixture
def name(server: psycopg.Connection) -> str:
    """A name that no other test uses, also of an empty schema in PostgreSQL."""
    fresh = f"t{next(_numbers)}"
    server.execute(f"CREATE SCHEMA {fresh}".encode())
    return fresh


def rows(server: psycopg.Connection, query: str) -> list[tuple[Any, ...]]:
    return server.execute(query.encode()).fetchall()


def sink(engine: Engine, name: str, relation: str = "", table: str = "t", key: str = "item") -> None:
    engine.sql(
        f"CREATE SINK {name}_out FROM {relation or name}"
        f" INTO POSTGRES CONNECTION pg (TABLE '{name}.{table}') KEY ({key}) MODE UPSERT"
    )


def tea(engine: Engine, name: str) -> None:
    """A table with one row."""
    engine.sql(f"CREATE TABLE {name} (item text NOT NULL, total int, PRIMARY KEY (item))")
    engine.sql(f"INSERT INTO {name} VALUES ('tea', 12)")


def status(engine: Engine, sink: str) -> tuple[str, str]:
    engine.settle()
    found = engine.sql(f"SELECT status, error FROM mz_internal.mz_sink_statuses WHERE name = '{sink}'")
    assert found is not None
    [row] = found.to_pylist()
    return row["status"], row["error"]


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_inserts_updates_and_deletes_arrive(
    engine: Engine, connection: str, server: psycopg.Connection, name: str
) -> None:
    engine.sql(f"CREATE TABLE {name} (item text NOT NULL, price int)")
    engine.sql(f"INSERT INTO {name} VALUES ('tea', 10), ('tea', 2), ('nut', 5)")
    engine.sql(f"CREATE MATERIALIZED VIEW {name}_v AS SELECT item, sum(price) AS total FROM {name} GROUP BY item")
    sink(engine, name, relation=f"{name}_v")
    assert status(engine, f"{name}_out") == ("running", None)
    query = f"SELECT * FROM {name}.t ORDER BY item"
    assert rows(server, query) == [("nut", 5), ("tea", 12)]
    engine.sql(f"INSERT INTO {name} VALUES ('tea', 1), ('rye', 7)")
    engine.sql(f"DELETE FROM {name} WHERE item = 'nut'")
    engine.settle()
    assert rows(server, query) == [("rye", 7), ("tea", 13)]
    types = "SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute"
    found = rows(server, f"{types} WHERE attrelid = '{name}.t'::regclass AND attnum > 0")
    assert found == [("item", "text", True), ("total", "bigint", False)]
    with pytest.raises(SqlError, match="cannot RESET COMMIT INTERVAL: option is not set"):
        engine.sql(f"ALTER SINK {name}_out RESET (COMMIT INTERVAL)")


TWO_DAYS = r'{empty,NULL,"[\"2024-07-03 00:00:00\",\"2024-07-04 00:00:00\"]"}'
TYPES = {
    "a": ("boolean", "true", "true"),
    "b": ("smallint", "-5", "-5"),
    "c": ("bigint", "9007199254740993", "9007199254740993"),
    "d": ("real", "1.5", "1.5"),
    "e": ("double precision", "1e300", "1e+300"),
    "f": ("numeric(38,2)", "12.50", "12.50"),
    "g": ("numeric", "0.125", "0.125"),
    "h": ("text", "e'tab\\there\\nline\\\\ \\\\N \"q\" ü'", 'tab\there\nline\\ \\N "q" ü'),
    "i": ("varchar(5)", "''", ""),
    "j": ("char(3)", "'x'", "x"),  # PostgreSQL takes the padding off
    "k": ("bytea", "'\\x00ff5c'", "\\x00ff5c"),
    "l": ("date", "'2024-07-03'", "2024-07-03"),
    "m": ("time", "'18:43:05.312456'", "18:43:05.312456"),
    "n": ("timestamp", "'2024-07-03 18:43:05.312456'", "2024-07-03 18:43:05.312456"),
    "o": ("timestamptz", "'2024-07-03 18:43:05+00'", "2024-07-03 18:43:05+00"),
    "p": ("interval", "'1 year 2 mons 3 days 04:05:06.7'", "1 year 2 mons 3 days 04:05:06.7"),
    "q": ("jsonb", "'{\"a\": [1, \"x\\\\ny\"]}'", '{"a": [1, "x\\\\ny"]}'),
    "r": ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    "s": ("text list", "LIST['a', NULL, 'x y\"\\']", '{a,NULL,"x y\\"\\\\"}'),
    "t": ("uint8", "18446744073709551615", "18446744073709551615"),
    "u": ("map[text=>int]", "'{a=>1}'", '{"a": 1}'),
    "v": ("int4range", "'[1,5]'", "[1,6)"),
    "w": ("tstzrange", "'(2024-07-03 02:00+02,]'", '("2024-07-03 00:00:00+00",)'),
    "x": ("tsrange[]", "'{empty,NULL,\"[2024-07-03,2024-07-04]\"}'", TWO_DAYS),
}
KEPT = {"uint8": "numeric(20,0)", "text list": "text[]", "map[text=>int]": "jsonb"}


def test_every_type_arrives_as_it_was(
    engine: Engine, connection: str, server: psycopg.Connection, name: str
) -> None:
    columns = ", ".join(f"{column} {type}" for column, (type, _, _) in TYPES.items())
    engine.sql(f"CREATE TABLE {name} (id int NOT NULL, {columns}, PRIMARY KEY (id))")
    values = ", ".join(f"({value})::{type}" for type, value, _ in TYPES.values())
    engine.sql(f"INSERT INTO {name} VALUES (1, {values}), (2{', NULL' * len(TYPES)})")
    sink(engine, name, table="types", key="id")
    assert status(engine, f"{name}_out") == ("running", None)
    texts = ", ".join(f"{column}::text" for column in TYPES)
    server.execute(b"SET timezone = 'UTC'")
    [one, two] = rows(server, f"SELECT {texts} FROM {name}.types ORDER BY id")
    assert dict(zip(TYPES, one, strict=True)) == {column: shown for column, (_, _, shown) in TYPES.items()}
    assert set(two) == {None}
    for column, (type, _, _) in TYPES.items():
        expected = f"SELECT CAST(NULL AS {KEPT.get(type, type)})"
        [found] = rows(server, f"SELECT pg_typeof({column})::text FROM {name}.types WHERE id = 2")
        assert found == rows(server, expected.replace("CAST", "pg_typeof(CAST") + ")::text")[0], column


def test_names_of_all_sorts(engine: Engine, connection: str, server: psycopg.Connection, name: str) -> None:
    columns = '"Ä ""x""" int NOT NULL, "select" text, tailrace_change int, PRIMARY KEY ("Ä ""x""")'
    engine.sql(f"CREATE TABLE {name} ({columns})")
    engine.sql(f"INSERT INTO {name} VALUES (1, 'a', 7)")
    engine.sql(
        f"CREATE SINK {name}_out FROM {name} INTO POSTGRES CONNECTION pg (TABLE '{name}.\"Odd.One\"')"
        ' KEY ("Ä ""x""") ENVELOPE UPSERT'
    )
    assert status(engine, f"{name}_out") == ("running", None)
    assert rows(server, f'SELECT * FROM {name}."Odd.One"') == [(1, "a", 7)]


def test_a_key_that_may_be_null_is_upserted_and_deleted(
    engine: Engine, connection: str, server: psycopg.Connection, name: str
) -> None:
    engine.sql(f"CREATE TABLE {name} (item text, price int)")
    engine.sql(f"INSERT INTO {name} VALUES (NULL, 1), ('tea', 2)")
    engine.sql(f"CREATE MATERIALIZED VIEW {name}_v AS SELECT item, sum(price) AS total FROM {name} GROUP BY item")
    sink(engine, name, relation=f"{name}_v")
    engine.settle()
    query = f"SELECT * FROM {name}.t ORDER BY item"
    assert rows(server, query) == [("tea", 2), (None, 1)]
    engine.sql(f"INSERT INTO {name} VALUES (NULL, 5)")
    engine.settle()
    assert rows(server, query) == [("tea", 2), (None, 6)]
    engine.sql(f"DELETE FROM {name} WHERE item IS NULL")
    engine.settle()
    assert rows(server, query) == [("tea", 2)]


def test_a_table_that_exists_is_used_as_it_is(
    engine: Engine, connection: str, server: psycopg.Connection, name: str
) -> None:
    server.execute(
        f"CREATE TABLE {name}.mine (seen timestamptz DEFAULT now(), total numeric, item varchar(20) UNIQUE)".encode()
    )
    server.execute(f"INSERT INTO {name}.mine (item, total) VALUES ('old', 1), ('tea', 1)".encode())
    tea(engine, name)
    sink(engine, name, table="mine")
    assert status(engine, f"{name}_out") == ("running", None)
    assert rows(server, f"SELECT item, total::int FROM {name}.mine ORDER BY item") == [("old", 1), ("tea", 12)]


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ("(item text UNIQUE)", 'has no column "total"'),
        ("(item text, total int)", "has no unique index on the key"),
        ("(item text PRIMARY KEY, total date)", "invalid input syntax for type date"),
    ],
)
def test_a_table_that_does_not_fit_stalls_the_sink(
    table: str, error: str, engine: Engine, connection: str, server: psycopg.Connection, name: str
) -> None:
    server.execute(f"CREATE TABLE {name}.mine {table}".encode())
    tea(engine, name)
    sink(engine, name, table="mine")
    found, why = status(engine, f"{name}_out")
    assert found == "stalled"
    assert error in why
    server.execute(f"DROP TABLE {name}.mine".encode())  # it was never written: the sink makes one that fits
    deadline = time.monotonic() + 60
    while status(engine, f"{name}_out") != ("running", None) and time.monotonic() < deadline:
        time.sleep(0.1)  # it tries again after a while
    assert rows(server, f"SELECT * FROM {name}.mine") == [("tea", 12)]


def test_without_a_snapshot_only_changes_are_written(
    engine: Engine, connection: str, server: psycopg.Connection, name: str
) -> None:
    tea(engine, name)
    engine.sql(
        f"CREATE SINK {name}_out FROM {name} INTO POSTGRES CONNECTION pg (TABLE '{name}.t') KEY (item) MODE UPSERT"
        " WITH (SNAPSHOT = false)"
    )
    engine.sql(f"INSERT INTO {name} VALUES ('nut', 1)")
    engine.settle()
    assert rows(server, f"SELECT * FROM {name}.t") == [("nut", 1)]


def test_a_key_that_turns_out_not_to_be_unique_stalls_until_it_is(
    engine: Engine, connection: str, server: psycopg.Connection, name: str
) -> None:
    engine.sql(f"CREATE TABLE {name} (item text NOT NULL, total int); INSERT INTO {name} VALUES ('tea', 12)")
    engine.sql(
        f"CREATE SINK {name}_out FROM {name} INTO POSTGRES CONNECTION pg (TABLE '{name}.t') KEY (item) NOT ENFORCED"
        " MODE UPSERT"
    )
    assert status(engine, f"{name}_out") == ("running", None)
    engine.sql(f"INSERT INTO {name} VALUES ('tea', 13)")  # a second row of a key that the table has
    assert "more than one row of key (item) = (tea)" in status(engine, f"{name}_out")[1]
    engine.sql(f"DELETE FROM {name} WHERE total = 12")
    assert status(engine, f"{name}_out") == ("running", None)
    assert rows(server, f"SELECT * FROM {name}.t") == [("tea", 13)]
    engine.sql(f"INSERT INTO {name} VALUES ('nut', 1), ('nut', 2)")  # two in one tick
    assert "(item) = (nut)" in status(engine, f"{name}_out")[1]
    engine.sql(f"DELETE FROM {name} WHERE total = 1")
    assert status(engine, f"{name}_out") == ("running", None)
    assert rows(server, f"SELECT * FROM {name}.t ORDER BY total") == [("nut", 2), ("tea", 13)]


def test_a_relation_with_more_columns_may_follow(
    engine: Engine, connection: str, server: psycopg.Connection, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.loop, "pace", replace(engine.loop.pace, retry=0.1))
    tea(engine, name)
    sink(engine, name)
    engine.sql(f"ALTER TABLE {name} ADD COLUMN note text; ALTER SINK {name}_out SET FROM {name}")
    engine.sql(f"INSERT INTO {name} VALUES ('nut', 1, 'new')")
    assert 'has no column "note"' in str(status(engine, f"{name}_out")[1])
    server.execute(f"ALTER TABLE {name}.t ADD COLUMN note text".encode())
    until(lambda: rows(server, f"SELECT * FROM {name}.t ORDER BY item") == [("nut", 1, "new"), ("tea", 12, None)])
    engine.sql(f"CREATE MATERIALIZED VIEW {name}_v AS SELECT item, total::text, note FROM {name}")
    engine.sql(f"CREATE MATERIALIZED VIEW {name}_w AS SELECT *, 1 AS one FROM {name}")
    for other, why in (("v", 'Column "total" is missing, or of another type.'), ("w", 'Column "one" is new and never')):
        with pytest.raises(SqlError, match="has other columns") as refused:
            engine.sql(f"ALTER SINK {name}_out SET FROM {name}_{other}")
        assert str(refused.value.detail).startswith(why)


def test_show_and_drop(engine: Engine, connection: str, server: psycopg.Connection, name: str) -> None:
    tea(engine, name)
    sink(engine, name, table="t")
    engine.settle()
    shown = engine.sql(f"SHOW CREATE SINK {name}_out")
    assert shown is not None
    assert (
        "INTO POSTGRES CONNECTION materialize.public.pg (TABLE = '" + name + ".t')\nKEY (item)\nMODE UPSERT;"
        in shown.to_pylist()[0]["create_sql"]
    )
    listed = engine.sql(f"SHOW SINKS LIKE '{name}_out'")
    assert listed is not None
    assert listed.to_pylist()[0]["type"] == "postgres"
    seen = str(engine.sql("SHOW CREATE CONNECTION pg")) + str(engine.sql("SELECT * FROM mz_connections"))
    assert PASSWORD not in seen
    engine.sql(f"DROP SINK {name}_out")
    engine.sql(f"INSERT INTO {name} VALUES ('nut', 1)")
    engine.settle()
    assert rows(server, f"SELECT * FROM {name}.t") == [("tea", 12)]


@pytest.mark.parametrize(
    ("text", "kind", "error"),
    [
        ("INTO POSTGRES CONNECTION pg (TABLE 't') MODE UPSERT", SqlError, "must specify a key"),
        ("INTO POSTGRES CONNECTION pg () KEY (a) MODE UPSERT", InvalidOption, "must specify TABLE"),
        ("INTO POSTGRES CONNECTION pg (TABLE 'a.b.c') KEY (a) MODE UPSERT", InvalidOption, "invalid TABLE"),
        ("INTO POSTGRES CONNECTION pg (TABLE 't') KEY (a) MODE APPEND", SqlError, "MODE APPEND for Postgres sinks"),
        ("INTO POSTGRES CONNECTION pg (TABLE 't') KEY (a)", SqlError, "Expected one of MODE or ENVELOPE"),
        ("INTO POSTGRES CONNECTION pg (TABLE 't') KEY (b) MODE UPSERT", KeyNotUnique, "could not be validated"),
        ("INTO POSTGRES CONNECTION pg (TABLE 't') KEY (z) MODE UPSERT", SqlError, "does not exist: z"),
        (
            "INTO POSTGRES CONNECTION pg (TABLE 't') KEY (a) MODE UPSERT WITH (DELIVERY GUARANTEE 'at-least-once')",
            InvalidOption,
            "not supported with POSTGRES sinks",
        ),
        ("INTO KAFKA CONNECTION pg (TOPIC 't') KEY (a) FORMAT JSON ENVELOPE UPSERT", SqlError, "is not a KAFKA"),
    ],
)
def test_what_cannot_be_is_refused(
    text: str, kind: type[TailraceError], error: str, engine: Engine, connection: str
) -> None:
    engine.sql("CREATE TABLE IF NOT EXISTS refused (a int NOT NULL, b int, PRIMARY KEY (a))")
    with pytest.raises(kind, match=error):
        engine.sql(f"CREATE SINK nothing FROM refused {text}")


def test_a_server_that_cannot_be_reached_is_named(engine: Engine, postgres: Postgres, connection: str) -> None:
    options = "USER postgres, DATABASE postgres, PASSWORD SECRET pg_password"
    with pytest.raises(Unavailable, match="could not reach the server"):
        engine.sql(f"CREATE CONNECTION nowhere TO POSTGRES (HOST '127.0.0.1', PORT 1, {options})")
    engine.sql(f"CREATE CONNECTION nowhere TO POSTGRES (HOST '127.0.0.1', PORT 1, {options}) WITH (VALIDATE = false)")
    engine.sql("CREATE SECRET wrong_password AS 'wrong'")
    with pytest.raises(SqlError, match="could not log in") as caught:
        engine.sql(
            f"CREATE CONNECTION wrong TO POSTGRES (HOST '127.0.0.1', PORT {postgres.port}, USER postgres,"
            " DATABASE postgres, PASSWORD SECRET wrong_password)"
        )
    assert caught.value.sqlstate == "28000"
    with pytest.raises(SqlError, match="DATABASE option is required"):
        engine.sql("CREATE CONNECTION wrong TO POSTGRES (HOST '127.0.0.1', USER postgres)")
    engine.sql("VALIDATE CONNECTION pg")
    with pytest.raises(Unavailable):
        engine.sql("VALIDATE CONNECTION nowhere")


def test_a_password_may_change_under_a_running_sink(
    engine: Engine, postgres: Postgres, server: psycopg.Connection, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.loop, "pace", replace(engine.loop.pace, retry=0.1))
    server.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'old'; GRANT ALL ON SCHEMA {name} TO {name}".encode())
    engine.sql(
        f"CREATE SECRET of_{name} AS 'old'; CREATE CONNECTION as_{name} TO POSTGRES (HOST '127.0.0.1', USER {name},"
        f" PORT {postgres.port}, DATABASE postgres, PASSWORD SECRET of_{name})"
    )
    tea(engine, name)
    engine.sql(
        f"CREATE SINK {name}_out FROM {name}"
        f" INTO POSTGRES CONNECTION as_{name} (TABLE '{name}.t') KEY (item) MODE UPSERT"
    )
    engine.settle()
    server.execute(f"ALTER ROLE {name} PASSWORD 'new'".encode())
    server.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{name}'".encode())
    engine.sql(f"INSERT INTO {name} VALUES ('nut', 1)")
    until(lambda: "could not log in" in str(status(engine, f"{name}_out")[1]))
    engine.sql(f"ALTER SECRET of_{name} AS 'new'")
    until(lambda: rows(server, f"SELECT * FROM {name}.t ORDER BY item") == [("nut", 1), ("tea", 12)])


def test_limits_of_a_role_do_not_end_a_snapshot(postgres: Postgres, server: psycopg.Connection, name: str) -> None:
    limits = ("statement_timeout", "idle_in_transaction_session_timeout")
    server.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'x'".encode())
    for limit in limits:
        server.execute(f"ALTER ROLE {name} SET {limit} = '1s'".encode())
    login = {"user": Secret(name), "password": Secret("x"), "database": "postgres"}
    used = PostgresConnection(name="pg", host="127.0.0.1", port=postgres.port, **login)  # type: ignore[arg-type]
    with used.open("limited") as session:
        assert [rows(session, f"SHOW {limit}") for limit in limits] == [[("0",)], [("0",)]]


def test_a_server_that_keeps_one_sink_waiting_keeps_no_other(
    engine: Engine, connection: str, postgres: Postgres, server: psycopg.Connection, name: str
) -> None:
    tea(engine, name)
    sink(engine, name)
    engine.sql(
        f"CREATE SINK {name}_free FROM {name}"
        f" INTO POSTGRES CONNECTION pg (TABLE '{name}.free') KEY (item) MODE UPSERT"
    )
    engine.settle()
    with postgres.connect() as other, other.transaction():
        other.execute(f"LOCK TABLE {name}.t IN ACCESS EXCLUSIVE MODE".encode())
        for number in range(3):
            engine.sql(f"INSERT INTO {name} VALUES ('rye{number}', {number})")
        waiting = engine.cluster.deliveries[engine.catalog.resolve((f"{name}_out",)).id]
        assert waiting.is_under_way  # at a lock that nobody has given up yet
        until(lambda: len(rows(server, f"SELECT FROM {name}.free")) == 4)
    until(lambda: len(rows(server, f"SELECT FROM {name}.t")) == 4)


WAITING = """
CREATE TABLE {0}.t (item int PRIMARY KEY);
CREATE FUNCTION {0}.wait() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN PERFORM pg_advisory_xact_lock(hashtext('{0}')); RETURN NULL; END $$;
CREATE TRIGGER wait BEFORE INSERT ON {0}.t EXECUTE FUNCTION {0}.wait()
"""


def test_a_snapshot_is_told_of_while_it_is_written_and_dropped_with_its_sink(
    engine: Engine,
    connection: str,
    postgres: Postgres,
    server: psycopg.Connection,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server that keeps it waiting for ever cannot keep DROP waiting, and commits nothing after it."""
    monkeypatch.setattr("tailrace.ticks.deliver.MANY", 0)
    server.execute(WAITING.format(name).encode())
    engine.sql(f"CREATE TABLE {name} (item int NOT NULL, PRIMARY KEY (item)); INSERT INTO {name} VALUES (1), (2)")
    with postgres.connect() as other:
        other.execute(f"SELECT pg_advisory_lock(hashtext('{name}'))".encode())
        sink(engine, name)
        until(lambda: rows(server, "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") != [])
        id = engine.catalog.resolve((f"{name}_out",)).id
        told = (
            "SELECT status, messages_staged, messages_committed FROM mz_internal.mz_sink_statuses"
            f" JOIN mz_internal.mz_sink_statistics USING (id) WHERE id = '{id}'"
        )
        until(lambda: list(engine.sql(told).to_pylist()[0].values()) == ["running", 2, 0])  # type: ignore[union-attr]
        engine.sql(f"DROP SINK {name}_out")
    until(lambda: not rows(server, f"SELECT FROM pg_stat_activity WHERE application_name LIKE 'tailrace %-{id}'"))
    assert rows(server, f"SELECT FROM {name}.t") == []
