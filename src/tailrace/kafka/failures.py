"""What a client library says, as an error somebody can act on.

Two questions decide the family.  Has a newer writer taken over?  `Fenced`.  Must a person change something
(a right, a limit, a topic)?  `SqlError`, which names it.  Everything else may pass: `Unavailable`.
"""

from __future__ import annotations

from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException

from tailrace.errors import Fenced, SqlError, TailraceError, Unavailable
from tailrace.kafka.client import redacted
from tailrace.kafka.connection import KafkaConnection

_FENCED = {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}
_NO_SUCH_TOPIC = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.UNKNOWN_TOPIC_ID,
}
_TOO_LARGE = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE}
_NOT_AUTHENTICATED = {KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError._SSL}
_NOT_REACHED = {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE, KafkaError._TIMED_OUT}
DECISIVE = {*_NOT_AUTHENTICATED, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE}
"""What a client that is just connecting need not wait after."""

_A_PERSON_MUST_ACT = {
    KafkaError._INVALID_ARG,
    KafkaError.INVALID_CONFIG,
    KafkaError.INVALID_PARTITIONS,
    KafkaError.INVALID_REPLICATION_FACTOR,
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_TRANSACTION_TIMEOUT,
    KafkaError.POLICY_VIOLATION,
    KafkaError.TOPIC_EXCEPTION,
    KafkaError.UNSUPPORTED_COMPRESSION_TYPE,
    KafkaError.UNSUPPORTED_VERSION,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """What was tried, with the names an error should mention."""

    connection: KafkaConnection
    doing: str  # after "while", e.g. `committing to topic "orders"`
    topic: str | None = None
    operation: str = "Write"  # the ACL operation on the topic
    transactional_id: str | None = None
    group: str | None = None


def reason(error: KafkaException) -> KafkaError:
    """What an exception of the client library is about."""
    cause: KafkaError = error.args[0]
    return cause


def translate(failed: KafkaError | KafkaException, attempt: Attempt) -> TailraceError:
    """The error to raise for what librdkafka reported while `attempt` was made."""
    error = reason(failed) if isinstance(failed, KafkaException) else failed
    code, said = error.code(), redacted(error.str(), attempt.connection)
    if code in _FENCED:
        return Fenced("a newer writer of this sink has taken over", detail=f"{said}, while {attempt.doing}.")
    if missing := _missing_right(code, attempt):
        return SqlError(
            f"not authorized on the Kafka cluster while {attempt.doing}",
            detail=said + ".",
            hint=f"Grant the ACL {missing}.",
            sqlstate="42501",
        )
    if code in _NO_SUCH_TOPIC and attempt.topic is not None:
        return SqlError(f"topic {attempt.topic} does not exist", detail=said + ".", sqlstate="42704")
    if code in _TOO_LARGE:
        return _too_large(said, attempt)
    if code in _NOT_AUTHENTICATED:
        return SqlError(
            f'could not log in to Kafka connection "{attempt.connection.name}"', detail=said, sqlstate="28000"
        )
    kind = SqlError if code in _A_PERSON_MUST_ACT else Unavailable
    return kind(f"kafka: {error.name()} while {attempt.doing}", detail=said, hint=_where_to_look(code, attempt))


def _where_to_look(code: int, attempt: Attempt) -> str | None:
    if code == KafkaError.INVALID_TRANSACTION_TIMEOUT:
        return "The broker's transaction.max.timeout.ms is the most that --kafka-transaction-timeout may be."
    if code not in _NOT_REACHED:
        return None
    brokers = ", ".join(attempt.connection.brokers)
    return f"Nobody answers at {brokers}: is a broker running there, and reachable from here?"


def _missing_right(code: int, attempt: Attempt) -> str | None:
    """Operation, resource and name of the ACL that the cluster misses, if that is what it said."""
    match code:
        case KafkaError.TOPIC_AUTHORIZATION_FAILED:
            return f'{attempt.operation} on Topic "{attempt.topic}"'
        case KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return f'Write on TransactionalId "{attempt.transactional_id}" (prefixed)'
        case KafkaError.GROUP_AUTHORIZATION_FAILED:
            return f'Read on Group "{attempt.group}" (prefixed)'
        case KafkaError.CLUSTER_AUTHORIZATION_FAILED:
            return "Create and DescribeConfigs on Cluster, or create the topics beforehand"
    return None


def _too_large(said: str, attempt: Attempt) -> SqlError:
    return SqlError(
        f'a message is too large for topic "{attempt.topic}"',
        detail=said + ".",
        hint="Raise max.message.bytes of the topic, or make the rows of the relation smaller.",
        sqlstate="54000",
    )
