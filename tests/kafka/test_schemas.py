"""What comes with a source or a table is in its schema, and reads and writes on after a restart, whatever the path."""

from __future__ import annotations

import time
from pathlib import Path

from pyspark.sql import SparkSession

from kafka.flink_tables import options, rows, send
from tailrace.engine.engine import Engine
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.topics import read_committed

MADE = """
CREATE SCHEMA x;
SET search_path = x;
CREATE CONNECTION k TO KAFKA (BROKER '{broker}', SECURITY PROTOCOL PLAINTEXT);
CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC '{read}') FORMAT JSON EXPOSE PROGRESS AS p;
CREATE TABLE f (a INT) {reading};
CREATE MATERIALIZED VIEW m AS SELECT a FROM f /*+ OPTIONS('properties.client.id' = 'mine') */;
CREATE TABLE g (a INT) {writing};
INSERT INTO g SELECT a FROM f /*+ OPTIONS('properties.client.id' = 'other') */;
CREATE SINK o FROM m INTO KAFKA CONNECTION k (TOPIC '{sunk}') FORMAT JSON ENVELOPE DEBEZIUM;
"""


def test_what_comes_with_an_object_is_in_its_schema(
    spark: SparkSession, broker: Broker, topic: TopicFactory, tmp_path: Path
) -> None:
    read, written, sunk = topic("read"), topic("written"), topic("sunk")
    send(broker, read, {"a": 1})
    with Engine(spark, data_dir=tmp_path) as engine:
        made = MADE.format(
            broker=broker.bootstrap,
            read=read,
            sunk=sunk,
            reading=options(broker, read, format="json"),
            writing=options(broker, written, format="json"),
        )
        for _ in engine.session().sql(made):
            pass
        wait_for(broker, 1, written, sunk)
        items = [item.name for item in engine.catalog.items.values() if item.id.startswith("u")]
        assert {name.schema for name in items} == {"x"}
        assert {"s_dead_letters", "p"} <= {name.item for name in items}
        engine.sql("ALTER SCHEMA x RENAME TO y")
    send(broker, read, {"a": 2})
    with Engine(spark, data_dir=tmp_path) as engine:
        wait_for(broker, 2, written, sunk)
        assert rows(engine, "SELECT a FROM y.m") == [(1,), (2,)]
        assert len(rows(engine, "SELECT data FROM y.s")) == 2


def wait_for(broker: Broker, messages: int, *topics: str) -> None:
    """Exactly so many are in each topic in the end."""
    deadline = time.monotonic() + 60
    for name in topics:
        while len(found := read_committed(broker.bootstrap, name)) < messages:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert len(found) == messages
