"""Reading the progress topic: only reaching its end is proof of what it holds.

The end is taken without regard to transactions (the last stable offset might hide our own last record behind
another sink's open one); then committed records are read until it is passed.  A time-out is an error, never
"no record".  Callers have fenced older writers before, so that nothing is added behind their back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # not marked as exported

from tailrace.errors import Unavailable
from tailrace.kafka.admin import learn_leaders
from tailrace.kafka.client import Properties, librdkafka_properties
from tailrace.kafka.client_log import CLIENT_LOG
from tailrace.kafka.closing import close
from tailrace.kafka.connection import KafkaConnection
from tailrace.kafka.failures import Attempt, translate
from tailrace.sinks.kafka_records import Held, Records

_ANSWER_SECONDS = 30.0
_SUFFIXES = (1_000, 32_000)  # records to look at from the end, before all of them
_PATIENCE_SECONDS = 90.0  # with transactions of other sinks that are open in the same partition


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgressTopic:
    """One sink's view of the progress topic.  Crosses to executors."""

    connection: KafkaConnection
    group: str
    records: Records

    def read(self, *, since: int | None = None, wait: bool = True) -> Held:
        """What the topic holds now.  `since`: an offset before which nothing matters.

        Without `wait`, nothing is waited for: what an open transaction hides is counted in `hidden_slots`.
        """
        end = self.end()
        if since is not None:
            return replace(self._read(since, end, wait), end=end)
        for start in [*(end - size for size in _SUFFIXES if size < end), 0]:
            held = self._read(start, end, wait)
            if held.frontier is not None:
                break
        return replace(held, end=end)

    def end(self) -> int:
        """The offset after the last record, committed or not."""
        partition = TopicPartition(self.connection.progress_topic, 0)
        client = AdminClient(librdkafka_properties(self.connection), logger=CLIENT_LOG)
        try:
            learn_leaders(client, [partition.topic], _ANSWER_SECONDS)
            asked = client.list_offsets(
                {partition: OffsetSpec.latest()},  # type: ignore[no-untyped-call]
                isolation_level=IsolationLevel.READ_UNCOMMITTED,
                request_timeout=_ANSWER_SECONDS,
            )
            return int(asked[partition].result().offset)
        except KafkaException as error:
            raise translate(error, self._attempt) from error

    def _read(self, start: int, end: int, wait: bool) -> Held:
        held, reached = Held(), start
        for message in self._messages(start, end, "read_committed", wait):
            reached = _after(message, reached)
            if not message.error():
                held = self.records.fold(held, message.key(), message.value())
        return held if reached >= end else replace(held, hidden_slots=self._hidden_slots(reached, end))

    def _hidden_slots(self, start: int, end: int) -> int:
        """The most slots of any plan that is written, though perhaps never committed."""
        most = 0
        for message in self._messages(start, end, "read_uncommitted", wait=True):
            if not message.error():
                most = max(most, self.records.fold(Held(), message.key(), message.value()).slots)
        return most

    def _messages(self, start: int, end: int, isolation: str, wait: bool) -> Iterator[Message]:
        """Records and end-of-partition marks, until `end` is reached or, without `wait`, the first mark."""
        consumer = Consumer(self._properties(isolation), logger=CLIENT_LOG)
        try:
            consumer.assign([TopicPartition(self.connection.progress_topic, 0, start)])
            reached, deadline = start, time.monotonic() + _PATIENCE_SECONDS
            while reached < end:
                for message in _next(consumer):
                    if _is_about_the_group(message):
                        continue
                    self._check(message)
                    reached = _after(message, reached)
                    yield message
                    if message.error() and not wait:
                        return
                if time.monotonic() > deadline:
                    raise self._stuck(reached, end)
        except KafkaException as error:
            raise translate(error, self._attempt) from error
        finally:
            close(consumer)

    def _check(self, message: Message) -> None:
        error = message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            raise translate(error, self._attempt)

    def _stuck(self, reached: int, end: int) -> Unavailable:
        return Unavailable(
            f"progress topic {self.connection.progress_topic} could not be read to its end",
            detail=f"Reached offset {reached} of {end} in {_PATIENCE_SECONDS:.0f} s.",
            hint="Another sink of this connection may have a transaction open; it ends with its time-out.",
        )

    def _properties(self, isolation: str) -> Properties:
        return librdkafka_properties(self.connection) | {
            "group.id": self.group,
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",  # the first records may be gone: compacted
            "fetch.wait.max.ms": 10,  # at the end we want to hear so, not to wait for more
        }

    @property
    def _attempt(self) -> Attempt:
        return Attempt(
            connection=self.connection,
            doing=f"reading progress topic {self.connection.progress_topic}",
            topic=self.connection.progress_topic,
            operation="Read",
            group=self.group,
        )


def _next(consumer: Consumer) -> list[Message]:
    """What has come, as soon as something has: asked for many at once, the client waits out the time it is given."""
    first = consumer.poll(0.1)
    return [] if first is None else [first, *consumer.consume(10_000, 0)]


def _is_about_the_group(message: Message) -> bool:
    """The client must be given a group and asks for it, whether or not it may: we commit no positions to it."""
    error = message.error()
    return error is not None and error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED


def _after(message: Message, reached: int) -> int:
    """The offset after a record; an end-of-partition mark stands at the end itself."""
    return max(reached, (message.offset() or 0) + (0 if message.error() else 1))
