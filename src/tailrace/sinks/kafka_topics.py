"""The two topics of a sink: the progress topic, which must keep its records for ever, and that of the data.

Both are made when they are missing.  Once a sink has progress, its data topic is not made again: somebody has
deleted it, and only a person can say what that means.
"""

from __future__ import annotations

import logging

from tailrace.errors import SqlError
from tailrace.kafka.admin import ASK_THE_BROKER, TopicLayout, Topics
from tailrace.kafka.connection import KafkaConnection
from tailrace.sinks.kafka_definition import KafkaSinkDefinition

log = logging.getLogger(__name__)

_KEPT_FOR_EVER = {
    "cleanup.policy": "compact",
    "segment.bytes": str(128 * 1024 * 1024),
    "retention.ms": "-1",
    "retention.bytes": "-1",
}


def ensure_progress_topic(topics: Topics, connection: KafkaConnection) -> None:
    """Makes the progress topic if it is missing, and checks it: one partition, compacted, nothing else."""
    topic = connection.progress_topic
    partitions = topics.partitions(topic, "Read", "Write")
    if partitions is None:
        factor = connection.progress_topic_replication_factor or ASK_THE_BROKER
        layout = TopicLayout(partitions=1, replication_factor=factor, config=_KEPT_FOR_EVER)
        partitions = topics.create(topic, layout)
    if partitions != 1:
        raise SqlError(
            f"Progress topic {topic} should contain a single partition,"
            f" but instead contains {partitions} partitions",
            sqlstate="55000",
        )
    _check_policy(topics, topic)


def _check_policy(topics: Topics, topic: str) -> None:
    try:
        policy = topics.config(topic).get("cleanup.policy", "compact")
    except SqlError as error:  # the right to look is not among those a sink needs
        log.info("settings of the progress topic not checked topic=%s reason=%s", topic, error.detail)
        return
    if policy != "compact":
        raise SqlError(
            f"Progress topic {topic} should be compacted, but its cleanup.policy is {policy}",
            detail="When its records expire, the sink no longer knows what it has written.",
            hint=f"Set cleanup.policy=compact on topic {topic}.",
            sqlstate="55000",
        )


def count_partitions(topics: Topics, sink: KafkaSinkDefinition, *, may_create: bool) -> int:
    """How many partitions the data topic has.  Makes it if it is missing and may be made.

    Where each row names its topic, all those that can be named are looked at, and the answer is 0.
    """
    if sink.routes is not None:
        for each in sink.routes.names:
            _count(topics, sink, each, may_create=may_create)
        return 0
    return _count(topics, sink, sink.topic, may_create=may_create)


def _count(topics: Topics, sink: KafkaSinkDefinition, topic: str, *, may_create: bool) -> int:
    partitions = topics.partitions(topic, "Write")
    if partitions is None and may_create:
        partitions = topics.create(topic, sink.topic_layout)
    if partitions is None:
        raise SqlError(
            f"topic {topic} does not exist",
            detail=f'Sink "{sink.name}" has already written to it.',
            hint="Drop the sink and create it again to write everything anew.",
            sqlstate="42704",
        )
    return partitions
