"""What the catalog says of sinks that run: the queries of the troubleshooting page, against a real broker."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka.flink_tables import options
from tailrace.engine.engine import Engine
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.ticks.loop import Pace

_PATIENCE = 60.0


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: Broker) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02, retry=0.1)) as opened:
        opened.sql(
            f"CREATE CONNECTION c TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT);"
            " CREATE TABLE t (k int, v int)"
        )
        yield opened


def rows(engine: Engine, query: str) -> list[tuple[Any, ...]]:
    answer = engine.sql(query)
    assert answer is not None
    return [tuple(row.values()) for row in answer.to_pylist()]


def wait_for(engine: Engine, query: str, wanted: list[tuple[Any, ...]]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while (found := rows(engine, query)) != wanted:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def test_a_sink_says_how_it_is_and_what_it_has_sent(engine: Engine, topic: TopicFactory) -> None:
    name = topic("catalog")
    engine.sql("CREATE MATERIALIZED VIEW m AS SELECT k, sum(10 / v) AS s FROM t GROUP BY k")
    engine.sql(
        f"CREATE SINK my_sink FROM m INTO KAFKA CONNECTION c (TOPIC '{name}') KEY (k)"
        " KEY FORMAT TEXT VALUE FORMAT JSON ENVELOPE UPSERT"
    )
    engine.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    status = "SELECT status, error FROM mz_internal.mz_sink_statuses WHERE name = 'my_sink'"
    wait_for(engine, status, [("running", None)])
    [(id,)] = rows(engine, "SELECT id FROM mz_sinks WHERE name = 'my_sink'")
    statistics = (
        "SELECT messages_staged, messages_committed, bytes_staged, bytes_committed"
        f" FROM mz_internal.mz_sink_statistics WHERE id = '{id}'"
    )
    deadline = time.monotonic() + _PATIENCE
    while not (found := rows(engine, statistics)) or found[0][1] < 2:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    [(staged, committed, bytes_staged, bytes_committed)] = found
    assert staged == committed == 2
    assert bytes_staged == bytes_committed > 0
    assert rows(
        engine,
        "SELECT s.type, s.envelope_type, s.format, s.key_format, s.value_format, c.name, k.topic FROM mz_sinks s"
        " JOIN mz_connections c ON c.id = s.connection_id JOIN mz_kafka_sinks k ON k.id = s.id"
        " WHERE s.name = 'my_sink'",
    ) == [("kafka", "upsert", "key-text-value-json", "text", "json", "c", name)]
    [(progress,)] = rows(engine, "SELECT sink_progress_topic FROM mz_kafka_connections")
    assert progress.startswith("_materialize-progress-")

    engine.sql("INSERT INTO t VALUES (3, 0)")  # the view cannot be computed, and the sink waits with it
    query = "SELECT status, error, details->'namespaced'->>'kafka' AS cause FROM"
    wait_for(
        engine,
        f"{query} mz_internal.mz_sink_statuses WHERE name = 'my_sink'",
        [("stalled", "kafka: division by zero", "division by zero")],
    )
    engine.sql("DELETE FROM t WHERE v = 0")
    wait_for(engine, status, [("running", None)])
    engine.sql("DROP SINK my_sink")
    history = f"SELECT status FROM mz_internal.mz_sink_status_history WHERE sink_id = '{id}' ORDER BY occurred_at"
    assert [status for (status,) in rows(engine, history)] == ["starting", "running", "stalled", "running", "dropped"]


def test_a_job_of_flinks_is_a_sink_too(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("catalog_job")
    upsert = {"connector": "upsert-kafka", "key.format": "json", "value.format": "json"}
    columns = "k INT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED"
    engine.sql(f"CREATE TABLE flinked ({columns}) {options(broker, name, **upsert)}")
    engine.sql("INSERT INTO flinked SELECT k, count(*) FROM t GROUP BY k")
    query = (
        "SELECT s.type, s.envelope_type, s.value_format, k.topic, t.status FROM mz_sinks s"
        " JOIN mz_kafka_sinks k ON k.id = s.id JOIN mz_internal.mz_sink_statuses t ON t.id = s.id"
    )
    wait_for(engine, query, [("kafka", "upsert", "json", name, "running")])
