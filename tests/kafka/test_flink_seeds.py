"""The statements of Flink's own documentation of its Kafka connectors, on a broker.

tests/data/flink_statements/tables.sql has the tables as they stand there, with `...` filled in.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import SparkSession

from kafka.flink_tables import rows, send
from tailrace.engine.engine import Engine
from tailrace.errors import SqlError, UnknownColumn
from tailrace.sql.parser import split
from tailrace.testing.broker import Broker
from tailrace.testing.topics import create_topic, read_committed
from tailrace.ticks.loop import Pace

TABLES = [each.text for each in split((Path(__file__).parents[1] / "data/flink_statements/tables.sql").read_text())]

CDC = {"op": "c", "before": None, "source": {"ts_ms": 1720032185000, "table": "actions"}}
MESSAGES = [
    ([b"1,2,buy"], [(1, 2, "buy")], "user_id, item_id, behavior"),
    ([b"1,2,buy"], [(0, 0, 1, 2, "buy")], "`partition`, `offset`, user_id, item_id, behavior"),
    (
        [{**CDC, "after": {"user_id": 1, "item_id": 2, "behavior": "buy"}}],
        [("actions", 0, 0, 1, 2, "buy")],
        "origin_table, partition_id, `offset`, user_id, item_id, behavior",
    ),
    ([{"user_id": 1, "item_id": "x"}, b"no json"], [(1, None, None)], "user_id, item_id, behavior"),
    ([{"user_id": 1, "item_id": 2}], [(1, 2, None)], "user_id, item_id, behavior"),
    ([{"version": 2, "behavior": "buy"}], [(1, 7, 8, 2, "buy")], "*"),
]


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02)) as opened:
        yield opened


def made(engine: Engine, broker: Broker, statement: str) -> str:
    """Runs a CREATE TABLE on a topic of its own, and returns that."""
    [written] = re.findall(r"'topic' = '([^']*)'", statement)
    name = f"{written}.{uuid.uuid4().hex[:8]}"
    create_topic(broker.bootstrap, name, 1, None)
    filled = re.sub(r"'topic' = '[^']*'", f"'topic' = '{name}'", statement)
    engine.sql(filled.replace("localhost:9092", broker.bootstrap))
    return name


def test_every_table_reads_what_it_says(engine: Engine, broker: Broker) -> None:
    for statement, (values, expected, columns) in zip(TABLES, MESSAGES, strict=False):
        key = {"version": 1, "user_id": 7, "item_id": 8}
        topic = made(engine, broker, statement)
        send(broker, topic, *values, keys=[key] * len(values))
        assert rows(engine, f"SELECT {columns} FROM KafkaTable") == expected
        engine.sql("DROP TABLE KafkaTable")


def test_the_full_example_of_upsert_kafka(engine: Engine, broker: Broker) -> None:
    regions, views = made(engine, broker, TABLES[6]), made(engine, broker, TABLES[7])
    for user, region in ((1, "eu"), (1, "eu"), (2, "eu"), (3, "us")):
        send(broker, views, {"user_id": user, "page_id": 5, "viewtime": "2024-07-03 18:43:05", "user_region": region})
    insert = """INSERT INTO pageviews_per_region
        SELECT
          region,
          COUNT(*),
          COUNT(DISTINCT user_id)
        FROM pageviews
        GROUP BY region;"""
    with pytest.raises(UnknownColumn, match='"region"'):  # the column is called user_region
        engine.sql(insert)
    insert = insert.replace(" region", " user_region")
    with pytest.raises(SqlError, match="Undefined offset with no reset policy"):  # as in Flink: nobody has read yet
        engine.sql(insert)
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "KafkaSource-materialize.public.pageviews"}
    )
    consumer.commit(offsets=[TopicPartition(views, 0, 0)], asynchronous=False)
    consumer.close()
    engine.sql(insert)
    deadline = time.monotonic() + 60
    while rows(engine, "SELECT * FROM pageviews_per_region") != [("eu", 3, 2), ("us", 1, 1)]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    # Columns of the primary key are never NULL, others are unions with null: Flink's schemas.
    told = {each.key: each.value for each in read_committed(broker.bootstrap, regions)}
    assert told == {b"\x04eu": b"\x04eu\x02\x06\x02\x04", b"\x04us": b"\x04us\x02\x02\x02\x02"}


SECURE = """CREATE TABLE Secured (
  `user_id` BIGINT,
  `ts` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'
) WITH (
  'connector' = 'kafka',
  'topic' = 'secured',
  'properties.bootstrap.servers' = 'localhost:1',
  'format' = 'csv',
  'properties.security.protocol' = 'SASL_SSL',
  /* SSL configurations */
  /* Configure the path of truststore (CA) provided by the server */
  'properties.ssl.truststore.location' = '/path/to/kafka.client.truststore.jks',
  'properties.ssl.truststore.password' = 'test1234',
  /* Configure the path of keystore (private key) if client authentication is required */
  'properties.ssl.keystore.location' = '/path/to/kafka.client.keystore.jks',
  'properties.ssl.keystore.password' = 'test1234',
  /* SASL configurations */
  /* Set SASL mechanism as SCRAM-SHA-256 */
  'properties.sasl.mechanism' = 'SCRAM-SHA-256',
  /* Set JAAS configurations */
  'properties.sasl.jaas.config' = 'org.apache.kafka.common.security.scram.ScramLoginModule required username=\\"username\\" password=\\"password\\";'
)"""  # noqa: E501  as it stands there


def test_a_secured_table_is_made_without_looking_at_its_files(engine: Engine) -> None:
    engine.sql(SECURE)
    [(_, shown)] = rows(engine, "SHOW CREATE TABLE Secured")
    assert "test1234" not in shown
    assert 'password=\\"password' not in shown
    with pytest.raises(SqlError, match=r"cannot open 'ssl.keystore.location'") as caught:
        engine.sql("SELECT * FROM Secured")
    assert "test1234" not in str(caught.value)


def test_each_dialect_refuses_the_others_statements(engine: Engine) -> None:
    session = engine.session()
    refused = {
        "flink": ["CREATE TABLE t (a int)", "CREATE SECRET s AS 'x'", "SUBSCRIBE t"],
        "materialize": ["SHOW JOBS", "SET 'table.dml-sync' = 'true'", SECURE],
    }
    for dialect, statements in refused.items():
        list(session.sql(f"SET dialect = {dialect}"))
        for statement in statements:
            with pytest.raises(SqlError) as caught:
                list(session.sql(statement))
            assert "SET dialect = auto" in (caught.value.hint or "")
    list(session.sql("SET dialect = auto; SHOW JOBS; SET 'anything' = 'goes'; RESET 'anything'"))
