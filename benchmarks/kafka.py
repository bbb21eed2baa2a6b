"""The broker as the harness sees it: fresh topics, bulk loading, paced sending, and what a
`read_committed` consumer can see.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka import Message as Record
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from benchmarks.settings import BOOTSTRAP, PARTITIONS
from benchmarks.workloads.contract import Message

# A topic that was just created, or another that was just deleted, can make a broker answer these for a moment.
_UNSETTLED = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError._NOENT,  # of the client itself, which knows no leader and does not ask again by itself
)


@cache
def _admin() -> AdminClient:
    """Made when it is asked for: there is no broker yet while the peers are set up."""
    return AdminClient({"bootstrap.servers": BOOTSTRAP})


def create_topic(name: str) -> None:
    for future in _admin().create_topics([NewTopic(name, PARTITIONS, 1)]).values():
        future.result()
    end_offsets(name)  # returns once every partition has a leader


def delete_topics(names: Iterable[str]) -> None:
    for future in _admin().delete_topics(list(names)).values():
        try:
            future.result()
        except KafkaException:  # already gone
            pass


def topic_exists(name: str) -> bool:
    return name in _admin().list_topics(timeout=10).topics


def topics_with_prefix(prefix: str) -> list[str]:
    return [name for name in _admin().list_topics(timeout=10).topics if name.startswith(prefix)]


def end_offsets(topic: str) -> list[int]:
    """The last stable offset of each partition: everything below it is visible to `read_committed`."""
    request = {TopicPartition(topic, p): OffsetSpec.latest() for p in range(PARTITIONS)}
    while True:
        futures = _admin().list_offsets(request, isolation_level=IsolationLevel.READ_COMMITTED)
        try:
            offsets = {tp.partition: future.result().offset for tp, future in futures.items()}
        except KafkaException as error:
            if error.args[0].code() not in _UNSETTLED:
                raise
            time.sleep(0.05)
            _admin().list_topics(topic, timeout=10)
        else:
            return [offsets[p] for p in range(PARTITIONS)]


def load(topics: Mapping[str, str], messages: Iterable[Message]) -> dict[str, int]:
    """Send everything as fast as it goes.  `topics` maps a workload's role to the real topic.  Returns counts."""
    producer = Producer(
        {
            "bootstrap.servers": BOOTSTRAP,
            "linger.ms": 50,
            "batch.size": 1_000_000,
            "queue.buffering.max.messages": 500_000,
            "compression.type": "lz4",
            "enable.idempotence": True,  # a retry must not change the number of messages
        }
    )
    counts = dict.fromkeys(topics, 0)
    for number, (role, partition, key, value) in enumerate(messages):
        while True:
            try:
                producer.produce(topics[role], value, key, partition=partition)
                break
            except BufferError:
                producer.poll(0.05)
        counts[role] += 1
        if number % 5_000 == 0:
            producer.poll(0)
    producer.flush()
    return counts


def paced_producer() -> Producer:
    return Producer({"bootstrap.servers": BOOTSTRAP, "linger.ms": 0, "enable.idempotence": True})


def committed_consumer(topic: str, *, until_end: bool = False) -> Consumer:
    """Assigned to every partition of `topic` from its beginning, `read_committed`."""
    consumer = Consumer(
        {
            "bootstrap.servers": BOOTSTRAP,
            "group.id": f"bench-{topic}",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": until_end,
            "fetch.wait.max.ms": 20,  # an upper bound on what the watcher itself can add
            "fetch.queue.backoff.ms": 5,
        }
    )
    consumer.assign([TopicPartition(topic, p, 0) for p in range(PARTITIONS)])
    return consumer


def read_committed(topic: str) -> Iterator[Record]:
    """Every committed message up to the present end of the topic.

    The end is the consumer's own end-of-partition event, not an offset: a partition may end in commit
    markers, which take offsets but never reach an application.
    """
    consumer = committed_consumer(topic, until_end=True)
    unfinished = set(range(PARTITIONS))
    try:
        while unfinished:
            for record in consumer.consume(10_000, timeout=0.5):
                if record.error() is None:
                    yield record
                elif record.error().code() == KafkaError._PARTITION_EOF:
                    unfinished.discard(record.partition())
                else:
                    raise KafkaException(record.error())
    finally:
        consumer.close()
