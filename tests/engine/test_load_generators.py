"""LOAD GENERATOR and CREATE TABLE … FROM SOURCE: rows out of thin air, the same when they are asked for again."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.errors import SqlError, TailraceError
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.topics import produce
from tailrace.ticks.loop import Pace

FAST = Pace(interval=0.02)


def rows(engine: Engine, query: str) -> list[tuple[Any, ...]]:
    table = engine.sql(query)
    assert table is not None
    return [tuple(row.values()) for row in table.to_pylist()]


def until(engine: Engine, query: str, expected: list[tuple[Any, ...]]) -> None:
    deadline = time.monotonic() + 60
    while (found := rows(engine, query)) != expected:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def test_a_counter_counts_and_forgets(spark: SparkSession) -> None:
    with Engine(spark, pace=FAST) as engine:
        engine.sql("CREATE SOURCE counted FROM LOAD GENERATOR COUNTER (TICK INTERVAL '10ms', UP TO 7)")
        few = "TICK INTERVAL '10ms', UP TO 9, MAX CARDINALITY 3"
        engine.sql(f"CREATE SOURCE few (n) FROM LOAD GENERATOR COUNTER ({few})")
        engine.sql("CREATE MATERIALIZED VIEW summed AS SELECT sum(n) AS s, count(*) AS n FROM few")
        until(engine, "SELECT count(*), min(counter), max(counter) FROM counted", [(7, 1, 7)])
        until(engine, "SELECT s, n FROM summed", [(24, 3)])  # 7, 8, 9
        for rest, message in (
            ("MARKETING", "LOAD GENERATOR MARKETING not yet supported"),
            ("COUNTER EXPOSE PROGRESS AS p", "EXPOSE PROGRESS AS not yet supported"),
            ("COUNTER FOR ALL TABLES", "FOR ALL TABLES cannot be used with COUNTER"),
            ("COUNTER FORMAT JSON", "takes no FORMAT"),
        ):
            with pytest.raises(SqlError, match=message):
                engine.sql(f"CREATE SOURCE m FROM LOAD GENERATOR {rest}")


def test_an_auction_goes_on_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    """A copy of the data directory, as `kill -9` would leave it, comes to the same rows at the same ticks."""
    totals = "SELECT count(*) AS n, count(DISTINCT auction_id) AS a, sum(amount) AS s, max(bid_time) AS t FROM bids"
    with Engine(spark, tmp_path / "first", pace=Pace(interval=0.02, checkpoint=3600)) as engine:
        engine.sql("CREATE SOURCE house FROM LOAD GENERATOR AUCTION (TICK INTERVAL '5ms', UP TO 100) FOR ALL TABLES")
        engine.sql(f"CREATE MATERIALIZED VIEW totals AS {totals}")
        until(engine, "SELECT count(*) FROM bids", [(100,)])
        joined = "SELECT count(*) FROM bids b JOIN auctions a ON a.id = b.auction_id JOIN users u ON u.id = b.buyer"
        assert rows(engine, joined) == [(100,)]
        assert rows(engine, "SELECT count(*) FROM accounts JOIN organizations USING (id)") == [(5,)]
        found = rows(engine, "SELECT * FROM totals")
        assert found == rows(engine, totals)
        with pytest.raises(TailraceError, match="cannot be selected from"):
            engine.sql("SELECT * FROM house")
        engine.loop.do(lambda: shutil.copytree(tmp_path / "first", tmp_path / "killed"))
    with Engine(spark, tmp_path / "killed", pace=FAST) as again:
        assert rows(again, "SELECT * FROM totals") == found
        again.sql("DROP SOURCE house CASCADE")
        assert rows(again, "SELECT name FROM mz_objects WHERE id LIKE 'u%'") == []


def test_tpch_changes_one_order_a_tick(spark: SparkSession) -> None:
    with Engine(spark, pace=FAST) as engine:
        engine.sql("CREATE SOURCE trade FROM LOAD GENERATOR TPCH (SCALE FACTOR 0.0001, TICK INTERVAL '5ms', UP TO 301)")
        for table in ("orders", "lineitem", "customer", "nation", "region", "part", "partsupp", "supplier"):
            engine.sql(f"CREATE TABLE {table} FROM SOURCE trade (REFERENCE {table})")
        engine.sql(
            "CREATE MATERIALIZED VIEW spent AS SELECT r_name, count(*) AS n, sum(l_extendedprice) AS s FROM lineitem"
            " JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey"
            " JOIN nation ON c_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey GROUP BY r_name"
        )
        until(engine, "SELECT offset_committed FROM mz_internal.mz_source_statistics", [(301,)])
        assert rows(engine, "SELECT count(*) AS n, count(DISTINCT o_orderkey) AS k FROM orders") == [(150, 150)]
        lines = rows(engine, "SELECT count(*) AS n, sum(l_extendedprice) AS s FROM lineitem")
        assert rows(engine, "SELECT sum(n)::bigint AS n, sum(s) AS s FROM spent") == lines
        stocked = "SELECT count(*) FROM lineitem JOIN partsupp ON (l_partkey, l_suppkey) = (ps_partkey, ps_suppkey)"
        assert rows(engine, stocked) == [(lines[0][0],)]
        with pytest.raises(SqlError, match='source "trade" has no table "lines"'):
            engine.sql("CREATE TABLE x FROM SOURCE trade (REFERENCE lines)")
        with pytest.raises(SqlError, match="INSERT of a table that is made from a source not supported"):
            engine.sql("INSERT INTO region VALUES (9, 'x', '')")


def test_a_topic_may_be_read_in_several_ways(
    spark: SparkSession, broker: Broker, topic: TopicFactory, tmp_path: Path
) -> None:
    name = topic("several")
    produce(broker.bootstrap, name, [("a", '{"n": 1}'), ("b", '{"n": 2}'), ("a", '{"n": 3}')])
    with Engine(spark, tmp_path, pace=FAST) as engine:
        engine.sql(f"CREATE CONNECTION k TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT)")
        engine.sql(f"CREATE SOURCE raw FROM KAFKA CONNECTION k (TOPIC '{name}')")
        engine.sql(f'CREATE TABLE lines FROM SOURCE raw (REFERENCE "{name}") FORMAT TEXT')
        engine.sql("CREATE TABLE latest FROM SOURCE raw KEY FORMAT TEXT VALUE FORMAT JSON ENVELOPE UPSERT")
        engine.sql("CREATE MATERIALIZED VIEW paired AS SELECT count(*) AS n FROM lines, latest")
        until(engine, "SELECT key, data->>'n' FROM latest ORDER BY key", [("a", "3"), ("b", "2")])
        until(engine, "SELECT n FROM paired", [(6,)])
        for query, message in (
            ("SELECT * FROM raw", "cannot be selected from"),
            ("CREATE TABLE x FROM SOURCE raw", "needs a FORMAT"),
            ("CREATE TABLE x FROM SOURCE raw (REFERENCE other) FORMAT TEXT", 'has no topic "other"'),
            ("DROP SOURCE raw", "still depended upon"),
        ):
            with pytest.raises(TailraceError, match=message):
                engine.sql(query)
    produce(broker.bootstrap, name, [("b", None)])
    with Engine(spark, tmp_path, pace=FAST) as engine:
        until(engine, "SELECT key, data->>'n' FROM latest ORDER BY key", [("a", "3")])
        assert "FROM SOURCE" in str(rows(engine, "SHOW CREATE TABLE lines"))
