"""Schema registries that want to know who asks, in Flink's tables."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka.flink_tables import options, rows
from kafka.guarded_registry import GuardedRegistry
from tailrace.engine.engine import Engine
from tailrace.errors import TailraceError
from tailrace.testing.broker import Broker
from tailrace.testing.certificates import make_certificate
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.registry import Registry
from tailrace.ticks.loop import Pace

BASIC = "Basic " + base64.b64encode(b"alice:se:cret").decode()


def test_a_name_with_a_password_and_a_token(
    spark: SparkSession, broker: Broker, registry: Registry, topic: TopicFactory, tmp_path: Path
) -> None:
    """Key and value of one table have a login each; neither is shown, and both are known after a restart."""
    with GuardedRegistry(registry, BASIC) as by_name, GuardedRegistry(registry, "Bearer t0ken") as by_token:
        more = {
            "connector": "upsert-kafka",
            "key.format": "avro-confluent",
            "key.avro-confluent.url": by_name.url,
            "key.avro-confluent.basic-auth.credentials-source": "USER_INFO",
            "key.avro-confluent.basic-auth.user-info": "alice:se:cret",
            "value.format": "avro-confluent",
            "value.avro-confluent.url": by_token.url,
            "value.avro-confluent.bearer-auth.credentials-source": "STATIC_TOKEN",
            "value.avro-confluent.bearer-auth.token": "t0ken",
        }
        columns = "(id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED)"
        with Engine(spark, tmp_path, pace=Pace(interval=0.02)) as engine:
            engine.sql(f"CREATE TABLE t {columns} {options(broker, topic('guarded'), **more)}")
            engine.sql("INSERT INTO t VALUES (1, 'tea')")
            [(_, shown)] = rows(engine, "SHOW CREATE TABLE t")
            assert "se:cret" not in shown
            assert "t0ken" not in shown
        with Engine(spark, tmp_path, pace=Pace(interval=0.02)) as engine:
            assert rows(engine, "SELECT * FROM t") == [(1, "tea")]
        assert (by_name.turned_away, by_token.turned_away) == (0, 0)


def test_a_login_that_is_wrong_is_said(
    spark: SparkSession, broker: Broker, registry: Registry, topic: TopicFactory
) -> None:
    with GuardedRegistry(registry, BASIC) as guarded, Engine(spark, pace=Pace(interval=0.02)) as engine:
        more = {
            "format": "debezium-avro-confluent",
            "debezium-avro-confluent.url": guarded.url,
            "debezium-avro-confluent.basic-auth.credentials-source": "USER_INFO",
            "debezium-avro-confluent.basic-auth.user-info": "alice:nonsense",
        }
        engine.sql(f"CREATE TABLE t (id BIGINT) {options(broker, topic('closed'), **more)}")
        with pytest.raises(TailraceError, match="who are you") as caught:
            engine.sql("INSERT INTO t VALUES (1)")
        assert "nonsense" not in str(caught.value)


def test_certificates_of_both_sides(
    spark: SparkSession, broker: Broker, registry: Registry, topic: TopicFactory, tmp_path: Path
) -> None:
    server, client = (make_certificate(_made(tmp_path / side)) for side in ("server", "client"))
    trusted, own = tmp_path / "trusted.jks", tmp_path / "own.p12"
    _run("keytool", "-importcert", "-noprompt", "-file", tmp_path / "server" / "certificate.pem", "-alias", "server",
         "-keystore", trusted, "-storepass", "changeit")  # fmt: skip
    _run("openssl", "pkcs12", "-export", "-inkey", tmp_path / "client" / "key.pem", "-in",
         tmp_path / "client" / "certificate.pem", "-out", own, "-passout", "pass:changeme")  # fmt: skip
    with GuardedRegistry(registry, "", server, client) as guarded, Engine(spark, pace=Pace(interval=0.02)) as engine:
        more = {
            "format": "avro-confluent",
            "avro-confluent.url": guarded.url,
            "avro-confluent.ssl.truststore.location": str(trusted),
            "avro-confluent.ssl.truststore.password": "changeit",
            "avro-confluent.ssl.keystore.location": str(own),
            "avro-confluent.ssl.keystore.password": "changeme",
        }
        engine.sql(f"CREATE TABLE t (id BIGINT) {options(broker, topic('certified'), **more)}")
        engine.sql("INSERT INTO t VALUES (1)")
        assert rows(engine, "SELECT * FROM t") == [(1,)]


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory


def _run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
