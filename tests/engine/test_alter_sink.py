"""ALTER SINK: another relation from one tick on, another name, another owner."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.avro_topics import messages, schema_of
from engine.statuses import await_status
from tailrace.engine.engine import Engine
from tailrace.errors import KeyNotUnique, SqlError, UnknownColumn, WrongObjectType
from tailrace.testing.broker import Broker
from tailrace.testing.registry import Registry
from tailrace.testing.topics import read_committed, settle
from tailrace.ticks.loop import Pace


@pytest.fixture(scope="module")
def connected(engine: Engine, broker: Broker, registry: Registry) -> Engine:
    connect(engine, broker)
    engine.sql(f"CREATE CONNECTION csr TO CONFLUENT SCHEMA REGISTRY (URL '{registry.url}')")
    return engine


def connect(engine: Engine, broker: Broker) -> None:
    engine.sql(f"CREATE CONNECTION k TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT)")


def views(engine: Engine, name: str) -> str:
    """A table, and two views of it by the same key that never say the same."""
    engine.sql(
        f"CREATE TABLE {name} (item text NOT NULL, price int);"
        f"CREATE MATERIALIZED VIEW {name}_sum AS SELECT item, sum(price) AS n FROM {name} GROUP BY item;"
        f"CREATE MATERIALIZED VIEW {name}_negated AS SELECT item, -sum(price) AS n FROM {name} GROUP BY item"
    )
    return name


@pytest.fixture
def bids(connected: Engine) -> Iterator[str]:
    name = views(connected, f"bids_{uuid.uuid4().hex[:8]}")
    yield name
    connected.sql(f"DROP TABLE {name} CASCADE")


@pytest.fixture
def topic() -> str:
    return f"topic-{uuid.uuid4().hex[:8]}"


def sink(bids: str, topic: str, format: str = "JSON", envelope: str = "UPSERT") -> str:
    return (
        f"CREATE SINK {bids}_out FROM {bids}_sum INTO KAFKA CONNECTION k (TOPIC '{topic}') KEY (item)"
        f" FORMAT {format} ENVELOPE {envelope}"
    )


AVRO = "AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr"


def insert(engine: Engine, bids: str, item: str, price: int) -> None:
    engine.sql(f"INSERT INTO {bids} VALUES ('{item}', {price})")
    engine.settle()


def told(broker: Broker, topic: str) -> list[tuple[str, int]]:
    settle(broker.bootstrap, topic)
    rows = [json.loads(message.value or b"") for message in read_committed(broker.bootstrap, topic)]
    return [(row["item"], row["n"]) for row in rows]


def versions(broker: Broker, engine: Engine, bids: str) -> list[int]:
    connection = engine.catalog.resolve(("k",)).id
    id = engine.catalog.resolve((f"{bids}_out",)).id
    records = read_committed(broker.bootstrap, f"_materialize-progress-{engine.region}-{connection}")
    return [json.loads(each.value or b"")["version"] for each in records if each.key == f"mz-sink-{id}".encode()]


def test_changes_come_from_the_new_relation_from_one_tick_on_and_its_content_does_not(
    connected, bids, broker, topic
):
    connected.sql(sink(bids, topic))
    insert(connected, bids, "tea", 1)
    insert(connected, bids, "cup", 5)
    connected.sql(f"ALTER SINK {bids}_out SET FROM {bids}_negated")
    insert(connected, bids, "tea", 1)
    assert told(broker, topic) == [("tea", 1), ("cup", 5), ("tea", -2)]
    assert versions(broker, connected, bids) == [0, 0, 1]
    [shown] = connected.sql(f"SHOW CREATE SINK {bids}_out").to_pylist()
    assert f"FROM materialize.public.{bids}_negated" in shown["create_sql"]
    connected.sql(f"DROP MATERIALIZED VIEW {bids}_sum")  # nobody needs it any more
    insert(connected, bids, "cup", 1)
    assert told(broker, topic)[3:] == [("cup", -6)]


def test_a_switch_of_a_sink_that_has_written_nothing_sends_no_content_either(connected, bids, broker, topic):
    connected.sql(sink(bids, topic))
    connected.sql(f"CREATE TABLE {bids}_more (item text NOT NULL, n int, PRIMARY KEY (item))")
    insert(connected, f"{bids}_more", "tea", 1)
    connected.sql(f"ALTER SINK {bids}_out SET FROM {bids}_more")
    insert(connected, f"{bids}_more", "cup", 2)
    assert told(broker, topic) == [("cup", 2)]
    connected.sql(f"DROP TABLE {bids}_more CASCADE")


def test_a_crash_after_the_switch_repeats_nothing_and_leaves_nothing_out(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    with Engine(spark, first, pace=Pace(interval=0.02)) as engine:
        connect(engine, broker)
        views(engine, "bids")
        engine.sql(sink("bids", topic))
        insert(engine, "bids", "tea", 1)
        # Younger than the sink: at the next start the sink must not come before it.
        views(engine, "more")
        insert(engine, "more", "cup", 5)  # after the last tick that the sink had anything to tell of
        engine.sql("ALTER SINK bids_out SET FROM more_sum")
        shutil.copytree(first, second, ignore=shutil.ignore_patterns("lock"))  # as a kill -9 of now leaves it
    with Engine(spark, second, pace=Pace(interval=0.02)) as engine:
        insert(engine, "more", "tea", 4)
        assert told(broker, topic) == [("tea", 1), ("tea", 4)]
        engine.sql("DROP MATERIALIZED VIEW more_sum CASCADE")  # takes the older sink with it
        assert engine.sql("SHOW SINKS").num_rows == 0


def test_a_relation_that_makes_no_valid_sink_is_refused_and_nothing_changes(connected, bids, broker, topic):
    connected.sql(sink(bids, topic))
    insert(connected, bids, "tea", 1)
    connected.sql(
        f"CREATE MATERIALIZED VIEW {bids}_other AS SELECT price, count(*) AS n FROM {bids} GROUP BY price;"
        f"CREATE VIEW {bids}_plain AS SELECT * FROM {bids}_sum"
    )
    for relation, error, message in (
        (bids, KeyNotUnique, "upsert key could not be validated as unique"),
        (f"{bids}_other", UnknownColumn, "column referenced in KEY does not exist: item"),
        (f"{bids}_plain", WrongObjectType, "cannot be exported as a sink"),
        (f"{bids}_out", WrongObjectType, "cannot be exported as a sink"),
    ):
        with pytest.raises(error, match=message):
            connected.sql(f"ALTER SINK {bids}_out SET FROM {relation}")
    insert(connected, bids, "tea", 1)
    assert told(broker, topic) == [("tea", 1), ("tea", 2)]


def test_the_registry_is_asked_before_a_schema_changes(connected, bids, broker, registry, topic):
    options = f"VALUE COMPATIBILITY LEVEL 'BACKWARD', DOC ON COLUMN {bids}_sum.item = 'what is sold'"
    connected.sql(sink(bids, topic, f"{AVRO} ({options})"))
    insert(connected, bids, "tea", 1)
    connected.sql(
        f"CREATE MATERIALIZED VIEW {bids}_texts AS SELECT item, sum(price)::text AS n FROM {bids} GROUP BY item"
    )
    before = schema_of(registry, f"{topic}-value")
    with pytest.raises(SqlError, match="schema being registered is incompatible with an earlier schema") as caught:
        connected.sql(f"ALTER SINK {bids}_out SET FROM {bids}_texts")
    assert caught.value.sqlstate == "42P16"
    assert schema_of(registry, f"{topic}-value") == before
    connected.sql(f"ALTER SINK {bids}_out SET FROM {bids}_negated")
    insert(connected, bids, "tea", 1)
    assert messages(broker, registry, topic) == [
        ({"item": "tea"}, {"item": "tea", "n": 1}),
        ({"item": "tea"}, {"item": "tea", "n": -2}),
    ]
    item = schema_of(registry, f"{topic}-value")["fields"][0]
    assert item == {"name": "item", "type": "string", "doc": "what is sold"}


def test_a_sink_that_stands_still_keeps_the_statement_waiting(connected, bids, broker):
    connected.sql(
        f"CREATE SINK {bids}_out FROM {bids}_sum INTO KAFKA CONNECTION k"
        f" (TOPIC '{bids}', TOPIC CONFIG MAP['cleanup.policy' => 'nonsense']) KEY (item) FORMAT JSON ENVELOPE UPSERT"
    )
    await_status(connected, f"{bids}_out", "stalled")
    session = connected.session()
    session.set_variable("statement_timeout", "500ms")
    with pytest.raises(SqlError, match="canceling statement due to statement timeout") as refused:
        list(session.sql(f"ALTER SINK {bids}_out SET FROM {bids}_negated"))
    assert "has not written all that it owes of its old relation.  It stands still: " in str(refused.value.detail)
    [shown] = connected.sql(f"SHOW CREATE SINK {bids}_out").to_pylist()
    assert f"{bids}_sum" in shown["create_sql"]


def test_a_renamed_sink_with_another_owner_goes_on_and_all_of_it_is_on_record(connected, bids, broker, topic):
    connected.sql(sink(bids, topic) + f"; CREATE ROLE {bids}_owner")
    insert(connected, bids, "tea", 1)
    connected.sql(f"ALTER SINK {bids}_out RENAME TO {bids}_new; ALTER SINK {bids}_new OWNER TO {bids}_owner")
    connected.sql(f"ALTER SINK {bids}_new SET FROM {bids}_negated")
    insert(connected, bids, "tea", 1)
    assert told(broker, topic) == [("tea", 1), ("tea", -2)]
    id = connected.catalog.resolve((f"{bids}_new",)).id
    events = connected.sql(
        "SELECT event_type, object_type FROM mz_catalog.mz_audit_events"
        f" WHERE details->>'id' = '{id}' ORDER BY id"
    ).to_pylist()
    assert [tuple(event.values()) for event in events] == [("create", "sink"), *3 * [("alter", "sink")]]
    [owner] = connected.sql(
        "SELECT r.name FROM mz_sinks s JOIN mz_roles r ON r.id = s.owner_id"
        f" WHERE s.name = '{bids}_new'"
    ).to_pylist()
    assert owner["name"] == f"{bids}_owner"
    connected.sql(f"DROP SINK {bids}_new; DROP ROLE {bids}_owner")
