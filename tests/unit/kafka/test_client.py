import pickle

import pytest
from confluent_kafka import KafkaError, KafkaException

from tailrace.errors import Fenced, SqlError, Unavailable
from tailrace.kafka.client import Properties, librdkafka_properties, redacted, spark_options
from tailrace.kafka.connection import KafkaConnection
from tailrace.kafka.failures import Attempt, translate
from tailrace.secret import Secret


def connection(**more: object) -> KafkaConnection:
    defaults = {
        "id": "u1",
        "name": "kafka",
        "brokers": ("a:9092", "b:9092"),
        "security_protocol": "PLAINTEXT",
        "progress_topic": "progress",
    }
    return KafkaConnection(**{**defaults, **more})


SCRAM = connection(
    security_protocol="SASL_SSL",
    sasl_mechanism="SCRAM-SHA-256",
    sasl_username=Secret("reader"),
    sasl_password=Secret('s3cr"et\\'),
    ssl_certificate_authority=Secret("-----BEGIN CERTIFICATE-----ca"),
)
MUTUAL = connection(
    security_protocol="SSL",
    ssl_key=Secret("-----BEGIN PRIVATE KEY-----k"),
    ssl_certificate=Secret("-----BEGIN CERTIFICATE-----c"),
    ssl_certificate_authority=Secret("-----BEGIN CERTIFICATE-----ca"),
)


def test_a_plain_connection_needs_no_more_than_its_brokers():
    plain = {"bootstrap.servers": "a:9092,b:9092", "security.protocol": "PLAINTEXT"}
    assert librdkafka_properties(connection()) == plain
    assert spark_options(connection()) == {f"kafka.{name}": value for name, value in plain.items()}


def test_sasl_is_said_to_both_clients_in_their_own_words():
    ours = librdkafka_properties(SCRAM)
    assert ours["sasl.mechanism"] == "SCRAM-SHA-256"
    assert (ours["sasl.username"], ours["sasl.password"]) == ("reader", 's3cr"et\\')
    java = spark_options(SCRAM)
    assert java["kafka.sasl.jaas.config"] == (
        "org.apache.kafka.common.security.scram.ScramLoginModule required"
        ' username="reader" password="s3cr\\"et\\\\";'
    )
    assert java["kafka.ssl.truststore.type"] == "PEM"


def test_certificates_are_handed_over_as_pem():
    ours = librdkafka_properties(MUTUAL)
    assert ours["ssl.key.pem"] == "-----BEGIN PRIVATE KEY-----k"
    assert ours["ssl.certificate.pem"] == "-----BEGIN CERTIFICATE-----c"
    assert ours["ssl.ca.pem"] == "-----BEGIN CERTIFICATE-----ca"
    java = spark_options(MUTUAL)
    assert (java["kafka.ssl.keystore.type"], java["kafka.ssl.truststore.type"]) == ("PEM", "PEM")
    assert java["kafka.ssl.keystore.key"] == "-----BEGIN PRIVATE KEY-----k"
    assert java["kafka.ssl.keystore.certificate.chain"] == "-----BEGIN CERTIFICATE-----c"


@pytest.mark.parametrize("one", [SCRAM, MUTUAL])
@pytest.mark.parametrize("made", [librdkafka_properties, spark_options])
def test_no_secret_is_ever_shown(one, made):
    properties = made(one) | {"client.id": "x"}
    for shown in (repr(properties), str(properties), f"{properties}", repr(one)):
        assert "s3cr" not in shown
        assert "BEGIN" not in shown
    assert "'client.id': 'x'" in repr(properties)
    assert isinstance(pickle.loads(pickle.dumps(properties)), Properties)


def test_what_a_library_says_is_shown_without_secrets():
    said = redacted('login of reader with s3cr"et\\ failed', SCRAM)
    assert said == "login of *** with *** failed"


ATTEMPT = Attempt(
    connection=connection(),
    doing='writing to topic "orders"',
    topic="orders",
    transactional_id="materialize-1",
    group="group-1",
)


@pytest.mark.parametrize(
    ("code", "family", "message"),
    [
        (KafkaError._FENCED, Fenced, "a newer writer of this sink has taken over"),
        (KafkaError.INVALID_PRODUCER_EPOCH, Fenced, "a newer writer of this sink has taken over"),
        (KafkaError.MSG_SIZE_TOO_LARGE, SqlError, 'a message is too large for topic "orders"'),
        (KafkaError._UNKNOWN_TOPIC, SqlError, "topic orders does not exist"),
        (KafkaError._AUTHENTICATION, SqlError, 'could not log in to Kafka connection "kafka"'),
        (KafkaError._TRANSPORT, Unavailable, 'kafka: _TRANSPORT while writing to topic "orders"'),
        (KafkaError.NOT_ENOUGH_REPLICAS, Unavailable, "kafka: NOT_ENOUGH_REPLICAS while"),
        (KafkaError.INVALID_CONFIG, SqlError, "kafka: INVALID_CONFIG while"),
    ],
)
def test_the_family_says_who_can_help(code, family, message):
    failure = translate(KafkaException(KafkaError(code)), ATTEMPT)
    assert type(failure) is family
    assert failure.message.startswith(message)


@pytest.mark.parametrize(
    ("code", "acl"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, 'Write on Topic "orders"'),
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 'Write on TransactionalId "materialize-1"'),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, 'Read on Group "group-1"'),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, "Create and DescribeConfigs on Cluster"),
    ],
)
def test_a_missing_right_is_named(code, acl):
    failure = translate(KafkaError(code), ATTEMPT)
    assert isinstance(failure, SqlError)
    assert acl in (failure.hint or "")
    assert failure.sqlstate == "42501"
