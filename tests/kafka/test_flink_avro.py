"""Avro in Flink's tables: bare, and with a schema registry."""

from __future__ import annotations

import io
import json
import time
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from pyspark.sql import SparkSession

from kafka.flink_tables import options, rows, send
from tailrace.engine.engine import Engine
from tailrace.errors import SqlError, TailraceError
from tailrace.formats.registry import RegistryConnection, Subject, publish
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.registry import Registry
from tailrace.testing.topics import read_committed
from tailrace.ticks.loop import Pace

COLUMNS = "(id BIGINT NOT NULL, small SMALLINT, price DECIMAL(10, 2), `at` TIMESTAMP(3), tags ARRAY<STRING>)"
VALUES = "(1, 2, 12.5, TIMESTAMP '2024-07-03 18:43:05.312', LIST['a', NULL]), (2, NULL, NULL, NULL, NULL)"
READ: list[tuple[Any, ...]] = [
    (1, 2, Decimal("12.50"), datetime(2024, 7, 3, 18, 43, 5, 312000), ["a", None]),  # noqa: DTZ001
    (2, None, None, None, None),
]


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02)) as opened:
        yield opened


def test_bare_avro_is_read_as_it_was_written(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("bare")
    more = {"format": "avro", "avro.encoding": "binary", "avro.timestamp_mapping.legacy": "true"}
    engine.sql(f"CREATE TABLE bare {COLUMNS} {options(broker, name, **more)}")
    engine.sql(f"INSERT INTO bare VALUES {VALUES}")
    assert rows(engine, "SELECT * FROM bare") == READ
    assert {(each.value or b"")[:2] for each in read_committed(broker.bootstrap, name)} == {b"\x02\x02", b"\x04\x00"}
    with pytest.raises(SqlError, match="Avro does not support TIMESTAMP type with precision: 6"):
        engine.sql(f"CREATE TABLE finer (at TIMESTAMP) {options(broker, name, format='avro')}")
    finer = options(broker, topic("finer"), **{"format": "avro", "avro.timestamp_mapping.legacy": "false"})
    engine.sql(f"CREATE TABLE finer (at TIMESTAMP, moment TIMESTAMP_LTZ(3)) {finer}")
    at, moment = "2024-07-03 18:43:05.312456", "2024-07-03 18:43:05.312"
    engine.sql(f"INSERT INTO finer VALUES (TIMESTAMP '{at}', TIMESTAMPTZ '{moment}+00')")
    assert rows(engine, "SELECT at::text, moment::text FROM finer") == [(at, f"{moment}+00")]


def test_a_registry_knows_what_was_written(
    engine: Engine, broker: Broker, registry: Registry, topic: TopicFactory
) -> None:
    name = topic("framed")
    confluent = {
        "format": "avro-confluent",
        "avro-confluent.url": registry.url,
        "avro-confluent.subject": f"{name}-rows",
        "avro-confluent.timestamp_mapping.legacy": "true",
    }
    engine.sql(f"CREATE TABLE framed {COLUMNS} {options(broker, name, **confluent)}")
    engine.sql(f"INSERT INTO framed VALUES {VALUES}")
    assert rows(engine, "SELECT * FROM framed") == READ
    with urllib.request.urlopen(f"{registry.url}/subjects/{name}-rows/versions/latest") as answer:
        published = json.loads(json.load(answer)["schema"])
    assert (published["namespace"], published["name"]) == ("org.apache.flink.avro.generated", "record")
    assert published["fields"][1] == {"name": "small", "type": ["null", "int"], "default": None}


def test_the_upsert_example_in_avro(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("pageviews_per_region")
    engine.sql("CREATE TABLE viewed (region text, user_id int)")
    engine.sql("INSERT INTO viewed VALUES ('eu', 1), ('eu', 1), ('eu', 2)")
    avro = {"connector": "upsert-kafka", "key.format": "avro", "value.format": "avro"}
    engine.sql(
        "CREATE TABLE pageviews_per_region (region STRING, pv BIGINT, uv BIGINT, PRIMARY KEY (region) NOT ENFORCED) "
        + options(broker, name, **avro)
    )
    query = "SELECT region, COUNT(*), COUNT(DISTINCT user_id) FROM viewed GROUP BY region"
    engine.sql(f"INSERT INTO pageviews_per_region {query}")
    deadline = time.monotonic() + 60
    while not (told := read_committed(broker.bootstrap, name)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert [(each.key, each.value) for each in told] == [(b"\x04eu", b"\x04eu\x02\x06\x02\x04")]
    assert rows(engine, "SELECT * FROM pageviews_per_region") == [("eu", 3, 2)]


def test_debezium_in_avro_says_what_was_and_what_is(
    engine: Engine, broker: Broker, registry: Registry, topic: TopicFactory
) -> None:
    """Written as Flink does, read back; and what a connector of Debezium's writes, with more fields, and updates."""
    name = topic("changes")
    confluent = {"format": "debezium-avro-confluent", "debezium-avro-confluent.url": registry.url}
    told = {
        **confluent,
        "debezium-avro-confluent.subject": f"{name}-value",
        "debezium-avro-confluent.timestamp_mapping.legacy": "true",
    }
    engine.sql("CREATE TABLE stock (id int, name text)")
    engine.sql("INSERT INTO stock VALUES (1, 'tea'), (2, NULL)")
    engine.sql(f"CREATE TABLE changes (id INT, inner_row ROW<name STRING>) {options(broker, name, **told)}")
    engine.sql("INSERT INTO changes SELECT id, ROW(name) FROM stock")
    engine.sql("UPDATE stock SET name = 'cup' WHERE id = 2")
    engine.sql("DELETE FROM stock WHERE id = 1")
    deadline = time.monotonic() + 60
    while len(read_committed(broker.bootstrap, name)) < 5:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert rows(engine, "SELECT id, (inner_row).name FROM changes") == [(2, "cup")]
    with urllib.request.urlopen(f"{registry.url}/subjects/{name}-value/versions/latest") as answer:
        published = json.loads(json.load(answer)["schema"])
    inner = published["fields"][1]["type"][1]["fields"][1]["type"][1]
    assert (inner["namespace"], inner["name"]) == ("org.apache.flink.avro.generated", "record_after_inner_row")

    other = topic("captured")
    writer = {"type": "record", "name": "Envelope", "namespace": "shop.products", "fields": [
        {"name": "before", "type": ["null", {"type": "record", "name": "Value", "fields": [
            {"name": "id", "type": "int"}, {"name": "weight", "type": ["null", "double"], "default": None},
            {"name": "name", "type": ["null", "string"], "default": None}]}], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "source", "type": {"type": "record", "name": "Source", "fields": [{"name": "db", "type": "string"}]}},
        {"name": "op", "type": "string"},
    ]}  # fmt: skip
    id = publish(Subject(connection=RegistryConnection(name="r", url=registry.url), name=other), json.dumps(writer))
    tea, green = ({"id": 1, "weight": 2.5, "name": each} for each in ("tea", "green tea"))
    second = {**tea, "id": 2}
    told_by_debezium = [("r", None, tea), ("u", tea, green), ("c", None, second), ("d", second, None)]
    frame, parsed = b"\0" + id.to_bytes(4, "big"), fastavro.parse_schema(writer)
    for op, before, after in told_by_debezium:
        out = io.BytesIO()
        record = {"before": before, "after": after, "op": op, "source": {"db": "shop"}}
        fastavro.schemaless_writer(out, parsed, record)
        send(broker, other, frame + out.getvalue())
    engine.sql(f"CREATE TABLE captured (id INT, name STRING) {options(broker, other, **confluent)}")
    assert rows(engine, "SELECT * FROM captured") == [(1, "green tea")]
    out = io.BytesIO()
    fastavro.schemaless_writer(out, parsed, {"before": None, "after": tea, "op": "u", "source": {"db": "shop"}})
    send(broker, other, frame + out.getvalue())
    engine.sql(f"CREATE TABLE broken (id INT, name STRING) {options(broker, other, **confluent)}")
    with pytest.raises(TailraceError, match='The "before" field of UPDATE message is null'):
        engine.sql("SELECT * FROM broken")
