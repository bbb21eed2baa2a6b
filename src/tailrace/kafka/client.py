"""A Kafka connection as properties of the clients we use: librdkafka here, Java's inside Spark.

Secrets are revealed in this file and in no other.  They leave it in `Properties`, which a log line or an
error shows with `***` in their place; `redacted` takes them out of what a client library says of itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from tailrace.kafka.connection import KafkaConnection
from tailrace.kafka.java_properties import SHARED
from tailrace.secret import Secret

_SECRET_NAMES = ("password", "jaas", "key.pem", "keystore.key", "certificate", "ca.pem", "sasl.username")

_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


class Properties(dict[str, str | int | float | bool]):
    """Client properties by name.  Shown without the values of secret ones."""

    def __repr__(self) -> str:
        shown = {name: "***" if _is_secret(name) else value for name, value in self.items()}
        return f"Properties({shown!r})"

    __str__ = __repr__

    def __or__(self, others: Mapping[str, str | int | float | bool]) -> Properties:  # type: ignore[override]
        return Properties({**self, **others})


def librdkafka_properties(connection: KafkaConnection) -> Properties:
    """What `confluent_kafka.Producer`, `Consumer` and `AdminClient` need to reach the cluster."""
    given = {name: value for name, value in connection.properties if name in SHARED}
    return Properties(
        given
        | _given(
            {
                "bootstrap.servers": ",".join(connection.brokers),
                "security.protocol": connection.security_protocol,
                "sasl.mechanism": connection.sasl_mechanism,
                "sasl.username": connection.sasl_username,
                "sasl.password": connection.sasl_password,
                "ssl.key.pem": connection.ssl_key,
                "ssl.certificate.pem": connection.ssl_certificate,
                "ssl.ca.pem": connection.ssl_certificate_authority,
            }
        )
    )


def spark_options(connection: KafkaConnection) -> Properties:
    """The same as options of Spark's Kafka source and sink, which hand `kafka.*` to the Java client."""
    java = {
        "bootstrap.servers": ",".join(connection.brokers),
        "security.protocol": connection.security_protocol,
        "sasl.mechanism": connection.sasl_mechanism,
        "sasl.jaas.config": _jaas(connection),
        "ssl.keystore.type": "PEM" if connection.ssl_key else None,
        "ssl.keystore.key": connection.ssl_key,
        "ssl.keystore.certificate.chain": connection.ssl_certificate,
        "ssl.truststore.type": "PEM" if connection.ssl_certificate_authority else None,
        "ssl.truststore.certificates": connection.ssl_certificate_authority,
    }
    every = dict(connection.properties) | _given(java)
    return Properties({f"kafka.{name}": value for name, value in every.items()})


def redacted(text: str, connection: KafkaConnection) -> str:
    """`text` without the connection's secrets, for what a client library says of itself."""
    for secret in (connection.sasl_password, connection.ssl_key, connection.sasl_username):
        if secret is not None and secret.reveal():
            text = text.replace(secret.reveal(), "***")
    return text


def _is_secret(name: str) -> bool:
    return any(part in name for part in _SECRET_NAMES)


def _given(properties: Mapping[str, str | Secret | None]) -> dict[str, str]:
    """The properties that have a value, with secrets revealed."""
    revealed = {
        name: value.reveal() if isinstance(value, Secret) else value for name, value in properties.items()
    }
    return {name: value for name, value in revealed.items() if value is not None}


def _jaas(connection: KafkaConnection) -> Secret | None:
    """The login of Java's client.  One line: its parser takes backslash escapes inside quotes."""
    if connection.sasl_mechanism is None:
        return None
    module = _LOGIN_MODULES.get(connection.sasl_mechanism)
    if module is None:  # e.g. OAUTHBEARER: no login by name and password
        return None
    username, password = _quoted(connection.sasl_username), _quoted(connection.sasl_password)
    return Secret(f"{module} required username={username} password={password};")


def _quoted(secret: Secret | None) -> str:
    text = secret.reveal() if secret is not None else ""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
