"""Views under the keys of a Redis server: what a client of that server reads is the view, tick by tick."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import redis as client_library

from tailrace.engine.engine import Engine
from tailrace.errors import InvalidOption, SqlError, TailraceError, Unavailable
from tailrace.testing.redis import PASSWORD, Redis

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def connection(engine: Engine, redis: Redis) -> str:
    engine.sql(f"CREATE SECRET redis_password AS '{PASSWORD}'")
    engine.sql(
        f"CREATE CONNECTION r TO REDIS (HOST '127.0.0.1', PORT {redis.port}, PASSWORD SECRET redis_password)"
    )
    return "r"


@pytest.fixture
def server(redis: Redis) -> Iterator[client_library.Redis]:
    with client_library.Redis(port=redis.port, password=PASSWORD, decode_responses=True) as opened:
        yield opened


@pytest.fixture
def name(connection: str) -> str:
    """A name, and prefix of keys, that no other test uses."""
    return f"t{next(_numbers)}"


def status(engine: Engine, sink: str) -> tuple[str, str]:
    engine.settle()
    found = engine.sql(f"SELECT status, error FROM mz_internal.mz_sink_statuses WHERE name = '{sink}'")
    assert found is not None
    [row] = found.to_pylist()
    return row["status"], row["error"]


def strings(server: client_library.Redis, prefix: str) -> dict[str, object]:
    return {key.removeprefix(prefix): json.loads(str(server.get(key))) for key in server.keys(f"{prefix}*")}


def hashes(server: client_library.Redis, prefix: str) -> dict[str, object]:
    return {key.removeprefix(prefix): server.hgetall(key) for key in server.keys(f"{prefix}*")}


def sink(engine: Engine, name: str, format: str = "JSON", key: str = "(item)", more: str = "") -> None:
    template = ":".join(f"{{{column.strip()}}}" for column in key.split(")")[0].strip("()").split(","))
    engine.sql(
        f"CREATE SINK {name}_out FROM {name} INTO REDIS CONNECTION r (KEY TEMPLATE '{name}:{template}')"
        f" KEY {key} FORMAT {format} MODE UPSERT {more}"
    )


def test_rows_come_change_and_go_as_json(engine: Engine, server: client_library.Redis, name: str) -> None:
    engine.sql(f"CREATE TABLE {name}_t (item text NOT NULL, price int)")
    engine.sql(f"INSERT INTO {name}_t VALUES ('tea', 10), ('tea', 2), ('nut', 5)")
    engine.sql(f"CREATE MATERIALIZED VIEW {name} AS SELECT item, sum(price) AS total FROM {name}_t GROUP BY item")
    sink(engine, name)
    assert status(engine, f"{name}_out") == ("running", None)
    assert strings(server, f"{name}:") == {"tea": {"item": "tea", "total": 12}, "nut": {"item": "nut", "total": 5}}
    engine.sql(f"INSERT INTO {name}_t VALUES ('tea', 1); DELETE FROM {name}_t WHERE item = 'nut'")
    engine.settle()
    assert strings(server, f"{name}:") == {"tea": {"item": "tea", "total": 13}}


def test_a_hash_has_a_field_for_each_column_that_is_not_null(
    engine: Engine, server: client_library.Redis, name: str
) -> None:
    engine.sql(f"CREATE TABLE {name} (item text NOT NULL, a text, b timestamptz, PRIMARY KEY (item))")
    engine.sql(f"INSERT INTO {name} VALUES ('tea', e'x\\r\\n$3 ü', '2024-07-03 18:43:05+00'), ('nut', NULL, NULL)")
    sink(engine, name, "HASH")
    assert status(engine, f"{name}_out") == ("running", None)
    tea = {"item": "tea", "a": "x\r\n$3 ü", "b": "2024-07-03 18:43:05+00"}
    assert hashes(server, f"{name}:") == {"tea": tea, "nut": {"item": "nut"}}
    engine.sql(f"UPDATE {name} SET a = NULL WHERE item = 'tea'")
    engine.settle()
    assert hashes(server, f"{name}:")["tea"] == {"item": "tea", "b": "2024-07-03 18:43:05+00"}


def test_two_keys_are_never_the_same(engine: Engine, server: client_library.Redis, name: str) -> None:
    engine.sql(f"CREATE TABLE {name} (a text, b text, n int)")
    engine.sql(
        f"INSERT INTO {name} VALUES ('x:y', 'z', 1), ('x', 'y:z', 2), (NULL, 'z', 3), ('%00', 'z', 4), ('', 'z', 5)"
    )
    sink(engine, name, key="(a, b) NOT ENFORCED")
    assert status(engine, f"{name}_out") == ("running", None)
    found = {key: row["n"] for key, row in strings(server, f"{name}:").items()}  # type: ignore[index]
    assert found == {"x%3Ay:z": 1, "x:y%3Az": 2, "%00:z": 3, "%2500:z": 4, ":z": 5}
    engine.sql(f"DELETE FROM {name} WHERE a IS NULL")
    engine.settle()
    assert "%00:z" not in strings(server, f"{name}:")


def test_without_a_snapshot_only_changes_are_written(
    engine: Engine, server: client_library.Redis, name: str
) -> None:
    engine.sql(f"CREATE TABLE {name} (item text NOT NULL, n int, PRIMARY KEY (item))")
    engine.sql(f"INSERT INTO {name} VALUES ('a', 1)")
    sink(engine, name, more="WITH (SNAPSHOT = false)")
    engine.sql(f"INSERT INTO {name} VALUES ('b', 2)")
    engine.settle()
    assert strings(server, f"{name}:") == {"b": {"item": "b", "n": 2}}


def test_a_key_that_turns_out_not_to_be_unique_stalls_until_it_is(
    engine: Engine, server: client_library.Redis, name: str
) -> None:
    engine.sql(f"CREATE TABLE {name} (item text NOT NULL, n int); INSERT INTO {name} VALUES ('a', 1)")
    sink(engine, name, key="(item) NOT ENFORCED")
    assert status(engine, f"{name}_out") == ("running", None)
    engine.sql(f"INSERT INTO {name} VALUES ('a', 2)")
    assert f"more than one row of key {name}:a" in status(engine, f"{name}_out")[1]
    assert strings(server, f"{name}:") == {"a": {"item": "a", "n": 1}}
    engine.sql(f"DELETE FROM {name} WHERE n = 1; INSERT INTO {name} VALUES ('b', 1), ('b', 2)")
    assert f"more than one row of key {name}:b" in status(engine, f"{name}_out")[1]
    engine.sql(f"DELETE FROM {name} WHERE item = 'b' AND n = 1")
    assert status(engine, f"{name}_out") == ("running", None)
    assert strings(server, f"{name}:") == {"a": {"item": "a", "n": 2}, "b": {"item": "b", "n": 2}}


def test_show_and_drop(engine: Engine, server: client_library.Redis, name: str) -> None:
    engine.sql(f"CREATE TABLE {name} (item text NOT NULL, n int, PRIMARY KEY (item))")
    engine.sql(f"INSERT INTO {name} VALUES ('a', 1)")
    sink(engine, name, "HASH")
    engine.settle()
    shown = engine.sql(f"SHOW CREATE SINK {name}_out")
    assert shown is not None
    expected = f"(KEY TEMPLATE = '{name}:{{item}}')\nKEY (item)\nFORMAT HASH\nMODE UPSERT;"
    assert expected in shown.to_pylist()[0]["create_sql"]
    assert "redis" in str(engine.sql(f"SHOW SINKS LIKE '{name}_out'"))
    engine.sql(f"DROP SINK {name}_out; INSERT INTO {name} VALUES ('b', 1)")
    engine.settle()
    assert set(hashes(server, f"{name}:")) == {"a"}


INTO = "INTO REDIS CONNECTION r "


@pytest.mark.parametrize(
    ("text", "kind", "error"),
    [
        (INTO + "(KEY TEMPLATE 'x') KEY (a) FORMAT JSON MODE UPSERT", InvalidOption, "must name every column of KEY"),
        (INTO + "(KEY TEMPLATE '{b}') KEY (a) FORMAT JSON MODE UPSERT", InvalidOption, "must name every column"),
        (INTO + "(KEY TEMPLATE '{a}{b}') KEY (a, b) FORMAT JSON MODE UPSERT", InvalidOption, "text between"),
        (INTO + "(KEY TEMPLATE '{a') KEY (a) FORMAT JSON MODE UPSERT", InvalidOption, "invalid KEY TEMPLATE"),
        (INTO + "() KEY (a) FORMAT JSON MODE UPSERT", InvalidOption, "must specify KEY TEMPLATE"),
        (INTO + "(KEY TEMPLATE '{a}') KEY (a) FORMAT TEXT MODE UPSERT", SqlError, "Expected one of JSON or HASH"),
        (INTO + "(KEY TEMPLATE '{a}') FORMAT JSON MODE UPSERT", SqlError, "must specify a key"),
        ("INTO POSTGRES CONNECTION r (TABLE 't') KEY (a) MODE UPSERT", SqlError, "is not a POSTGRES CONNECTION"),
    ],
)
def test_what_cannot_be_is_refused(
    text: str, kind: type[TailraceError], error: str, engine: Engine, connection: str
) -> None:
    engine.sql("CREATE TABLE IF NOT EXISTS refused (a int NOT NULL, b int, PRIMARY KEY (a))")
    with pytest.raises(kind, match=error):
        engine.sql(f"CREATE SINK nothing FROM refused {text}")


def test_a_server_that_cannot_be_reached_is_named(engine: Engine, redis: Redis, connection: str) -> None:
    with pytest.raises(Unavailable, match="could not reach the server"):
        engine.sql("CREATE CONNECTION nowhere TO REDIS (HOST '127.0.0.1', PORT 1)")
    engine.sql("CREATE SECRET not_it AS 'wrong'")
    with pytest.raises(SqlError, match="could not log in"):
        engine.sql(f"CREATE CONNECTION w TO REDIS (HOST '127.0.0.1', PORT {redis.port}, PASSWORD SECRET not_it)")
    engine.sql("VALIDATE CONNECTION r")


def test_a_server_that_takes_no_writes_is_waited_for(
    engine: Engine, server: client_library.Redis, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is full, or has become a replica."""
    monkeypatch.setattr(engine.loop, "pace", replace(engine.loop.pace, retry=0.1))
    engine.sql(f"CREATE TABLE {name} (item text NOT NULL, PRIMARY KEY (item)); INSERT INTO {name} VALUES ('a')")
    sink(engine, name)
    engine.settle()
    server.config_set("maxmemory", "1")
    try:
        engine.sql(f"INSERT INTO {name} VALUES ('b')")
        until(lambda: "not allowed when used memory" in str(status(engine, f"{name}_out")[1]))
    finally:
        server.config_set("maxmemory", "0")
    until(lambda: set(strings(server, f"{name}:")) == {"a", "b"})
    server.replicaof("127.0.0.1", "1")
    try:
        engine.sql(f"INSERT INTO {name} VALUES ('c')")
        until(lambda: "against a read only replica" in str(status(engine, f"{name}_out")[1]))
    finally:
        server.replicaof("NO", "ONE")
    until(lambda: set(strings(server, f"{name}:")) == {"a", "b", "c"})
    engine.settle()
    assert status(engine, f"{name}_out") == ("running", None)


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)
