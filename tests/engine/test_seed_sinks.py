"""The Kafka sinks of the reference's own pages, as they are written there, against a real broker and registry.

Only addresses, the placeholder for a relation and, where a page contradicts its own rules, what the rules ask for
are put in.
"""

from __future__ import annotations

import pytest

from engine.avro_topics import level_of, messages, schema_of
from tailrace.engine.engine import Engine
from tailrace.errors import KeyNotUnique, SqlError, UnknownColumn
from tailrace.testing.broker import Broker
from tailrace.testing.registry import Registry
from tailrace.testing.topics import read_committed

AVRO_UPSERT = """
CREATE SINK avro_sink
  FROM my_source
  INTO KAFKA CONNECTION kafka_connection (TOPIC 'seed_avro_upsert')
  KEY (key_col)
  FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr_connection
  ENVELOPE UPSERT;
"""
JSON_UPSERT = """
CREATE SINK json_sink
  FROM my_source
  INTO KAFKA CONNECTION kafka_connection (TOPIC 'test_json_topic')
  KEY (key_col)
  FORMAT JSON
  ENVELOPE UPSERT;
"""
AVRO_DEBEZIUM = """
CREATE SINK avro_debezium_sink
  FROM my_source
  INTO KAFKA CONNECTION kafka_connection (TOPIC 'seed_avro_debezium')
  FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr_connection
  ENVELOPE DEBEZIUM;
"""
CUSTOM_TOPIC = """
CREATE SINK custom_topic_sink
  FROM my_source
  INTO KAFKA CONNECTION kafka_connection (
    TOPIC 'seed_custom_topic',
    TOPIC PARTITION COUNT 4,
    TOPIC REPLICATION FACTOR 1,
    TOPIC CONFIG MAP['cleanup.policy' => 'compact']
  )
  {key}FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr_connection
  ENVELOPE UPSERT;
"""
COMPATIBILITY = """
CREATE SINK compatibility_level_sink
  FROM my_source
  INTO KAFKA CONNECTION kafka_connection (
    TOPIC 'seed_compatibility',
  )
  {key}FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr_connection (
    KEY COMPATIBILITY LEVEL 'BACKWARD',
    VALUE COMPATIBILITY LEVEL 'BACKWARD_TRANSITIVE'
  )
  ENVELOPE UPSERT;
"""
DEDUPED = """
CREATE MATERIALIZED VIEW deduped AS
SELECT DISTINCT ON (k) {columns}
FROM original_input
ORDER BY k, v DESC;
CREATE SINK s
FROM deduped
INTO KAFKA CONNECTION kafka_connection (TOPIC 't')
KEY (k)
FORMAT JSON ENVELOPE UPSERT;
"""
NOT_ENFORCED = """
CREATE SINK s_not_enforced
FROM original_input
INTO KAFKA CONNECTION kafka_connection (TOPIC 'seed_not_enforced')
-- We have outside knowledge that `k` is a unique key of `original_input`, but
-- Materialize cannot prove this, so we disable its key uniqueness check.
KEY (k) NOT ENFORCED
FORMAT JSON ENVELOPE UPSERT;
"""


@pytest.fixture(scope="module")
def ready(engine: Engine, broker: Broker, registry: Registry) -> Engine:
    engine.sql(
        f"CREATE CONNECTION kafka_connection TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT);"
        f"CREATE CONNECTION csr_connection TO CONFLUENT SCHEMA REGISTRY (URL '{registry.url}');"
        "CREATE TABLE my_source (key_col int NOT NULL, val text, PRIMARY KEY (key_col));"
        "INSERT INTO my_source VALUES (1, 'a');"
        "CREATE TABLE original_input (k int NOT NULL, v int NOT NULL); INSERT INTO original_input VALUES (1, 2), (1, 3)"
    )
    return engine


def test_avro_upsert(ready, broker, registry):
    ready.sql(AVRO_UPSERT)
    ready.settle()
    assert messages(broker, registry, "seed_avro_upsert") == [({"key_col": 1}, {"key_col": 1, "val": "a"})]


def test_json_upsert(ready, broker):
    ready.sql(JSON_UPSERT)
    ready.settle()
    [message] = read_committed(broker.bootstrap, "test_json_topic")
    assert (message.key, message.value) == (b'{"key_col":1}', b'{"key_col":1,"val":"a"}')


def test_avro_debezium(ready, broker, registry):
    ready.sql(AVRO_DEBEZIUM)
    ready.settle()
    assert messages(broker, registry, "seed_avro_debezium") == [
        (None, {"before": None, "after": {"key_col": 1, "val": "a"}})
    ]


@pytest.mark.parametrize(
    ("example", "topic"), [(CUSTOM_TOPIC, "seed_custom_topic"), (COMPATIBILITY, "seed_compatibility")]
)
def test_topic_options_and_levels(ready, broker, registry, example, topic):
    with pytest.raises(SqlError, match="upsert sinks must specify a key"):
        ready.sql(example.format(key=""))
    ready.sql(example.format(key="KEY (key_col)\n  "))
    ready.settle()
    assert messages(broker, registry, topic) == [({"key_col": 1}, {"key_col": 1, "val": "a"})]
    if topic == "seed_compatibility":
        assert level_of(registry, f"{topic}-key") == "BACKWARD"
        assert level_of(registry, f"{topic}-value") == "BACKWARD_TRANSITIVE"
        assert schema_of(registry, f"{topic}-value")["name"] == "envelope"


def test_the_two_cures_for_a_key_that_is_not_known_to_be_unique(ready, broker):
    with pytest.raises(KeyNotUnique, match="upsert key could not be validated as unique"):
        ready.sql(NOT_ENFORCED.replace(" NOT ENFORCED\n", "\n"))
    ready.sql(NOT_ENFORCED)
    with pytest.raises(UnknownColumn, match="column referenced in KEY does not exist: k"):
        ready.sql(DEDUPED.format(columns="v"))
    ready.sql("DROP MATERIALIZED VIEW deduped")
    ready.sql(DEDUPED.format(columns="k, v"))
    ready.settle()
    [message] = read_committed(broker.bootstrap, "t")
    assert (message.key, message.value) == (b'{"k":1}', b'{"k":1,"v":3}')
    assert len(read_committed(broker.bootstrap, "seed_not_enforced")) == 2
