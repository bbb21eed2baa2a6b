"""Reading few messages on the driver: a consumer that stays assigned, so that what arrives is here before it
is asked for.  Between the same two positions it gives the same messages as Spark's reader, now and later.

It reads committed messages only, belongs to no group, and ends at the offsets it is given.  Transaction
markers and aborted messages leave gaps, also at the very end; so a partition is read up to its end when a
message at or past it has come, or when the broker says that there is nothing more (`enable.partition.eof`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from tailrace.errors import SqlError, TailraceError, Unavailable
from tailrace.kafka.client import librdkafka_properties
from tailrace.kafka.client_log import CLIENT_LOG
from tailrace.kafka.closing import close
from tailrace.kafka.failures import Attempt, translate
from tailrace.sources.contract import Offsets
from tailrace.sources.kafka_definition import KafkaSourceDefinition

SILENT_SECONDS = 30.0
"""A broker that sends neither a message nor an end for so long is not there."""

_SETTINGS: Mapping[str, str | int | bool] = {
    "isolation.level": "read_committed",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",  # an offset that is gone is a loss to report, never a place to jump from
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 20,  # how long after a transaction's marker the end of a partition is known
    "fetch.queue.backoff.ms": 5,  # the default, 1 s, is how long a full queue would hold up the next tick
    "queued.min.messages": 20_000,
    "queued.max.messages.kbytes": 32_768,
    "log_level": 3,
}


Messages: TypeAlias = Mapping[int, list[Message]]
"""By partition, in order of offsets."""


@dataclass(slots=True)
class _Partition:
    """What has arrived of one partition: all below `given` was handed out, all below `seen` has come."""

    given: int
    seen: int
    waiting: list[Message] = field(default_factory=list)

    def take(self, until: int) -> list[Message]:
        """The messages below `until`, which are here: `seen` has passed it."""
        self.given = until
        if not self.waiting or _offset(self.waiting[-1]) < until:
            taken, self.waiting = self.waiting, []
            return taken
        count = next(i for i, message in enumerate(self.waiting) if _offset(message) >= until)
        taken, self.waiting = self.waiting[:count], self.waiting[count:]
        return taken


class Tail:
    """The end of one topic, read on the driver.  Used by one thread at a time."""

    def __init__(self, definition: KafkaSourceDefinition) -> None:
        self._definition = definition
        self._partitions: dict[int, _Partition] = {}
        self._trouble: TailraceError | None = None
        settings = {**_SETTINGS, "group.id": definition.group_id, "error_cb": self._note}
        self.consumer = Consumer(librdkafka_properties(definition.connection) | settings, logger=CLIENT_LOG)

    def is_before(self, position: Offsets) -> bool:
        """Whether reading from there would not lead back."""
        return all(position.get(p, 0) >= partition.given for p, partition in self._partitions.items())

    def read(self, since: Offsets, until: Offsets) -> Messages:
        """The messages between two positions, by partition, in order.  Waits for the broker."""
        unread = {p: end for p, end in until.items() if since.get(p, 0) < end}
        if any(p not in self._partitions or self._partitions[p].given != since.get(p, 0) for p in unread):
            self._assign(since, until)
        try:
            self._receive(unread)
        except BaseException:
            self.leave()
            raise
        return {p: self._partitions[p].take(end) for p, end in sorted(unread.items())}

    def leave(self) -> None:
        """Stops fetching.  The next `read` begins anew."""
        if self._partitions:
            self._partitions = {}
            self.consumer.unassign()

    def close(self) -> None:
        self._partitions = {}
        close(self.consumer)

    def _assign(self, since: Offsets, until: Offsets) -> None:
        starts = {p: since.get(p, 0) for p in until}
        self._partitions = {p: _Partition(given=start, seen=start) for p, start in starts.items()}
        topic = self._definition.topic
        self.consumer.assign([TopicPartition(topic, p, start) for p, start in starts.items()])

    def _receive(self, unread: Mapping[int, int]) -> None:
        self._trouble = None
        deadline = time.monotonic() + SILENT_SECONDS
        while left := sum(max(0, end - self._partitions[p].seen) for p, end in unread.items()):
            arrived = self.consumer.consume(left, 0)  # what is here: with a time limit it would wait for all
            if not arrived:
                first = self.consumer.poll(0.1)
                arrived = [] if first is None else [first]
            if self._file(arrived):
                deadline = time.monotonic() + SILENT_SECONDS
            elif isinstance(self._trouble, SqlError):
                raise self._trouble
            elif time.monotonic() > deadline:
                raise self._trouble or Unavailable(f'topic "{self._definition.topic}" sends no messages')

    def _file(self, arrived: list[Message]) -> bool:
        """Puts messages with their partitions.  Whether there was anything that brings us further."""
        further = False
        for message in arrived:
            error = message.error()
            if error is None:
                self._partition(message).waiting.append(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                ended = self._partition(message)
                ended.seen = max(ended.seen, _offset(message))
            else:
                self._note(error)
                continue
            further = True
        for partition in self._partitions.values():
            if partition.waiting:
                partition.seen = max(partition.seen, _offset(partition.waiting[-1]) + 1)
        return further

    def _partition(self, message: Message) -> _Partition:
        number = message.partition()
        assert number is not None
        return self._partitions[number]

    def _note(self, error: KafkaError) -> None:
        """Trouble of the client.  What a person must act on ends the reading, the rest may pass."""
        definition = self._definition
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            self._trouble = OffsetGone(f"kafka topic {definition.topic}: {error.str()}")
            return
        attempt = Attempt(
            connection=definition.connection,
            doing=f'reading topic "{definition.topic}"',
            topic=definition.topic,
            operation="Read",
            group=definition.group_id,
        )
        self._trouble = translate(error, attempt)


class OffsetGone(SqlError):
    """The broker does not have the offset that was asked for."""


def arrow_table(messages: Messages, *, more: Sequence[str]) -> pa.Table:
    """Raw columns (kafka_decode.RAW) of messages by partition."""
    every = [message for partition in messages.values() for message in partition]
    numbers = [pa.repeat(pa.scalar(p, pa.int32()), len(rows)) for p, rows in messages.items()]
    milliseconds = pa.array([message.timestamp()[1] for message in every], pa.int64())
    table = {
        "key": pa.array([message.key() for message in every], pa.binary()),
        "value": pa.array([message.value() for message in every], pa.binary()),
        "partition": pa.chunked_array(numbers, pa.int32()).combine_chunks(),
        "offset": pa.array([message.offset() for message in every], pa.int64()),
        "timestamp": milliseconds.cast(pa.timestamp("ms")).cast(pa.timestamp("us")),
    }
    for name in more:  # in this order: the columns go by their places
        table[name] = _MORE[name](every)
    return pa.table(table)


_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

_MORE: Mapping[str, Callable[[list[Message]], pa.Array]] = {
    "headers": lambda every: pa.array([_headers(message) for message in every], _HEADERS),
    "timestamp_type": lambda every: pa.array([message.timestamp()[0] - 1 for message in every], pa.int32()),
}


def _headers(message: Message) -> list[dict[str, object]] | None:
    pairs: Any = message.headers()  # a list, whatever its declared type says
    return [{"key": key, "value": value} for key, value in pairs] if pairs else None


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None
    return offset
