"""A Kafka connection as the catalog keeps it, with secrets already looked up."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.secret import Secret


@dataclass(frozen=True, kw_only=True, slots=True)
class KafkaConnection:
    """How to reach a cluster.  One that exists is valid; client.py turns it into client properties."""

    id: str  # catalog id
    name: str
    brokers: tuple[str, ...]
    security_protocol: str  # PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
    sasl_mechanism: str | None = None
    sasl_username: Secret | None = None
    sasl_password: Secret | None = None
    ssl_key: Secret | None = None
    ssl_certificate: Secret | None = None
    ssl_certificate_authority: Secret | None = None
    progress_topic: str  # the default is filled in: _materialize-progress-{region}-{connection}
    progress_topic_replication_factor: int | None = None
    properties: tuple[tuple[str, str], ...] = ()  # of clients, by the names that Java's have
