"""FORMAT AVRO in sinks, from SQL to a stranger who reads the topic with the registry's schemas."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.avro_topics import level_of, messages, schema_of
from tailrace.engine.engine import Engine
from tailrace.errors import SqlError, TailraceError
from tailrace.testing.broker import Broker
from tailrace.testing.registry import Registry
from tailrace.testing.topics import read_committed
from tailrace.ticks.loop import Pace


def connect(engine: Engine, broker: Broker, registry: Registry) -> None:
    engine.sql(
        f"CREATE CONNECTION kafka_connection TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT);"
        f"CREATE CONNECTION csr_connection TO CONFLUENT SCHEMA REGISTRY (URL '{registry.url}')"
    )


@pytest.fixture(scope="module")
def connected(engine: Engine, broker: Broker, registry: Registry) -> Engine:
    connect(engine, broker, registry)
    return engine


@pytest.fixture
def topic() -> str:
    return f"topic-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def orders(connected: Engine) -> Iterator[str]:
    name = f"orders_{uuid.uuid4().hex[:8]}"
    connected.sql(f"CREATE TABLE {name} (id int NOT NULL, item text, price numeric(10,2), PRIMARY KEY (id))")
    yield name
    connected.sql(f"DROP TABLE {name} CASCADE")


def test_an_upsert_sink_tells_keys_rows_and_tombstones(connected, orders, broker, registry, topic):
    connected.sql(
        f"INSERT INTO {orders} VALUES (1, 'tea', 1.5), (2, NULL, NULL);"
        f"CREATE SINK {orders}_out FROM {orders} INTO KAFKA CONNECTION kafka_connection (TOPIC '{topic}')"
        " KEY (id) FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr_connection ENVELOPE UPSERT"
    )
    connected.settle()
    connected.sql(f"DELETE FROM {orders} WHERE id = 2; UPDATE {orders} SET item = 'cup' WHERE id = 1")
    connected.settle()
    told = messages(broker, registry, topic)
    assert sorted(told[:2], key=str) == [
        ({"id": 1}, {"id": 1, "item": "tea", "price": pytest.approx(1.5)}),
        ({"id": 2}, {"id": 2, "item": None, "price": None}),
    ]
    assert told[2:] == [({"id": 2}, None), ({"id": 1}, {"id": 1, "item": "cup", "price": pytest.approx(1.5)})]
    assert schema_of(registry, f"{topic}-key") == {
        "type": "record", "name": "row", "fields": [{"name": "id", "type": "int"}]
    }  # fmt: skip


def test_a_debezium_sink_tells_both_sides(connected, orders, broker, registry, topic):
    connected.sql(
        f"CREATE SINK {orders}_out FROM {orders} INTO KAFKA CONNECTION kafka_connection (TOPIC '{topic}')"
        " KEY (id) FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr_connection ENVELOPE DEBEZIUM;"
        f"INSERT INTO {orders} VALUES (1, 'tea', NULL)"
    )
    connected.settle()
    connected.sql(f"UPDATE {orders} SET item = 'cup'")
    connected.settle()
    connected.sql(f"DELETE FROM {orders}")
    connected.settle()
    tea, cup = ({"id": 1, "item": item, "price": None} for item in ("tea", "cup"))
    assert messages(broker, registry, topic) == [
        ({"id": 1}, {"before": None, "after": tea}),
        ({"id": 1}, {"before": tea, "after": cup}),
        ({"id": 1}, {"before": cup, "after": None}),
    ]
    assert schema_of(registry, f"{topic}-value")["name"] == "envelope"


def test_the_documented_schemas_come_out(connected, broker, registry, topic):
    """The seed's example; its key is not provable, which NOT ENFORCED makes good."""
    connected.sql(f"""
        CREATE TABLE t (key int NOT NULL, value text NOT NULL);
        COMMENT ON TABLE t IS 'SQL comment on t';
        COMMENT ON COLUMN t.value IS 'SQL comment on t.value';
        CREATE SINK docs_sink FROM t INTO KAFKA CONNECTION kafka_connection (TOPIC '{topic}') KEY (key) NOT ENFORCED
        FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr_connection (
            DOC ON TYPE t = 'Top-level comment for container record in both key and value schemas',
            KEY DOC ON COLUMN t.key = 'Comment on column only in key schema',
            VALUE DOC ON COLUMN t.key = 'Comment on column only in value schema'
        )
        ENVELOPE UPSERT""")
    connected.settle()
    both = "Top-level comment for container record in both key and value schemas"
    in_value = {"name": "key", "type": "int", "doc": "Comment on column only in value schema"}
    assert schema_of(registry, f"{topic}-key") == {
        "type": "record",
        "name": "row",
        "doc": both,
        "fields": [{"name": "key", "type": "int", "doc": "Comment on column only in key schema"}],
    }
    assert schema_of(registry, f"{topic}-value") == {
        "type": "record",
        "name": "envelope",
        "doc": both,
        "fields": [in_value, {"name": "value", "type": "string", "doc": "SQL comment on t.value"}],
    }
    connected.sql("COMMENT ON COLUMN t.value IS 'later'")
    shown = connected.sql("SHOW CREATE SINK docs_sink").column("create_sql")[0].as_py()
    assert "DOC ON COLUMN materialize.public.t.value = 'SQL comment on t.value'" in shown


def test_options_name_the_records_and_set_levels_once(connected, orders, registry, topic):
    sink = (
        f"CREATE SINK {orders}_NUMBER FROM {orders} INTO KAFKA CONNECTION kafka_connection (TOPIC '{topic}') KEY (id)"
        " FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr_connection (AVRO KEY FULLNAME 'shop.k',"
        " AVRO VALUE FULLNAME 'shop.v', NULL DEFAULTS, VALUE COMPATIBILITY LEVEL 'LEVEL') ENVELOPE UPSERT"
    )
    for number, level in (("1", "FULL"), ("2", "BACKWARD")):
        connected.sql(sink.replace("NUMBER", number).replace("LEVEL'", f"{level}'"))
        connected.settle()
    assert level_of(registry, f"{topic}-value") == "FULL"
    value = schema_of(registry, f"{topic}-value")
    assert (value["name"], value["namespace"]) == ("v", "shop")
    assert [("default" in field) for field in value["fields"]] == [False, True, True]


def test_key_and_value_may_have_formats_of_their_own(connected, orders, broker, registry, topic):
    connected.sql(
        f"INSERT INTO {orders} VALUES (42, 'tea', NULL);"
        f"CREATE SINK {orders}_out FROM {orders} INTO KAFKA CONNECTION kafka_connection (TOPIC '{topic}') KEY (id)"
        " KEY FORMAT TEXT VALUE FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr_connection ENVELOPE UPSERT;"
        f"CREATE SINK {orders}_rev FROM {orders} INTO KAFKA CONNECTION kafka_connection (TOPIC '{topic}-2') KEY (id)"
        " KEY FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr_connection VALUE FORMAT JSON ENVELOPE UPSERT"
    )
    connected.settle()
    [message] = read_committed(broker.bootstrap, topic)
    [reverse] = read_committed(broker.bootstrap, f"{topic}-2")
    assert message.key == b"42"
    assert message.value[:1] == b"\0"
    assert reverse.key[5:] == bytes.fromhex("54")
    assert json.loads(reverse.value)["item"] == "tea"


def test_the_partition_ignores_the_framing(connected, orders, broker, topic):
    connected.sql(
        f"INSERT INTO {orders} VALUES (42, 'tea', NULL);"
        f"CREATE SINK {orders}_out FROM {orders} INTO KAFKA CONNECTION kafka_connection"
        f" (TOPIC '{topic}', TOPIC PARTITION COUNT 6) KEY (id)"
        " FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr_connection ENVELOPE UPSERT"
    )
    connected.settle()
    [message] = read_committed(broker.bootstrap, topic)
    assert message.partition == 3  # the published vector of Avro's 42


def test_explain_shows_the_schema_and_creates_nothing(connected, orders, topic):
    sink = (
        f"CREATE SINK FROM {orders} INTO KAFKA CONNECTION kafka_connection (TOPIC '{topic}') KEY (id)"
        " FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr_connection ENVELOPE DEBEZIUM"
    )
    [key] = connected.sql(f"EXPLAIN KEY SCHEMA FOR {sink}").column("key_schema").to_pylist()
    [value] = connected.sql(f"EXPLAIN VALUE SCHEMA AS JSON FOR {sink}").column("value_schema").to_pylist()
    assert json.loads(key)["fields"] == [{"name": "id", "type": "int"}]
    assert [field["name"] for field in json.loads(value)["fields"]] == ["before", "after"]
    with pytest.raises(SqlError, match="does not have a key"):
        connected.sql(f"EXPLAIN KEY SCHEMA FOR {sink.replace('KEY (id)', '')}")
    assert "unnamed" not in str(connected.sql("SHOW SINKS"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("DOC ON COLUMN {t}.bad_column = 'x'", 'column "{t}.bad_column" does not exist'),
        ("DOC ON TYPE nobody = 'x'", "unknown catalog item 'nobody'"),
        ("DOC ON TYPE csr_connection = 'x'", "no part of the sink's schemas"),
        ("AVRO KEY FULLNAME 'a', AVRO VALUE FULLNAME 'b.row'", "cannot end in row"),
    ],
)
def test_options_that_mean_nothing_are_refused(connected, orders, topic, options, message):
    with pytest.raises(SqlError, match=message.format(t=orders)):
        connected.sql(
            f"CREATE SINK s FROM {orders} INTO KAFKA CONNECTION kafka_connection (TOPIC '{topic}') KEY (id)"
            " FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr_connection"
            f" ({options.format(t=orders)}) ENVELOPE DEBEZIUM"
        )


def test_another_connection_is_no_registry(connected, orders, topic):
    with pytest.raises(SqlError, match="is not a schema registry connection"):
        connected.sql(
            f"CREATE SINK s FROM {orders} INTO KAFKA CONNECTION kafka_connection (TOPIC '{topic}') KEY (id)"
            " FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION kafka_connection ENVELOPE UPSERT"
        )


def test_a_schema_that_does_not_fit_stalls_the_sink_until_it_may(connected, orders, registry, broker, topic):
    """A field that readers of the old schema need is gone."""
    avro = "FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr_connection"
    into = f"INTO KAFKA CONNECTION kafka_connection (TOPIC '{topic}') KEY (id)"
    connected.sql(
        f"CREATE MATERIALIZED VIEW {orders}_ids AS SELECT id FROM {orders};"
        f"CREATE SINK {orders}_1 FROM {orders} {into} {avro} (VALUE COMPATIBILITY LEVEL 'FORWARD') ENVELOPE UPSERT"
    )
    connected.settle()
    connected.sql(f"CREATE SINK {orders}_2 FROM {orders}_ids {into} {avro} ENVELOPE UPSERT")
    connected.settle()
    sql = f"SELECT status, error FROM mz_internal.mz_sink_statuses WHERE name = '{orders}_2'"
    [row] = connected.sql(sql).to_pylist()
    assert row["status"] == "stalled"
    assert "incompatible" in row["error"].lower()


def test_a_registry_that_is_away_stalls_the_sink_and_its_return_heals_it(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    pace = Pace(interval=0.02, retry=0.05)
    with Registry() as registry:
        with Engine(spark, tmp_path, pace=pace) as engine:
            connect(engine, broker, registry)
            sink = (
                f"FROM t INTO KAFKA CONNECTION kafka_connection (TOPIC '{topic}') KEY (id)"
                " FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr_connection ENVELOPE UPSERT"
            )
            engine.sql("CREATE TABLE t (id int NOT NULL, PRIMARY KEY (id)); INSERT INTO t VALUES (1)")
            engine.sql(f"CREATE SINK out {sink}")
            engine.settle()
            registry.kill()
            with pytest.raises(TailraceError, match="CONFLUENT SCHEMA REGISTRY validation: list subjects failed"):
                engine.sql(f"CREATE SINK refused {sink}")
        with Engine(spark, tmp_path, pace=pace) as engine:
            engine.sql("INSERT INTO t VALUES (2)")
            engine.settle()
            [row] = engine.sql("SELECT status, error FROM mz_internal.mz_sink_statuses").to_pylist()
            assert row["status"] == "stalled"
            assert "CONFLUENT SCHEMA REGISTRY csr_connection: publish schema" in row["error"]
            registry.start()
            while engine.sql("SELECT status FROM mz_internal.mz_sink_statuses").to_pylist() != [{"status": "running"}]:
                engine.settle()
            told = [key for key, _ in messages(broker, registry, topic)]
    assert told == [{"id": 1}, {"id": 2}]
