"""Where reading a Flink table begins and ends, which topics it has, and what its consumer group is told."""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]  # not marked as exported
from pyspark.sql import SparkSession

from kafka.flink_tables import options, rows, send
from tailrace.engine.engine import Engine
from tailrace.errors import SqlError
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.topics import create_topic, read_committed
from tailrace.ticks.loop import Pace


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02)) as opened:
        yield opened


def commit(broker: Broker, group: str, topic: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def committed(broker: Broker, group: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    [place] = consumer.committed([TopicPartition(topic, 0)], timeout=10)
    consumer.close()
    return int(place.offset)


def until(engine: Engine, query: str, expected: list[tuple[object, ...]]) -> None:
    """Waits for a result that must come."""
    deadline = time.monotonic() + 60
    while (found := rows(engine, query)) != expected:
        assert time.monotonic() < deadline, found
        engine.settle()


def read(engine: Engine, broker: Broker, topic: str, more: dict[str, str]) -> list[object]:
    """What a table with these options holds after its first tick."""
    table = f"t{uuid.uuid4().hex[:8]}"
    engine.sql(f"CREATE TABLE {table} (n INT) {options(broker, topic, format='json', **more)}")
    return [n for (n,) in rows(engine, f"SELECT n FROM {table}")]


def test_reading_begins_where_the_mode_says(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    numbers = topic("numbers")
    send(broker, numbers, *({"n": n} for n in range(4)))
    group = f"group-{numbers}"
    commit(broker, group, numbers, 3)
    third = read_committed(broker.bootstrap, numbers)[2]
    assert read(engine, broker, numbers, {}) == [0, 1, 2, 3]
    assert read(engine, broker, numbers, {"scan.startup.mode": "latest-offset"}) == []
    specific = {"scan.startup.mode": "specific-offsets", "scan.startup.specific-offsets": "partition:0,offset:2"}
    assert read(engine, broker, numbers, specific) == [2, 3]
    by_group = {"scan.startup.mode": "group-offsets", "properties.group.id": group}
    assert read(engine, broker, numbers, by_group) == [3]
    stamped = {"scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": str(third.timestamp)}
    assert set(read(engine, broker, numbers, stamped)) >= {2, 3}
    later = {"scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": str(third.timestamp + 10**9)}
    assert read(engine, broker, numbers, later) == []


def test_a_group_without_offsets_needs_to_be_told_where(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    numbers = topic("numbers")
    send(broker, numbers, {"n": 1})
    nothing = {"scan.startup.mode": "group-offsets", "properties.group.id": f"none-{numbers}"}
    with pytest.raises(SqlError, match="Undefined offset with no reset policy") as caught:
        read(engine, broker, numbers, nothing)
    assert "auto.offset.reset" in (caught.value.hint or "")
    assert read(engine, broker, numbers, nothing | {"properties.auto.offset.reset": "earliest"}) == [1]


def test_reading_ends_where_the_mode_says(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    numbers = topic("numbers")
    send(broker, numbers, *({"n": n} for n in range(4)))
    third = read_committed(broker.bootstrap, numbers)[2]
    group = f"group-{numbers}"
    commit(broker, group, numbers, 1)
    ends = {
        "latest-offset": {},
        "specific-offsets": {"scan.bounded.specific-offsets": "partition:0,offset:2"},
        "group-offsets": {"properties.group.id": group},
        "timestamp": {"scan.bounded.timestamp-millis": str(third.timestamp + 10**9)},
    }
    found = {}
    for mode, more in ends.items():
        engine.sql(
            f"CREATE TABLE \"to {mode}\" (n INT) "
            + options(broker, numbers, format="json", **{"scan.bounded.mode": mode}, **more)
        )
        found[mode] = rows(engine, f'SELECT n FROM "to {mode}"')
    send(broker, numbers, {"n": 4})
    engine.sql(f"CREATE TABLE unbounded (n INT) {options(broker, numbers, format='json')}")
    until(engine, "SELECT count(*) FROM unbounded", [(5,)])
    assert found == {mode: rows(engine, f'SELECT n FROM "to {mode}"') for mode in ends}
    assert {mode: len(each) for mode, each in found.items()} == {
        "latest-offset": 4,
        "specific-offsets": 2,
        "group-offsets": 1,
        "timestamp": 4,
    }


def test_several_topics_are_one_table(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    one, two = topic("one", partitions=2), topic("two")
    send(broker, one, {"n": 1}, partition=1)
    send(broker, two, {"n": 2})
    engine.sql(
        "CREATE TABLE both_topics (n INT, origin STRING METADATA FROM 'topic' VIRTUAL) "
        + options(broker, f"{one};{two}", format="json")
    )
    assert rows(engine, "SELECT * FROM both_topics") == [(1, one), (2, two)]


def test_a_pattern_finds_topics_that_come_later(engine: Engine, broker: Broker) -> None:
    prefix = f"pattern-{uuid.uuid4().hex[:8]}"
    create_topic(broker.bootstrap, f"{prefix}-1", 1, None)
    send(broker, f"{prefix}-1", {"n": 1})
    more = {"topic-pattern": f"{prefix}-[0-9]", "format": "json", "scan.topic-partition-discovery.interval": "50 ms"}
    engine.sql(f"CREATE TABLE discovered (n INT) {options(broker, **more)}")
    assert rows(engine, "SELECT * FROM discovered") == [(1,)]
    for name in (f"{prefix}-2", f"{prefix}-22"):  # the second one does not match as a whole
        create_topic(broker.bootstrap, name, 1, None)
        send(broker, name, {"n": 2})
    until(engine, "SELECT * FROM discovered", [(1,), (2,)])


def test_partitions_that_come_later_are_found_unless_nobody_looks(
    engine: Engine, broker: Broker, topic: TopicFactory
) -> None:
    name = topic("growing")
    send(broker, name, {"n": 1})
    for table, interval in (("growing", "50 ms"), ("fixed", "0")):
        more = {"format": "json", "scan.topic-partition-discovery.interval": interval}
        engine.sql(f"CREATE TABLE {table} (n INT) {options(broker, name, **more)}")
        assert rows(engine, f"SELECT * FROM {table}") == [(1,)]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_partitions([NewPartitions(name, 2)])[name].result()
    send(broker, name, {"n": 2}, partition=1)
    send(broker, name, {"n": 3}, partition=0)
    until(engine, "SELECT * FROM growing", [(1,), (2,), (3,)])
    until(engine, "SELECT * FROM fixed", [(1,), (3,)])


def test_the_group_is_told_how_far_we_are(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    numbers = topic("numbers")
    send(broker, numbers, {"n": 1}, {"n": 2})
    group = f"lag-{numbers}"
    more = {"format": "json", "properties.group.id": group}
    engine.sql(f"CREATE TABLE lagging (n INT) {options(broker, numbers, **more)}")
    until(engine, "SELECT count(*) FROM lagging", [(2,)])
    deadline = time.monotonic() + 30
    while committed(broker, group, numbers) != 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_table_goes_on_after_a_restart(
    spark: SparkSession, broker: Broker, topic: TopicFactory, tmp_path: Path
) -> None:
    numbers = topic("numbers")
    send(broker, numbers, {"n": 1})
    password = {"properties.ssl.truststore.password": "hidden"}
    with Engine(spark, tmp_path, pace=Pace(interval=0.02)) as engine:
        engine.sql(
            "CREATE TABLE numbers (n INT) "
            + options(broker, numbers, format="json", **{"scan.startup.mode": "latest-offset"}, **password)
        )
        assert rows(engine, "SELECT * FROM numbers") == []
        [(_, shown)] = rows(engine, "SHOW CREATE TABLE numbers")
        assert "hidden" not in shown
        send(broker, numbers, {"n": 2})
        until(engine, "SELECT * FROM numbers", [(2,)])
    send(broker, numbers, {"n": 3})
    with Engine(spark, tmp_path, pace=Pace(interval=0.02)) as engine:
        until(engine, "SELECT * FROM numbers", [(2,), (3,)])


@pytest.mark.slow
def test_a_script_over_bounded_tables_ends_by_itself(broker: Broker, topic: TopicFactory, tmp_path: Path) -> None:
    numbers = topic("numbers")
    send(broker, numbers, {"n": 1}, {"n": 2})
    script = tmp_path / "bounded.sql"
    with_options = options(broker, numbers, format="json", **{"scan.bounded.mode": "latest-offset"})
    script.write_text(f"CREATE TABLE numbers (n INT) {with_options}; SELECT sum(n) AS total FROM numbers;")
    command = [sys.executable, "-m", "tailrace", "run", str(script)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "3" in ended.stdout


def test_a_hint_reads_the_table_with_other_options(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    """For the query that says so; the table itself, and a restart, stay what they were."""
    name = topic("hinted")
    send(broker, name, {"n": 1}, {"n": 2})
    latest = {"format": "json", "scan.startup.mode": "latest-offset"}
    engine.sql(f"CREATE TABLE hinted (n INT) {options(broker, name, **latest)}")
    assert rows(engine, "SELECT * FROM hinted") == []
    first = "/*+ OPTIONS('scan.startup.mode' = 'earliest-offset') */"
    assert rows(engine, f"SELECT n FROM hinted {first} WHERE n > 1") == [(2,)]
    places = "'scan.startup.specific-offsets'='partition:0,offset:1'"
    second = f"/*+ OPTIONS('scan.startup.mode'='specific-offsets', {places})*/"
    both = f"hinted {first} AS a, hinted {second} b"
    engine.sql(f"CREATE MATERIALIZED VIEW of_hinted AS SELECT a.n, b.n AS m FROM {both}")
    assert rows(engine, "SELECT * FROM of_hinted") == [(1, 2), (2, 2)]
    send(broker, name, {"n": 3})
    deadline = time.monotonic() + 60
    while rows(engine, "SELECT count(*) FROM of_hinted") != [(6,)] or rows(engine, "SELECT * FROM hinted") != [(3,)]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    for query, message in (
        ("SELECT * FROM hinted /*+ OPTIONS('scan.startup.moed' = 'x') */", "Unsupported options found"),
        ("SELECT * FROM hinted /*+ OPTIONS('connector' = 'upsert-kafka') */", "cannot change the connector"),
        ("SELECT * FROM of_hinted /*+ OPTIONS('a' = 'b') */", "OPTIONS hints are for Kafka tables"),
        ("SELECT * FROM hinted /*+ OPTIONS('a') */", "Expected equals sign"),
        ("SELECT /*+ OPTIONS('a' = 'b') */ 1", "Expected"),
    ):
        with pytest.raises(SqlError, match=message):
            engine.sql(query)
    engine.sql("DROP MATERIALIZED VIEW of_hinted; DROP TABLE hinted")
    assert rows(engine, "SELECT name FROM mz_tables WHERE name LIKE 'hinted%'") == []
