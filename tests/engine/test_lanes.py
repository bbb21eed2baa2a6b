"""One slow cluster holds up no other: its views fall behind by themselves, and what a query sees is of one tick."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.ivm.dataflow import traces
from tailrace.server.listener import Server
from tailrace.ticks.loop import Pace
from tailrace.types.core import Tick

Connection = psycopg.Connection[tuple[Any, ...]]

# A row of `hard` costs `many` squared hashes, in one task; a row of `easy` costs nothing.
_SLOW = (
    "SELECT hard.k, count(*) AS pairs FROM hard, many a, many b"
    " WHERE md5((hard.k + a.n)::text || b.n::text) <> '' GROUP BY hard.k"
)


def prepare(connection: Connection, many: int, cluster: str) -> None:
    for statement in (
        "CREATE TABLE hard (k int)",
        "CREATE TABLE easy (k int)",
        "CREATE TABLE many (n int)",
        f"INSERT INTO many SELECT generate_series(1, {many})",
        "CREATE CLUSTER heavy SIZE '1'",
        "CREATE CLUSTER behind SIZE '1'",
        "CREATE MATERIALIZED VIEW fast AS SELECT e.n AS easy, h.n AS hard"
        " FROM (SELECT count(*) AS n FROM easy) e, (SELECT count(*) AS n FROM hard) h",
        f"CREATE MATERIALIZED VIEW slow IN CLUSTER {cluster} AS {_SLOW}",
        "CREATE MATERIALIZED VIEW after IN CLUSTER behind AS SELECT count(*) AS keys FROM slow",
    ):
        connection.execute(statement.encode())


def clear(connection: Connection) -> None:
    connection.execute("DROP TABLE hard CASCADE; DROP TABLE easy CASCADE; DROP TABLE many CASCADE")
    connection.execute("DROP CLUSTER heavy; DROP CLUSTER behind")


@pytest.fixture
def connection(server: Server) -> Iterator[Connection]:
    dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


@contextmanager
def serving(engine: Engine) -> Iterator[Connection]:
    server = Server(host="127.0.0.1", port=0, open_session=engine.open_session)
    server.start()
    try:
        dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
        with psycopg.connect(dsn, autocommit=True) as opened:
            yield opened
    finally:
        server.stop(5.0)


def ask(connection: Connection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query.encode()).fetchall()


def test_a_slow_cluster_holds_up_no_other(engine: Engine, connection: Connection) -> None:
    prepare(connection, 20_000, "heavy")
    slow = engine.cluster.maintained[engine.catalog.resolve(("slow",)).id]
    assert ask(connection, "SELECT * FROM slow") == []
    changes = engine.subscribe("fast")
    next(changes)
    connection.execute("INSERT INTO hard VALUES (1)")
    next(changes)
    before = slow.frontier
    for n in range(1, 6):
        connection.execute("INSERT INTO easy VALUES (1)")
        assert ask(connection, "SELECT easy, hard FROM fast") == [(n, 1)]
        assert {row["easy"] for row in next(changes).rows.to_pylist()} == {n - 1, n}
    connection.execute("CREATE MATERIALIZED VIEW meanwhile AS SELECT count(*) AS n FROM hard")
    assert ask(connection, "SELECT n FROM meanwhile") == [(1,)]
    changes.close()
    assert slow.frontier == before < engine.cluster.done  # all of it while one tick of the slow one was under way

    connection.execute("SET statement_timeout = '200ms'")
    for query in ("SELECT * FROM slow", "SELECT * FROM after", "SELECT * FROM fast, slow"):
        with pytest.raises(psycopg.errors.QueryCanceled):  # it would see the row of `hard`, or nothing
            ask(connection, query)
    connection.execute("RESET statement_timeout")
    connection.execute("DROP MATERIALIZED VIEW slow CASCADE")  # nobody needs the tick any more
    assert ask(connection, "SELECT easy, hard FROM fast") == [(5, 1)]
    clear(connection)


def test_a_query_that_begins_during_a_tick_is_of_none_that_a_lane_has_passed(
    engine: Engine, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(connection, 2, "heavy")
    assert ask(connection, "SELECT * FROM slow") == []
    slow = engine.cluster.maintained[engine.catalog.resolve(("slow",)).id]
    lanes, run = engine.cluster.lanes, engine.cluster.lanes.run
    can_be_read = []

    def run_and_ask(t: Tick) -> None:
        run(t)
        lanes.join()
        with engine.cluster.pinned(reads=[slow.id]) as pinned:
            can_be_read.append(all(trace.knows(pinned) for trace in traces(slow.root)))

    with monkeypatch.context() as asleep:
        asleep.setattr(lanes, "run", lambda t: None)
        asleep.setattr(lanes, "go_on", lambda: None)
        connection.execute("INSERT INTO hard VALUES (1)")
        asleep.setattr(lanes, "run", run_and_ask)
        connection.execute("INSERT INTO hard VALUES (2)")
    assert can_be_read == [True]
    assert ask(connection, "SELECT count(*) FROM slow") == [(2,)]
    clear(connection)


def test_what_is_to_stand_still_says_so_though_its_lane_has_no_time_to(
    engine: Engine, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(connection, 2, "heavy")
    assert ask(connection, "SELECT * FROM slow") == []
    with monkeypatch.context() as asleep:
        asleep.setattr(engine.cluster.lanes, "run", lambda t: None)
        asleep.setattr(engine.cluster.lanes, "go_on", lambda: None)
        connection.execute("ALTER CLUSTER heavy SET (REPLICATION FACTOR 0)")
        assert engine.statuses.of(engine.catalog.resolve(("slow",)).id).status == "paused"
    connection.execute("ALTER CLUSTER heavy SET (REPLICATION FACTOR 1)")
    assert ask(connection, "SELECT * FROM slow") == []
    clear(connection)


def test_a_query_sees_a_slow_cluster_and_a_quick_one_at_one_tick(server: Server, connection: Connection) -> None:
    prepare(connection, 600, "heavy")
    seen = []

    def write() -> None:
        with psycopg.connect(connection.info.dsn, autocommit=True) as other:
            for k in range(4):
                other.execute("INSERT INTO hard VALUES (%s)", (k,))

    writing = threading.Thread(target=write)
    writing.start()
    while not seen or seen[-1][0] < 4:
        [found] = ask(
            connection,
            "SELECT f.hard, a.keys, s.keys, s.pairs FROM fast f, after a,"
            " (SELECT count(*) AS keys, coalesce(sum(pairs), 0) AS pairs FROM slow) s",
        )
        seen.append(found)
    writing.join()
    assert [row for row in seen if row != (row[0], row[0], row[0], row[0] * 360_000)] == []
    with connection.transaction():
        [(before,)] = ask(connection, "SELECT hard FROM fast")
        with psycopg.connect(connection.info.dsn, autocommit=True) as other:
            other.execute("INSERT INTO hard VALUES (4), (5)")
        assert ask(connection, "SELECT keys FROM after") == [(before,)]
    assert ask(connection, "SELECT keys FROM after") == [(6,)]
    connection.execute("INSERT INTO easy SELECT keys FROM after")  # read by the loop itself
    assert ask(connection, "SELECT k FROM easy") == [(6,)]
    clear(connection)


@pytest.mark.slow
def test_an_engine_that_ends_while_a_cluster_is_behind_goes_on_there(spark: SparkSession, tmp_path: Path) -> None:
    pace = Pace(interval=0.02, checkpoint=0.1)
    with Engine(spark, tmp_path, pace=pace) as engine, serving(engine) as connection:
        prepare(connection, 1_500, "heavy")
        connection.execute("INSERT INTO hard VALUES (0)")
        assert ask(connection, "SELECT keys FROM after") == [(1,)]
        for k in range(1, 3):
            connection.execute("INSERT INTO hard VALUES (%s)", (k,))
            connection.execute("INSERT INTO easy VALUES (%s)", (k,))
        slow = engine.cluster.maintained[engine.catalog.resolve(("slow",)).id]
        assert slow.frontier < engine.cluster.done
    with Engine(spark, tmp_path, pace=pace) as engine, serving(engine) as connection:
        assert ask(connection, "SELECT easy, hard FROM fast") == [(2, 3)]
        assert ask(connection, "SELECT * FROM slow ORDER BY k") == [(k, 2_250_000) for k in range(3)]
        assert ask(connection, "SELECT keys FROM after") == [(3,)]
