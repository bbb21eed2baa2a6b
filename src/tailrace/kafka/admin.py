"""Topics of a cluster: how many partitions, which settings, and making the ones that are missing.

Looking never creates: a topic is described, not asked for as a producer asks, which a broker may answer by
creating it with settings of its own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not marked as exported
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from tailrace.errors import SqlError, TailraceError, Unavailable
from tailrace.kafka.client import librdkafka_properties
from tailrace.kafka.client_log import CLIENT_LOG
from tailrace.kafka.connection import KafkaConnection
from tailrace.kafka.failures import DECISIVE, Attempt, reason, translate

log = logging.getLogger(__name__)

ASK_THE_BROKER = -1  # for the number of partitions and the replication factor (Kafka 2.4 and later)

_ANSWER_SECONDS = 30.0
_REACH_SECONDS = 10.0
_LOOK_SECONDS = 0.5
_APPEAR_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicLayout:
    """What a topic is created with.  What is not said, the broker decides."""

    partitions: int = ASK_THE_BROKER
    replication_factor: int = ASK_THE_BROKER
    config: Mapping[str, str] = field(default_factory=dict)


def learn_leaders(client: AdminClient, topics: Collection[str], seconds: float) -> None:
    """To be called before a new client is asked for offsets, with its errors.

    Asked for offsets before it knows which broker has them, on a busy machine one client in four only answers at its
    next look for leaders: a second later, or three.
    """
    asked = client.describe_topics(TopicCollection(list(topics)), request_timeout=seconds)
    for topic in topics:
        asked[topic].result()


class Topics:
    """The topics of one cluster.  Keeps one client, which connects when it is first needed."""

    def __init__(self, connection: KafkaConnection) -> None:
        self._connection = connection
        self._trouble: list[KafkaError] = []  # apart from self: a circle would keep the client alive
        settings: dict[str, Any] = {**librdkafka_properties(connection), "error_cb": self._trouble.append}
        # A logger of ours keeps the client from writing to standard error.
        self.client = AdminClient(settings, logger=CLIENT_LOG)

    def check_reachable(self, seconds: float = _REACH_SECONDS) -> None:
        """Returns when a broker has let us in.  Raises at once what waiting does not mend.

        Other requests only time out when a password is wrong; the reason is told on the side.
        """
        deadline = time.monotonic() + seconds
        self._trouble.clear()
        while True:
            try:
                self.client.list_topics(timeout=_LOOK_SECONDS)
                return
            except KafkaException as error:
                self.client.poll(0)
                told = [each for each in self._trouble if each.code() in DECISIVE]
                if told or time.monotonic() > deadline:
                    doing = f'connecting as "{self._connection.name}"'
                    attempt = Attempt(connection=self._connection, doing=doing)
                    raise translate(told[0] if told else error, attempt) from error

    def partitions(self, topic: str, *rights: str) -> int | None:
        """How many partitions a topic has; None if there is no such topic.

        `rights`: what we are going to do with it, e.g. Read.  Raises if a broker that knows says that we may not: much
        later, when something is written, it would not say to which topic.
        """
        asked = self.client.describe_topics(
            TopicCollection([topic]), include_authorized_operations=bool(rights), request_timeout=_ANSWER_SECONDS
        )[topic]
        try:
            found = asked.result()
        except KafkaException as error:
            if reason(error).code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
            operation = " and ".join(rights) or "Describe"
            raise self._failure(error, f'looking for topic "{topic}"', topic, operation) from error
        granted = {operation.name.lower() for operation in found.authorized_operations or ()}
        missing = [right for right in rights if right.lower() not in granted and "all" not in granted]
        if granted and missing:
            raise self._not_granted(topic, " and ".join(missing))
        return len(found.partitions)

    def _not_granted(self, topic: str, operation: str) -> TailraceError:
        attempt = Attempt(
            connection=self._connection, doing=f'looking for topic "{topic}"', topic=topic, operation=operation
        )
        return translate(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), attempt)

    def names(self) -> list[str]:
        """All topics that may be seen."""
        try:
            return list(self.client.list_topics(timeout=_ANSWER_SECONDS).topics)
        except KafkaException as error:
            raise self._failure(error, "looking for topics", "*", "Describe") from error

    def config(self, topic: str) -> dict[str, str]:
        """The settings of a topic, defaults included."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        asked = self.client.describe_configs([resource], request_timeout=_ANSWER_SECONDS)[resource]
        try:
            entries = asked.result()
        except KafkaException as error:
            doing = f'reading the settings of topic "{topic}"'
            raise self._failure(error, doing, topic, "DescribeConfigs") from error
        return {name: entry.value for name, entry in entries.items() if entry.value is not None}

    def create(self, topic: str, layout: TopicLayout) -> int:
        """Creates a topic, or finds that somebody else has; returns when all its partitions can be used."""
        new = NewTopic(topic, layout.partitions, layout.replication_factor, config=dict(layout.config))
        created = self.client.create_topics([new], request_timeout=_ANSWER_SECONDS)[topic]
        try:
            created.result()
            log.info("topic created topic=%s", topic)
        except KafkaException as error:
            if reason(error).code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise self._not_created(topic, error) from error
        return self._wait_for(topic)

    def _wait_for(self, topic: str) -> int:
        deadline = time.monotonic() + _APPEAR_SECONDS
        while time.monotonic() < deadline:
            if count := self.partitions(topic):
                return count
            time.sleep(0.02)
        raise Unavailable(f"topic {topic} was created and does not appear")

    def _not_created(self, topic: str, error: KafkaException) -> Exception:
        failure = self._failure(error, f'creating topic "{topic}"', topic, "Create")
        if not isinstance(failure, SqlError) or failure.hint:
            return failure
        kind = KafkaError(reason(error).code())  # the text that is documented; the broker's own is the detail
        name = "".join(word.capitalize() for word in kind.name().split("_"))
        return SqlError(
            f"kafka: Error creating topic {topic} for sink: Admin operation error: {name} ({kind.str()})",
            detail=failure.detail,
        )

    def _failure(self, error: KafkaException, doing: str, topic: str, operation: str) -> TailraceError:
        attempt = Attempt(connection=self._connection, doing=doing, topic=topic, operation=operation)
        return translate(error, attempt)
