"""Topics as a test sees them: make one, fill it, read it to its end.

Plain functions over confluent_kafka, for small amounts: everything is held in memory.  `read_committed` is
the independent reader that exactly-once is judged by.
"""

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka import Message as KafkaMessage
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec  # type: ignore[attr-defined]  # not marked as exported

_SILENT_SECONDS = 60.0  # no message and no end of partition for so long: the broker is gone or stuck

_ANY_PARTITION = -1  # the key decides
_QUIET = 2  # what goes wrong comes as an exception; a log line for each try to connect helps nobody

Isolation = Literal["read_committed", "read_uncommitted"]


class Record(NamedTuple):
    """What to produce.  Without a partition the key decides, by the hash Java clients use."""

    key: str | bytes | None = None
    value: str | bytes | None = None
    headers: Mapping[str, str | bytes | None] = {}
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """What was read.

    `timestamp` is in milliseconds since the epoch; of a repeated header the last one is kept.
    """

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes | None]
    timestamp: int


def is_there(bootstrap: str, topic: str) -> bool:
    return topic in _admin(bootstrap).list_topics(timeout=_SILENT_SECONDS).topics


def create_topic(
    bootstrap: str, topic: str, partitions: int = 1, config: Mapping[str, str] | None = None
) -> str:
    """Create a topic, wait until it can be used, and return its name."""
    admin = _admin(bootstrap)
    created = admin.create_topics([NewTopic(topic, partitions, 1, config=dict(config or {}))])
    created[topic].result(_SILENT_SECONDS)
    deadline = time.monotonic() + _SILENT_SECONDS
    while not _has_leaders(admin, topic, partitions):
        if time.monotonic() > deadline:
            raise TimeoutError(f'topic "{topic}" was created and has no leader')
        time.sleep(0.01)
    return topic


def delete_topic(bootstrap: str, topic: str) -> None:
    """Delete a topic."""
    admin = _admin(bootstrap)
    admin.delete_topics([topic])[topic].result(_SILENT_SECONDS)


def produce(bootstrap: str, topic: str, records: Iterable[Record | tuple[object, ...]]) -> None:
    """Write records, each (key, value, headers, partition) or its beginning, and wait for the broker."""
    producer = Producer(_producer_settings(bootstrap))
    _send(producer, topic, records)


@contextmanager
def transaction(bootstrap: str, transactional_id: str | None = None) -> Iterator["Transaction"]:
    """A transaction that is committed on leaving, and aborted when the block raises."""
    producer = Producer(
        {**_producer_settings(bootstrap), "transactional.id": transactional_id or f"test-{uuid.uuid4()}"}
    )
    producer.init_transactions(_SILENT_SECONDS)
    producer.begin_transaction()
    try:
        yield Transaction(producer)
    except BaseException:
        producer.abort_transaction(_SILENT_SECONDS)
        raise
    producer.commit_transaction(_SILENT_SECONDS)


@dataclass(frozen=True, slots=True)
class Transaction:
    """An open transaction to write records in."""

    producer: Producer

    def produce(self, topic: str, records: Iterable[Record | tuple[object, ...]]) -> None:
        """Write records, and wait until the broker has them; only a commit shows them to `read_committed`."""
        _send(self.producer, topic, records)


def read_committed(bootstrap: str, topic: str) -> list[Message]:
    """All committed messages, by partition and offset, up to the end or the first open transaction."""
    return read(bootstrap, topic, "read_committed")


def read(bootstrap: str, topic: str, isolation: Isolation) -> list[Message]:
    """All messages of a topic at the given isolation, by partition and offset, up to its present end."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"reader-{uuid.uuid4()}",  # must be given; nothing is committed to it
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "log_level": _QUIET,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",  # where the log no longer begins at 0
            "fetch.wait.max.ms": 10,
        }
    )
    try:
        partitions = partitions_of(bootstrap, topic)
        # From 0: asking for the beginning costs the client half a second.
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        messages = list(_to_the_end(consumer, set(partitions)))
    finally:
        consumer.close()
    return sorted(messages, key=lambda message: (message.partition, message.offset))


def settle(bootstrap: str, topic: str) -> None:
    """Wait until no transaction is open on a topic, so that `read_committed` reads all there is to read.

    A commit is answered before its markers are in the topic; after a crash they may take a moment.
    """
    deadline = time.monotonic() + _SILENT_SECONDS
    admin = _admin(bootstrap)
    places = _places(admin, topic)
    while _ends(admin, places, IsolationLevel.READ_COMMITTED) != _ends(
        admin, places, IsolationLevel.READ_UNCOMMITTED
    ):
        if time.monotonic() > deadline:
            raise TimeoutError(f'a transaction stays open on topic "{topic}"')
        time.sleep(0.02)


def ends(bootstrap: str, topic: str, *, committed: bool = False) -> dict[int, int]:
    """The offset after the last message of each partition, committed or not; or how far `read_committed` would get."""
    admin = _admin(bootstrap)
    places = _places(admin, topic)
    offsets = _ends(admin, places, IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED)
    return {place.partition: offset for place, offset in zip(places, offsets, strict=True)}


def partitions_of(bootstrap: str, topic: str) -> list[int]:
    """The partition numbers of a topic; KafkaException if there is no such topic."""
    return [place.partition for place in _places(_admin(bootstrap), topic)]


def _places(admin: AdminClient, topic: str) -> list[TopicPartition]:
    """All partitions.  Also to be asked before their ends: a client that knows no leaders loses a second or three."""
    metadata = admin.list_topics(topic, timeout=_SILENT_SECONDS).topics[topic]
    if metadata.error is not None:
        raise KafkaException(metadata.error)
    return [TopicPartition(topic, partition) for partition in sorted(metadata.partitions)]


def _to_the_end(consumer: Consumer, unread: set[int]) -> Iterator[Message]:
    deadline = time.monotonic() + _SILENT_SECONDS
    while unread:
        arrived = consumer.consume(num_messages=10_000, timeout=0.02)  # waits it out
        if arrived:
            deadline = time.monotonic() + _SILENT_SECONDS
        elif time.monotonic() > deadline:
            raise TimeoutError(f"no end reached of partitions {sorted(unread)}")
        for message in arrived:
            error = message.error()
            if error is None:
                yield _message(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                unread.discard(_known(message.partition()))
            else:
                raise KafkaException(error)


def _message(message: KafkaMessage) -> Message:
    return Message(
        partition=_known(message.partition()),
        offset=_known(message.offset()),
        key=_bytes(message.key()),
        value=_bytes(message.value()),
        headers={name: _bytes(value) for name, value in dict(message.headers() or []).items()},
        timestamp=message.timestamp()[1],
    )


def _known(number: int | None) -> int:
    assert number is not None
    return number


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _send(producer: Producer, topic: str, records: Iterable[Record | tuple[object, ...]]) -> None:
    failures: list[KafkaError] = []

    def note(error: KafkaError | None, _message: KafkaMessage) -> None:
        if error is not None:
            failures.append(error)

    for record in map(_record, records):
        partition = _ANY_PARTITION if record.partition is None else record.partition
        headers = list(record.headers.items())
        while True:
            try:
                producer.produce(
                    topic, record.value, record.key, partition, on_delivery=note, headers=headers
                )
                break
            except BufferError:  # the local queue is full: let some of it leave
                producer.poll(0.1)
    unsent = producer.flush(_SILENT_SECONDS)
    if failures:
        raise KafkaException(failures[0])
    if unsent:
        raise TimeoutError(f"{unsent} records were not acknowledged")


def _record(record: Record | tuple[object, ...]) -> Record:
    return record if isinstance(record, Record) else Record(*record)  # type: ignore[arg-type]


def _producer_settings(bootstrap: str) -> dict[str, str | int]:
    return {
        "bootstrap.servers": bootstrap,
        "linger.ms": 1,
        "log_level": _QUIET,
        "partitioner": "murmur2_random",
        "enable.idempotence": True,  # what is sent again over a bad network is not there twice
    }


def _has_leaders(admin: AdminClient, topic: str, partitions: int) -> bool:
    metadata = admin.list_topics(topic, timeout=_SILENT_SECONDS).topics[topic]
    leaders = [each.leader for each in metadata.partitions.values() if each.leader >= 0]
    return metadata.error is None and len(leaders) == partitions


def _ends(admin: AdminClient, places: list[TopicPartition], isolation: IsolationLevel) -> list[int]:
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    asked = dict.fromkeys(places, latest)
    answers = admin.list_offsets(asked, isolation_level=isolation, request_timeout=_SILENT_SECONDS)
    return [answers[place].result(_SILENT_SECONDS).offset for place in places]


def _admin(bootstrap: str) -> AdminClient:
    """To be held in a variable while a call is under way: the futures of a collected client never end."""
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": _QUIET})
