"""SUBSCRIBE and AS OF, as clients use them: times, snapshots, progress, envelopes, cursors, and going on later."""

from __future__ import annotations

import itertools
import time as clock
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

from tailrace.engine import subscription
from tailrace.engine.engine import Engine
from tailrace.server.listener import Server
from tailrace.ticks.loop import Pace

_names = itertools.count(1)
_PATIENCE = 60.0
Row = tuple[Any, ...]


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection]:
    dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


@pytest.fixture
def writer(server: Server) -> Iterator[psycopg.Connection]:
    dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


@pytest.fixture
def table(writer: psycopg.Connection) -> str:
    name = f"t{next(_names)}"
    writer.execute(f"CREATE TABLE {name} (k int, v text) WITH (RETAIN HISTORY FOR '1 hour')".encode())
    writer.execute(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')".encode())
    return name


def last_tick(connection: psycopg.Connection) -> int:
    [(tick,)] = connection.execute("SELECT max(tick)::bigint FROM mz_internal.mz_ticks").fetchall()
    return int(tick)


def follow(connection: psycopg.Connection, subscribe: str) -> None:
    connection.execute("BEGIN")
    connection.execute(f"DECLARE c CURSOR FOR {subscribe}".encode())


def fetched(connection: psycopg.Connection, what: str = "ALL", timeout: str = "2s") -> list[Row]:
    return connection.execute(f"FETCH {what} c WITH (TIMEOUT '{timeout}')".encode()).fetchall()


def some(connection: psycopg.Connection, count: int) -> list[Row]:
    """Exactly so many rows, once they are there."""
    rows: list[Row] = []
    deadline = clock.monotonic() + _PATIENCE
    while len(rows) < count:
        rows += fetched(connection, str(count - len(rows)), "1s")
        assert clock.monotonic() < deadline, rows
    return rows


def test_content_comes_first_then_every_change(connection: psycopg.Connection, writer: Any, table: str) -> None:
    follow(connection, f"SUBSCRIBE {table}")
    first = some(connection, 2)
    assert sorted(row[1:] for row in first) == [(1, 1, "a"), (1, 2, "b")]
    assert len({row[0] for row in first}) == 1
    writer.execute(f"UPDATE {table} SET v = 'c' WHERE k = 1")
    later = some(connection, 2)
    assert sorted(row[1:] for row in later) == [(-1, 1, "a"), (1, 1, "c")]
    assert later[0][0] > first[0][0]
    query = "SELECT o.name FROM mz_internal.mz_subscriptions s JOIN mz_objects o ON o.id = s.referenced_object_ids[1]"
    assert writer.execute(query).fetchall() == [(table,)]
    assert fetched(connection, timeout="0s") == []


def test_rows_after_a_time_are_sent_once_and_none_is_missed(connection: Any, writer: Any, table: str) -> None:
    """The loop of other-sinks: a client that stores its progress goes on where it stopped."""
    state: dict[int, str] = {}
    progress: int | None = None
    for round in range(4):
        writer.execute(f"INSERT INTO {table} VALUES ({10 + round}, 'x')")
        writer.execute(f"DELETE FROM {table} WHERE k = {9 + round}")
        where = "" if progress is None else f"AS OF {progress - 1}"
        snapshot = progress is None
        follow(connection, f"SUBSCRIBE {table} WITH (PROGRESS, SNAPSHOT = {snapshot}) {where}")
        assert some(connection, 1)[0][1], "the first row says where it begins"
        writer.execute(f"INSERT INTO {table} VALUES ({100 + round}, 'while it listens')")
        writer.execute(f"INSERT INTO {table} VALUES ({200 + round}, 'after it')")  # or who would see it come twice?
        pending: list[Row] = []
        deadline = clock.monotonic() + _PATIENCE
        while 200 + round not in state:
            assert clock.monotonic() < deadline, state
            for time, progressed, diff, k, v in some(connection, 1):
                if not progressed:
                    pending.append((diff, k, v))
                    continue
                for d, key, value in sorted(pending):
                    if d < 0:
                        assert state.pop(key) == value
                    else:
                        assert key not in state
                        state[key] = value
                pending, progress = [], int(time)
        connection.execute("ROLLBACK")
    assert sorted(state.items()) == sorted(writer.execute(f"SELECT k, v FROM {table}").fetchall())


def _forgets_the_past(*_: Any, **__: Any) -> Iterator[subscription.Change]:
    return iter(())


def _tells_nothing(self: subscription.QueueSink, change: subscription.Change) -> None:
    """A queue that a reader waits at in vain."""


def _tells_twice(self: subscription.QueueSink, change: subscription.Change) -> None:
    for _ in range(2):
        self.waiting.put_nowait(change)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "name", "instead"),
    [
        (subscription, "_past", _forgets_the_past),
        (subscription.QueueSink, "_offer", _tells_nothing),
        (subscription.QueueSink, "_offer", _tells_twice),
    ],
    ids=["forgets", "is silent", "stutters"],
)
def test_it_is_noticed_when_a_subscription(
    monkeypatch: pytest.MonkeyPatch, connection: Any, writer: Any, table: str, where: Any, name: str, instead: Any
) -> None:
    """What the test above proves, it does not prove without the defence; and it ends all the same."""
    monkeypatch.setattr(where, name, instead)
    monkeypatch.setitem(globals(), "_PATIENCE", 4.0)
    with pytest.raises(AssertionError):
        test_rows_after_a_time_are_sent_once_and_none_is_missed(connection, writer, table)


def test_single_ticks_of_the_past_stay_apart(connection: Any, writer: Any, table: str) -> None:
    [(start,)] = writer.execute(
        f"SELECT write_frontier FROM mz_internal.mz_frontiers f JOIN mz_tables t"
        f" ON t.id = f.object_id WHERE t.name = '{table}'"
    ).fetchall()
    writer.execute(f"INSERT INTO {table} VALUES (3, 'x')")
    writer.execute(f"UPDATE {table} SET v = 'y' WHERE k = 3")
    writer.execute(f"DELETE FROM {table} WHERE k = 3")
    follow(connection, f"SUBSCRIBE {table} WITH (SNAPSHOT = false) AS OF {start}")
    rows = some(connection, 4)
    assert sorted(row[1:] for row in rows[1:3]) == [(-1, 3, "x"), (1, 3, "y")]
    assert [rows[0][1:], rows[3][1:]] == [(1, 3, "x"), (-1, 3, "y")]
    assert rows[0][0] < rows[1][0] == rows[2][0] < rows[3][0]
    connection.execute("ROLLBACK")
    content = connection.execute(f"SELECT k, v FROM {table} ORDER BY k AS OF {rows[1][0]}").fetchall()
    assert content == [(1, "a"), (2, "b"), (3, "y")]
    grouped = connection.execute(f"SELECT count(*) FROM {table} AS OF {rows[0][0]}").fetchall()
    assert grouped == [(3,)]


def test_a_query_of_its_own_is_followed_from_the_past(connection: Any, writer: Any, table: str) -> None:
    before = last_tick(writer)
    writer.execute(f"INSERT INTO {table} VALUES (4, 'a')")
    follow(connection, f"SUBSCRIBE (SELECT v, count(*) AS n FROM {table} GROUP BY v) AS OF {before}")
    rows = some(connection, 4)
    assert sorted(row[1:] for row in rows[:2]) == [(1, "a", 1), (1, "b", 1)]
    assert sorted(row[1:] for row in rows[2:]) == [(-1, "a", 1), (1, "a", 2)]
    assert {int(row[0]) for row in rows[:2]} == {before}


def test_times_that_are_forgotten_are_refused(connection: psycopg.Connection, table: str) -> None:
    for statement in (f"SELECT * FROM {table} AS OF 1000", f"SUBSCRIBE {table} WITH (SNAPSHOT = false) AS OF 1000"):
        with pytest.raises(psycopg.DataError, match=r"Timestamp \(1000\) is not valid for all inputs"):
            connection.execute(statement.encode())


@pytest.mark.parametrize("time", ["NULL", "true", "'soon'", "1.5"])
def test_what_is_no_time_is_refused(connection: psycopg.Connection, table: str, time: str) -> None:
    with pytest.raises(psycopg.DataError, match="should be castable to a"):
        connection.execute(f"SELECT * FROM {table} AS OF {time}".encode())


def test_a_subscription_ends_before_its_upper_bound(connection: Any, writer: Any, table: str) -> None:
    now = last_tick(writer)
    writer.execute(f"INSERT INTO {table} VALUES (5, 'e')")
    subscribe = f"SUBSCRIBE {table} WITH (SNAPSHOT = false) AS OF {now} UP TO"
    assert connection.execute(f"{subscribe} {now}").fetchall() == []
    assert connection.execute(f"{subscribe} {now + 1}").fetchall() == []
    last = last_tick(writer)
    assert [row[1:] for row in connection.execute(f"{subscribe} {last + 1}").fetchall()] == [(1, 5, "e")]
    with pytest.raises(psycopg.DataError, match="subscription lower bound"):
        connection.execute(f"{subscribe} {now - 1}")


def test_a_constant_comes_to_an_end(connection: psycopg.Connection) -> None:
    rows = connection.execute("SUBSCRIBE (SELECT 1 AS one UNION ALL SELECT 2)").fetchall()
    assert sorted(row[1:] for row in rows) == [(1, 1), (1, 2)]


def test_upsert_tells_the_latest_of_each_key(connection: Any, writer: Any, table: str) -> None:
    follow(connection, f"SUBSCRIBE {table} ENVELOPE UPSERT (KEY (k))")
    assert sorted(row[1:] for row in some(connection, 2)) == [("upsert", 1, "a"), ("upsert", 2, "b")]
    writer.execute(f"UPDATE {table} SET v = 'c' WHERE k = 1")
    assert [row[1:] for row in some(connection, 1)] == [("upsert", 1, "c")]
    writer.execute(f"DELETE FROM {table} WHERE k = 1")
    assert [row[1:] for row in some(connection, 1)] == [("delete", 1, None)]
    writer.execute(f"INSERT INTO {table} VALUES (7, 'x'), (7, 'y')")
    assert [row[1:] for row in some(connection, 1)] == [("key_violation", 7, None)]


def test_debezium_tells_before_and_after(connection: Any, writer: Any, table: str) -> None:
    follow(connection, f"SUBSCRIBE {table} ENVELOPE DEBEZIUM (KEY (k))")
    assert sorted(row[1:] for row in some(connection, 2)) == [("insert", 1, None, "a"), ("insert", 2, None, "b")]
    writer.execute(f"UPDATE {table} SET v = 'c' WHERE k = 1")
    assert [row[1:] for row in some(connection, 1)] == [("upsert", 1, "a", "c")]
    writer.execute(f"DELETE FROM {table} WHERE k = 2")
    assert [row[1:] for row in some(connection, 1)] == [("delete", 2, "b", None)]


def test_rows_of_one_time_come_in_the_order_asked_for(connection: Any, writer: Any, table: str) -> None:
    writer.execute(f"INSERT INTO {table} VALUES (3, 'a'), (4, NULL)")
    follow(connection, f"SUBSCRIBE {table} WITHIN TIMESTAMP ORDER BY v DESC NULLS LAST, k")
    assert [row[2:] for row in some(connection, 4)] == [(2, "b"), (1, "a"), (3, "a"), (4, None)]
    writer.execute(f"UPDATE {table} SET v = 'z' WHERE k = 1")
    connection.execute("ROLLBACK")
    with pytest.raises(psycopg.Error, match="invalid ORDER BY in SUBSCRIBE WITHIN TIMESTAMP ORDER BY"):
        connection.execute(f"SUBSCRIBE {table} WITHIN TIMESTAMP ORDER BY k + 1")


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("ENVELOPE UPSERT (KEY (nope))", r"invalid keys in SUBSCRIBE ENVELOPE UPSERT \(KEY \(nope\)\)"),
        ("ENVELOPE UPSERT (KEY (k, k))", 'column "k" appears more than once in SUBSCRIBE ENVELOPE KEY clause'),
    ],
)
def test_bad_keys_are_refused(connection: psycopg.Connection, table: str, clause: str, message: str) -> None:
    with pytest.raises(psycopg.Error, match=message):
        connection.execute(f"SUBSCRIBE {table} {clause}".encode())


def test_copy_streams_a_subscription(connection: Any, writer: Any, table: str) -> None:
    with connection.cursor().copy(f"COPY (SUBSCRIBE {table}) TO STDOUT") as copy:
        rows = copy.rows()
        assert sorted(tuple(next(rows))[1:] for _ in range(2)) == [("1", "1", "a"), ("1", "2", "b")]
        writer.execute(f"INSERT INTO {table} VALUES (3, 'tab\there')")
        assert tuple(next(rows))[1:] == ("1", "3", "tab\there")
        connection.cancel_safe()
        with pytest.raises(psycopg.errors.QueryCanceled):
            next(rows)


def test_cursors_keep_to_their_rules(connection: psycopg.Connection, table: str) -> None:
    with pytest.raises(psycopg.errors.NoActiveSqlTransaction):
        connection.execute(f"DECLARE c CURSOR FOR SUBSCRIBE {table}".encode())
    connection.execute("BEGIN")
    connection.execute(f"DECLARE c CURSOR FOR SELECT k FROM {table} ORDER BY k".encode())
    assert connection.execute("FETCH 1 c").fetchall() == [(1,)]
    assert connection.execute("FETCH ALL c").fetchall() == [(2,)]
    assert connection.execute("FETCH 5 c").fetchall() == []
    connection.execute("SAVEPOINT s")
    with pytest.raises(psycopg.errors.DuplicateCursor):
        connection.execute("DECLARE c CURSOR FOR SELECT 1")
    connection.execute("ROLLBACK TO s")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        connection.execute(f"DECLARE d CURSOR FOR SUBSCRIBE {table}".encode())
    connection.execute("ROLLBACK TO s")
    connection.execute("CLOSE c")
    with pytest.raises(psycopg.errors.InvalidCursorName):
        connection.execute("FETCH 1 c")
    connection.execute("ROLLBACK")


def test_history_outlives_a_restart(spark: SparkSession, tmp_path: Any) -> None:
    with Engine(spark, tmp_path, pace=Pace(interval=0.02)) as engine:
        engine.sql("CREATE TABLE h (k int) WITH (RETAIN HISTORY FOR '1 hour')")
        engine.sql(
            "CREATE MATERIALIZED VIEW m WITH (RETAIN HISTORY FOR '1 hour') AS SELECT k % 2 AS p, count(*) AS n"
            " FROM h GROUP BY k % 2"
        )
        ticks = []
        for k in range(6):
            engine.sql(f"INSERT INTO h VALUES ({k})")
            ticks.append(engine.cluster.done)
    with Engine(spark, tmp_path, pace=Pace(interval=0.02)) as engine:
        for k, tick in enumerate(ticks):
            answer = engine.sql(f"SELECT sum(n) AS n FROM m AS OF {tick}")
            assert answer is not None
            assert answer.to_pylist() == [{"n": k + 1}]
        engine.sql("INSERT INTO h VALUES (6)")
        rows = engine.sql(f"SUBSCRIBE m WITH (SNAPSHOT = false) AS OF {ticks[2]} UP TO {engine.cluster.done + 1}")
        assert rows is not None
        net: dict[tuple[int, int], int] = {}
        for row in rows.to_pylist():
            net[row["p"], row["n"]] = net.get((row["p"], row["n"]), 0) + row["mz_diff"]
        assert {key: diff for key, diff in net.items() if diff} == {(0, 2): -1, (0, 4): 1, (1, 1): -1, (1, 3): 1}
        assert len({row["mz_timestamp"] for row in rows.to_pylist()}) == 4


def test_system_relations_are_followed_too(connection: Any, writer: Any, table: str) -> None:
    query = "SELECT name, type FROM mz_objects WHERE name LIKE 'followed%'"
    follow(connection, f"SUBSCRIBE ({query}) WITH (PROGRESS)")
    [(start, progressed, *_)] = some(connection, 1)
    assert progressed
    writer.execute("CREATE TABLE followed1 (k int)")
    seen: list[Row] = []
    deadline = clock.monotonic() + _PATIENCE
    while len(seen) < 2:
        assert clock.monotonic() < deadline, seen
        rows = some(connection, 1)
        seen += [row for row in rows if not row[1]]
        if len(seen) == 1:
            writer.execute("DROP TABLE IF EXISTS followed1")
    assert [row[2:] for row in seen] == [(1, "followed1", "table"), (-1, "followed1", "table")]
    assert start < seen[0][0] < seen[1][0]
    connection.execute("ROLLBACK")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        connection.execute(f"SUBSCRIBE (SELECT * FROM {table}, mz_objects)")
