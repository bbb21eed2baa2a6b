"""ENVELOPE DEBEZIUM (METADATA): what a change did, when and to what, as readers of Debezium's topics expect it."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from engine.avro_topics import decoded, schema_of
from kafka.flink_tables import options, rows
from tailrace.engine.engine import Engine
from tailrace.errors import SqlError
from tailrace.testing.broker import Broker
from tailrace.testing.registry import Registry
from tailrace.testing.topics import Message, read_committed, settle

AVRO = "AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr"
SOURCE = ("version", "connector", "name", "ts_ms", "snapshot", "db", "schema", "table")


@pytest.fixture(scope="module")
def connected(engine: Engine, broker: Broker, registry: Registry) -> Engine:
    engine.sql(
        f"CREATE CONNECTION k TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT);"
        f"CREATE CONNECTION csr TO CONFLUENT SCHEMA REGISTRY (URL '{registry.url}')"
    )
    return engine


@pytest.fixture
def topics(connected: Engine, broker: Broker) -> dict[str, list[Message]]:
    """A row comes, changes and goes, and another stays: told in JSON and in Avro."""
    fresh = uuid.uuid4().hex[:8]
    connected.sql("CREATE TABLE goods (id bigint NOT NULL, name text, PRIMARY KEY (id))")
    for format in ("JSON", AVRO):
        name = format.split()[0].lower()
        connected.sql(
            f"CREATE SINK goods_{name} FROM goods INTO KAFKA CONNECTION k (TOPIC '{name}-{fresh}') KEY (id)"
            f" FORMAT {format} ENVELOPE DEBEZIUM (METADATA)"
        )
    for statement in (
        "INSERT INTO goods VALUES (1, 'tea')",
        "UPDATE goods SET name = 'green tea'",
        "DELETE FROM goods",
        "INSERT INTO goods VALUES (2, 'cup')",
    ):
        connected.sql(statement)
        connected.settle()
    [shown] = connected.sql("SHOW CREATE SINK goods_json").to_pylist()
    assert "ENVELOPE DEBEZIUM (METADATA = true)" in shown["create_sql"]
    connected.sql("DROP TABLE goods CASCADE")
    told = {}
    for name in (f"json-{fresh}", f"avro-{fresh}"):
        settle(broker.bootstrap, name)
        told[name] = read_committed(broker.bootstrap, name)
    return told


def events(messages: list[Any], values: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What each change did, and that it says when and to what."""
    for message, value in zip(messages, values, strict=True):
        tick = int(message.headers["materialize-timestamp"])
        assert list(value) == ["before", "after", "source", "op", "ts_ms"]
        assert tuple(value["source"]) == SOURCE
        assert (value["ts_ms"], value["source"]["ts_ms"]) == (tick, tick)
        assert [value["source"][part] for part in ("db", "schema", "table")] == ["materialize", "public", "goods"]
    return [(value["op"], value["before"], value["after"]) for value in values]


def test_readers_of_debezium_can_read_them(connected, topics, broker, registry):
    tea, green, cup = ({"id": id, "name": name} for id, name in ((1, "tea"), (1, "green tea"), (2, "cup")))
    expected = [("c", None, tea), ("u", tea, green), ("d", green, None), ("c", None, cup)]
    (json_topic, in_json), (avro_topic, in_avro) = topics.items()
    assert events(in_json, [json.loads(message.value) for message in in_json]) == expected
    assert events(in_avro, [decoded(registry, message.value) for message in in_avro]) == expected
    assert [field["name"] for field in schema_of(registry, f"{avro_topic}-value")["fields"]][2:] == [
        "source", "op", "ts_ms"
    ]  # fmt: skip
    connected.sql(
        "CREATE TABLE goods_again (origin STRING METADATA FROM 'value.source.table' VIRTUAL, id BIGINT, name STRING)"
        f" {options(broker, json_topic, **{'value.format': 'debezium-json'})}"
    )
    assert rows(connected, "SELECT * FROM goods_again") == [("goods", 2, "cup")]


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("FORMAT TEXT ENVELOPE DEBEZIUM (METADATA)", "is not supported with FORMAT TEXT"),
        ("FORMAT JSON ENVELOPE DEBEZIUM (METADATA, METADATA = false)", "METADATA specified more than once"),
        ("FORMAT JSON ENVELOPE DEBEZIUM (OP)", "Expected"),
        ("FORMAT JSON ENVELOPE UPSERT (METADATA)", "Expected"),
    ],
)
def test_what_makes_no_sense_is_refused(connected, clause, message):
    connected.sql("CREATE TABLE narrow (id bigint NOT NULL, PRIMARY KEY (id))")
    try:
        with pytest.raises(SqlError, match=message):
            connected.sql(
                f"CREATE SINK narrow_out FROM narrow INTO KAFKA CONNECTION k (TOPIC 'narrow') KEY (id) {clause}"
            )
    finally:
        connected.sql("DROP TABLE narrow CASCADE")
