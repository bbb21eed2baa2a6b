"""Kafka behind passwords and certificates, and settings that change while a sink and a source run."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.errors import SqlError, TailraceError
from tailrace.testing.broker import Broker
from tailrace.testing.topics import create_topic, produce, read_committed
from tailrace.ticks.loop import Pace


@pytest.fixture(scope="module")
def guarded() -> Iterator[Broker]:
    with Broker(secure="SASL_SSL") as broker:
        yield broker


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02, retry=0.05)) as opened:
        yield opened


@pytest.fixture
def name() -> str:
    return f"t-{uuid.uuid4().hex[:8]}"


def connection(broker: Broker, user: str) -> str:
    return (
        f"CREATE CONNECTION k TO KAFKA (BROKER '{broker.secure_bootstrap}', SASL MECHANISMS 'SCRAM-SHA-256',"
        f" SASL USERNAME '{user}', SASL PASSWORD SECRET password, SSL CERTIFICATE AUTHORITY SECRET authority)"
    )


def wait_for(engine: Engine, status: str) -> str:
    """The sink's error when it has come to this status."""
    while True:
        engine.settle()
        [row] = engine.sql("SELECT status, error FROM mz_internal.mz_sink_statuses").to_pylist()
        if row["status"] == status:
            return row["error"] or ""


def test_a_password_may_change_under_a_running_sink_and_source(engine: Engine, guarded: Broker, name: str) -> None:
    guarded.set_password("alice", "first")
    create_topic(guarded.bootstrap, f"{name}-in")
    engine.sql(
        f"CREATE SECRET authority AS '{guarded.certificate.certificate}'; CREATE SECRET password AS 'wrong'"
    )
    with pytest.raises(SqlError, match='could not log in to Kafka connection "k"') as refused:
        engine.sql(connection(guarded, "alice"))
    assert "wrong" not in str(refused.value) + str(refused.value.detail)
    engine.sql("ALTER SECRET password AS 'first'")
    engine.sql(connection(guarded, "alice"))
    engine.sql(
        f"VALIDATE CONNECTION k; CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC '{name}-in') FORMAT TEXT;"
        f"CREATE SINK out FROM s INTO KAFKA CONNECTION k (TOPIC '{name}') FORMAT JSON ENVELOPE DEBEZIUM"
    )
    produce(guarded.bootstrap, f"{name}-in", [(None, "one")])
    wait_for(engine, "running")
    guarded.set_password("alice", "second")
    guarded.restart()  # whoever was in has to come in again
    produce(guarded.bootstrap, f"{name}-in", [(None, "two")])
    with pytest.raises(SqlError, match="could not log in"):
        engine.sql("VALIDATE CONNECTION k")
    assert len(read_committed(guarded.bootstrap, name)) == 1
    engine.sql("ALTER SECRET password AS 'second'")
    engine.sql("VALIDATE CONNECTION k")
    while len(found := read_committed(guarded.bootstrap, name)) < 2:
        engine.settle()
    wait_for(engine, "running")
    assert [each.value for each in found] == [
        f'{{"before":null,"after":{{"text":"{text}"}}}}'.encode() for text in ("one", "two")
    ]


def test_a_flink_table_logs_in_as_its_documentation_says(
    engine: Engine, guarded: Broker, name: str, tmp_path: Path
) -> None:
    """SASL_SSL, SCRAM, and trust from a key store of Java's."""
    guarded.set_password("bob", "pw")
    create_topic(guarded.bootstrap, name)
    pem, store = tmp_path / "authority.pem", tmp_path / "kafka.client.truststore.jks"
    pem.write_text(guarded.certificate.certificate)
    importing = ["keytool", "-importcert", "-noprompt", "-storetype", "JKS", "-alias", "authority", "-file", str(pem)]
    subprocess.run([*importing, "-keystore", str(store), "-storepass", "test1234"], check=True, capture_output=True)
    login = 'ScramLoginModule required username=\\"bob\\" password=\\"pw\\";'
    engine.sql(
        f"""CREATE TABLE secured (n INT) WITH (
              'connector' = 'kafka', 'topic' = '{name}', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset',
              'properties.bootstrap.servers' = '{guarded.secure_bootstrap}',
              'properties.security.protocol' = 'SASL_SSL',
              'properties.ssl.truststore.location' = '{store}',
              'properties.ssl.truststore.password' = 'test1234',
              'properties.sasl.mechanism' = 'SCRAM-SHA-256',
              'properties.sasl.jaas.config' = 'org.apache.kafka.common.security.scram.{login}'
            )"""
    )
    engine.sql("INSERT INTO secured VALUES (1), (2)")
    found = engine.sql("SELECT sum(n) AS s FROM secured")
    assert found is not None
    assert found.to_pylist() == [{"s": 3}]


def test_an_altered_connection_is_tried_first_and_then_used(engine: Engine, broker: Broker, name: str) -> None:
    engine.sql(
        f"CREATE CONNECTION k TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT);"
        "CREATE TABLE t (x int); INSERT INTO t VALUES (1);"
        f"CREATE SINK out FROM t INTO KAFKA CONNECTION k (TOPIC '{name}') FORMAT JSON ENVELOPE DEBEZIUM"
    )
    wait_for(engine, "running")
    with pytest.raises(TailraceError):
        engine.sql("ALTER CONNECTION k SET (BROKER '127.0.0.1:9')")
    engine.sql("ALTER CONNECTION k SET (BROKER '127.0.0.1:9') WITH (VALIDATE = false); INSERT INTO t VALUES (2)")
    assert "kafka: _ALL_BROKERS_DOWN" in wait_for(engine, "stalled")
    engine.sql(f"ALTER CONNECTION k SET (BROKER '{broker.bootstrap}')")
    wait_for(engine, "running")
    assert len(read_committed(broker.bootstrap, name)) == 2
    with pytest.raises(SqlError, match="cannot ALTER KAFKA option PROGRESS TOPIC"):
        engine.sql("ALTER CONNECTION k SET (PROGRESS TOPIC 'other')")
    engine.sql("ALTER CONNECTION IF EXISTS nobody SET (BROKER 'x:1')")


def test_a_client_may_have_to_show_a_certificate(engine: Engine, name: str) -> None:
    with Broker(secure="SSL") as broker:
        pem = broker.certificate
        engine.sql(
            f"CREATE SECRET k_key AS '{pem.key}'; CREATE TABLE t (x int); INSERT INTO t VALUES (1);"
            f"CREATE CONNECTION k TO KAFKA (BROKER '{broker.secure_bootstrap}', SSL KEY SECRET k_key,"
            f" SSL CERTIFICATE '{pem.certificate}', SSL CERTIFICATE AUTHORITY '{pem.certificate}');"
            f"CREATE SINK out FROM t INTO KAFKA CONNECTION k (TOPIC '{name}') FORMAT JSON ENVELOPE DEBEZIUM"
        )
        wait_for(engine, "running")
        assert len(read_committed(broker.bootstrap, name)) == 1
        with pytest.raises(TailraceError):
            engine.sql(
                f"CREATE CONNECTION anybody TO KAFKA (BROKER '{broker.secure_bootstrap}',"
                f" SSL CERTIFICATE AUTHORITY '{pem.certificate}')"
            )
        shown = str(engine.sql("SHOW CREATE CONNECTION k"))
        assert "PRIVATE KEY" not in shown
