"""Properties of Kafka's Java clients: what becomes of each when somebody sets it for a table.

Messages are read and written by two clients: librdkafka, and Java's inside Spark where there are many to read.  So a
property reaches both, only Java's, or neither, where a promise of ours depends on it.
"""

from __future__ import annotations

SHARED = frozenset(
    """
    allow.auto.create.topics check.crcs client.dns.lookup client.rack connections.max.idle.ms fetch.max.bytes
    fetch.min.bytes max.partition.fetch.bytes metadata.max.age.ms reconnect.backoff.max.ms reconnect.backoff.ms
    request.timeout.ms retry.backoff.ms socket.connection.setup.timeout.ms ssl.cipher.suites
    ssl.endpoint.identification.algorithm
    """.split()  # noqa: SIM905
)
"""Both clients have these, under the same name."""

JAVA_ONLY = frozenset(
    """
    auto.include.jmx.reporter buffer.memory compression.gzip.level compression.lz4.level compression.zstd.level
    default.api.timeout.ms exclude.internal.topics fetch.max.wait.ms interceptor.classes max.block.ms max.poll.records
    max.request.size metadata.max.idle.ms metric.reporters metrics.num.samples metrics.recording.level
    metrics.sample.window.ms receive.buffer.bytes security.providers send.buffer.bytes
    socket.connection.setup.timeout.max.ms ssl.enabled.protocols ssl.protocol ssl.provider
    """.split()  # noqa: SIM905
)
"""Only where Spark reads."""

UNDERSTOOD = frozenset(
    """
    acks auto.offset.reset bootstrap.servers compression.type group.id sasl.jaas.config sasl.mechanism
    security.protocol ssl.key.password ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location
    ssl.keystore.password ssl.keystore.type ssl.truststore.certificates ssl.truststore.location
    ssl.truststore.password ssl.truststore.type
    """.split()  # noqa: SIM905
)
"""Looked at by ourselves."""

FIXED = frozenset(
    """
    auto.commit.interval.ms batch.size client.id delivery.timeout.ms enable.auto.commit enable.idempotence
    group.instance.id group.protocol heartbeat.interval.ms isolation.level key.deserializer key.serializer linger.ms
    max.in.flight.requests.per.connection max.poll.interval.ms partition.assignment.strategy
    partition.discovery.interval.ms partitioner.class retries session.timeout.ms transaction.timeout.ms
    transactional.id value.deserializer value.serializer
    """.split()  # noqa: SIM905
)
"""Set by us, whatever is said: exactly once rests on them, or they are about a group that nobody is a member of."""


def note(name: str) -> str | None:
    """What to tell whoever sets a property that does nothing; None if it does something."""
    if name in SHARED | JAVA_ONLY | UNDERSTOOD:
        return None
    if name in FIXED:
        return f"property '{name}' has no effect: it is set by the system"
    return f"property '{name}' has no effect: the Kafka clients do not know it"
