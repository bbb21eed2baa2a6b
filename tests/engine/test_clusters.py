"""Clusters: defined, altered, dropped and shown; objects go where they are told; without replicas they stand still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.errors import SqlError
from tailrace.server.listener import Server

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def connection(server: Server) -> Iterator[Connection]:
    dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


def ask(connection: Connection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query.encode()).fetchall()


def test_a_cluster_is_made_altered_shown_and_dropped(connection: Connection) -> None:
    connection.execute("CREATE CLUSTER small SIZE '25cc'")
    connection.execute("CREATE CLUSTER wide (SIZE = '50cc', REPLICATION FACTOR 2)")
    connection.execute("CREATE CLUSTER own REPLICAS (a (SIZE '1'), b (SIZE '2'))")
    connection.execute("COMMENT ON CLUSTER small IS 'for little things'")
    assert ask(connection, "SHOW CLUSTERS") == [
        ("quickstart", "r1 (local)", "running", ""),
        ("small", "r1 (25cc)", "running", "for little things"),
        ("wide", "r1 (50cc), r2 (50cc)", "running", ""),
        ("own", "a (1), b (2)", "running", ""),
    ]
    assert ask(connection, "SELECT replica FROM (SHOW CLUSTER REPLICAS) WHERE cluster = 'own'") == [("a",), ("b",)]
    columns = "managed, size, replication_factor"
    assert ask(connection, f"SELECT {columns} FROM mz_clusters WHERE name IN ('wide', 'own')") == [
        (True, "50cc", 2),
        (False, None, None),
    ]
    connection.execute("ALTER CLUSTER wide SET (REPLICATION FACTOR 0)")
    connection.execute("ALTER CLUSTER wide RENAME TO narrow")
    assert ask(connection, "SHOW CREATE CLUSTER narrow") == [
        ("narrow", "CREATE CLUSTER narrow (SIZE = '50cc', REPLICATION FACTOR = 0);")
    ]
    for name in ("small", "narrow", "own"):
        connection.execute(f"DROP CLUSTER {name}".encode())
    assert ask(connection, "SELECT name FROM mz_clusters") == [("quickstart",)]
    events = "SELECT event_type FROM mz_audit_events WHERE object_type = 'cluster' ORDER BY id"
    assert [event for (event,) in ask(connection, events)].count("drop") == 3


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE CLUSTER quickstart SIZE '1'", 'cluster "quickstart" already exists'),
        ("CREATE CLUSTER c", "SIZE must be specified for managed clusters"),
        ("DROP CLUSTER nowhere", "unknown cluster 'nowhere'"),
        ("ALTER CLUSTER nowhere SET (SIZE '1')", "unknown cluster 'nowhere'"),
        ("CREATE MATERIALIZED VIEW v IN CLUSTER nowhere AS SELECT 1", "unknown cluster 'nowhere'"),
        ("ALTER CLUSTER quickstart SET (SIZ '1')", "SIZ"),
        ("GRANT CREATE ON CLUSTER nowhere TO PUBLIC", "unknown cluster 'nowhere'"),
    ],
)
def test_mistakes_are_told(connection: Connection, statement: str, message: str) -> None:
    with pytest.raises(psycopg.Error, match=message):
        connection.execute(statement.encode())


def test_objects_go_where_they_are_told(connection: Connection) -> None:
    connection.execute("CREATE CLUSTER told SIZE '1'; CREATE CLUSTER other SIZE '1'")
    connection.execute("CREATE TABLE told_t (k int)")
    connection.execute("CREATE MATERIALIZED VIEW told_v IN CLUSTER told AS SELECT k FROM told_t")
    connection.execute("SET cluster = other")
    connection.execute("CREATE MATERIALIZED VIEW told_w AS SELECT k FROM told_v")
    where = "SELECT m.name, c.name FROM mz_materialized_views m JOIN mz_clusters c ON m.cluster_id = c.id ORDER BY 1"
    assert ask(connection, where) == [("told_v", "told"), ("told_w", "other")]
    assert ask(connection, "SHOW MATERIALIZED VIEWS IN CLUSTER told") == [("told_v", "told", "")]
    connection.execute("ALTER CLUSTER told SWAP WITH other")
    assert ask(connection, where) == [("told_v", "other"), ("told_w", "told")]
    assert "IN CLUSTER other" in ask(connection, "SHOW CREATE MATERIALIZED VIEW told_v")[0][1]
    with pytest.raises(psycopg.errors.DependentObjectsStillExist, match="told_v"):
        connection.execute("DROP CLUSTER other")
    connection.execute("DROP CLUSTER other CASCADE")  # and what reads from it
    assert ask(connection, where) == []
    connection.execute("DROP CLUSTER told")


def test_a_session_may_name_a_cluster_that_is_not_there(connection: Connection) -> None:
    heard: list[str] = []
    connection.add_notice_handler(lambda notice: heard.append(str(notice.message_primary)))
    connection.execute("SET cluster = nowhere")
    assert heard == ['cluster "nowhere" does not exist']
    assert ask(connection, "SHOW cluster") == [("nowhere",)]
    connection.execute("CREATE TABLE IF NOT EXISTS lone (k int)")
    with pytest.raises(psycopg.errors.UndefinedObject, match="unknown cluster 'nowhere'"):
        connection.execute("SELECT count(*) FROM lone")


def test_without_replicas_everything_in_it_stands_still_and_goes_on_later(connection: Connection) -> None:
    connection.execute("CREATE CLUSTER still SIZE '1'")
    connection.execute("CREATE TABLE still_t (k int)")
    connection.execute("CREATE MATERIALIZED VIEW still_v IN CLUSTER still AS SELECT sum(k) AS s FROM still_t")
    connection.execute("CREATE MATERIALIZED VIEW still_w AS SELECT s FROM still_v")
    connection.execute("CREATE MATERIALIZED VIEW moving AS SELECT sum(k) AS s FROM still_t")
    connection.execute("INSERT INTO still_t VALUES (1)")
    assert ask(connection, "SELECT s FROM still_w") == [(1,)]
    connection.execute("ALTER CLUSTER still SET (REPLICATION FACTOR 0)")
    connection.execute("INSERT INTO still_t VALUES (2)")
    assert ask(connection, "SELECT s FROM moving") == [(3,)]
    for view in ("still_v", "still_w"):
        with pytest.raises(psycopg.Error, match="paused") as caught:
            ask(connection, f"SELECT s FROM {view}")
        assert caught.value.sqlstate == "55000"
    statuses = "SELECT name, status FROM mz_internal.mz_materialized_view_statuses WHERE name LIKE 'still%' ORDER BY 1"
    assert ask(connection, statuses) == [("still_v", "paused"), ("still_w", "paused")]
    connection.execute("ALTER CLUSTER still SET (REPLICATION FACTOR 1)")
    connection.execute("INSERT INTO still_t VALUES (4)")
    assert ask(connection, "SELECT v.s, w.s, m.s FROM still_v v, still_w w, moving m") == [(7, 7, 7)]
    connection.execute("DROP CLUSTER still CASCADE")


def test_a_role_needs_to_be_let_in(engine: Engine, connection: Connection) -> None:
    connection.execute("CREATE CLUSTER closed SIZE '1'; CREATE ROLE guest LOGIN")
    connection.execute("GRANT CREATE ON SCHEMA public TO guest")
    guest = engine.session()
    guest.login = "guest"
    statement = "CREATE MATERIALIZED VIEW of_guest IN CLUSTER closed AS SELECT 1 AS one"
    with pytest.raises(SqlError, match='permission denied for CLUSTER "closed"'):
        list(guest.sql(statement))
    with pytest.raises(SqlError, match="must be owner of CLUSTER closed"):
        list(guest.sql("ALTER CLUSTER closed SET (REPLICATION FACTOR 0)"))
    with pytest.raises(SqlError, match="permission denied to create cluster"):
        list(guest.sql("CREATE CLUSTER mine SIZE '1'"))
    connection.execute("GRANT CREATE ON CLUSTER closed TO guest")
    list(guest.sql(statement))
    connection.execute("DROP CLUSTER closed CASCADE")


def test_queries_of_a_cluster_share_the_cores_with_the_ticks_and_not_their_queue(
    engine: Engine, connection: Connection
) -> None:
    connection.execute("CREATE CLUSTER asking SIZE '1'")
    connection.execute("CREATE TABLE asked (k int)")
    jobs = engine.store.work.jobs
    numbers = "generate_series(1, 500000) k"
    connection.execute(f"CREATE MATERIALIZED VIEW counted AS SELECT k, count(*) FROM {numbers} GROUP BY k".encode())
    assert ask(connection, "SELECT count(*) FROM counted") == [(500_000,)]
    assert engine.store.work.jobs > jobs  # small ticks run none
    connection.execute("SET cluster = asking")
    assert ask(connection, "SELECT count(*) FROM asked") == [(0,)]
    [(id,)] = ask(connection, "SELECT id FROM mz_clusters WHERE name = 'asking'")
    pools = engine.spark.sparkContext._jsc.sc().getAllPools()
    names = {pools.apply(i).name() for i in range(pools.size())}
    assert f"cluster {id}" in names
    assert any(name.startswith("ticks") for name in names)


def test_a_query_in_the_loops_thread_leaves_nothing_there(engine: Engine, connection: Connection) -> None:
    connection.execute("CREATE TABLE left_behind (k int)")
    connection.execute("INSERT INTO left_behind SELECT count(*) FROM left_behind")
    context = engine.spark.sparkContext
    names = ("spark.jobGroup.id", "spark.scheduler.pool")
    assert engine.loop.do(lambda: [context.getLocalProperty(name) for name in names]) == [None, "ticks"]


def test_clusters_outlive_the_process(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark, tmp_path) as engine:
        engine.sql("CREATE CLUSTER kept (SIZE = '1', REPLICATION FACTOR 0); CREATE TABLE t (k int)")
        engine.sql("CREATE MATERIALIZED VIEW v IN CLUSTER kept AS SELECT count(*) AS n FROM t")
        engine.sql("INSERT INTO t VALUES (1)")
    with Engine(spark, tmp_path) as engine:
        with pytest.raises(SqlError, match="paused"):
            engine.sql("SELECT n FROM v")
        engine.sql("ALTER CLUSTER kept SET (REPLICATION FACTOR 1)")
        found = engine.sql("SELECT n FROM v")
        assert found is not None
        assert found.to_pylist() == [{"n": 1}]
        engine.sql("DROP CLUSTER quickstart")
    with Engine(spark, tmp_path) as engine:
        assert [cluster.name for cluster in engine.clusters.all()] == ["kept"]
