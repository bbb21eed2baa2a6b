"""Arrow batches of messages into a producer: the one loop that runs once per message.

Each message goes to the partition that the bytes of its key decide, and carries the tick in a header.  All
else is done on whole columns.  Memory is bounded by the producer's queue: when it is full, we wait.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count, repeat
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tailrace.errors import SqlError, TailraceError, Unavailable
from tailrace.kafka.client import librdkafka_properties, redacted
from tailrace.kafka.client_log import CLIENT_LOG
from tailrace.kafka.connection import KafkaConnection
from tailrace.kafka.failures import Attempt, reason, translate
from tailrace.kafka.partition import Hashes, murmur2, seahash
from tailrace.kafka.partitioner import partitions_of
from tailrace.sinks.contract import Written
from tailrace.sinks.key_watch import KeyWatch

Settings: TypeAlias = Mapping[str, str | int | float | bool]
Headers: TypeAlias = list[tuple[str, str | bytes | None]]
Row: TypeAlias = tuple[bytes | None, bytes | None, int, Headers, int]
"""Key, value, partition, headers, timestamp."""

_NOW = 0  # as a timestamp: the time of sending

TICK_HEADER = "materialize-timestamp"

_ANSWER_SECONDS = 30.0
_LOOK_SECONDS = 1.0
_CONNECT_SECONDS = 1.0  # for an answer that one can do without

_GIVEN_UP = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)

_SETTINGS: Settings = {
    "enable.idempotence": True,
    # A topic that somebody deletes must not come back with the broker's settings and half of the data.
    "allow.auto.create.topics": False,
    "topic.metadata.propagation.max.ms": 5_000,
    "linger.ms": 10,
    "batch.size": 1_000_000,
    "batch.num.messages": 10_000,
    "message.max.bytes": 1_000_000,
    "queue.buffering.max.messages": 200_000,
    "queue.buffering.max.kbytes": 131_072,
    "delivery.report.only.error": True,
}


SEAHASH, MURMUR2, FIXED, ROUND_ROBIN = "seahash", "murmur2", "fixed", "round-robin"
"""What decides a message's partition.  Murmur2 of the key is what Kafka's Java clients do; without a key they take any
partition, here one that the value decides.  `module:function` is somebody's own (kafka/partitioner.py)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Routes:
    """Which topics the rows of a sink may name: some, or those that match."""

    names: tuple[str, ...] = ()
    pattern: str | None = None

    def check(self, topic: str | None) -> str:
        if topic is None:
            raise SqlError("The topic of the sink record is not valid. Expected a topic but none is set.")
        if self.pattern is not None and re.fullmatch(self.pattern, topic) is None:
            expected = f"match: {self.pattern}"
        elif self.pattern is None and topic not in self.names:
            expected = f"be in: [{', '.join(self.names)}]"
        else:
            return topic
        invalid = "The topic of the sink record is not valid."
        raise SqlError(f"{invalid} Expected topic to {expected} but was: {topic}", sqlstate="22023")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outlet:
    """Where messages go.  Crosses to executors.

    `key_framing`: bytes of a key that its partition ignores.  `patience`: brokers that take nothing for so many seconds
    do not answer; a task that waits for them keeps a place from others' tasks.
    """

    connection: KafkaConnection
    client_id: str
    topic: str
    compression: str
    keyed: bool
    key_framing: int
    partitioner: str = SEAHASH
    tells_tick: bool = True  # in a header
    watches_key: bool = False  # which was not proven to be one
    routes: Routes | None = None
    patience: float = 20.0


class Notes:
    """What a producer tells on the side: of its first failed message, of the last trouble with its brokers.

    Apart from Sender, so that nothing points in a circle and a producer ends with the last look at it.
    """

    def __init__(self) -> None:
        self.failed: KafkaError | None = None
        self.trouble: KafkaError | None = None

    def on_delivery(self, error: KafkaError | None, _message: Message) -> None:
        """The first one, but for messages that were only given up because another had failed."""
        if error is not None and (self.failed is None or self.failed.code() in _GIVEN_UP):
            self.failed = error

    def on_error(self, error: KafkaError) -> None:
        self.trouble = error


class Sender:
    """A producer whose methods raise errors of ours.  `settings` are added to what all of them have."""

    def __init__(self, outlet: Outlet, settings: Settings) -> None:
        self._outlet = outlet
        self._transactional_id = settings.get("transactional.id")
        self._turns = count()
        self._counts: dict[str, int] = {}  # partitions of the topics that rows have named
        self._hashed: tuple[pa.RecordBatch, Hashes] | None = None  # the last messages, and of their keys
        self.notes = Notes()
        self.watch = KeyWatch()
        own: Settings = {"client.id": outlet.client_id, "compression.type": outlet.compression, **settings}
        callbacks = {"error_cb": self.notes.on_error, "on_delivery": self.notes.on_delivery}
        properties = librdkafka_properties(outlet.connection) | _SETTINGS | own
        self.producer = Producer({**properties, **callbacks}, logger=CLIENT_LOG)

    def connect(self) -> None:
        """Returns when a broker has answered, or does not: then whoever needs one says why.

        To be called before a transactional id is opened: while no broker is connected, the client looks for the id's
        coordinator only every half second.  The first answer may be of a broker it was told of, which it then leaves
        for the same one by the name that the cluster has for it: so it is asked twice.
        """
        with suppress(KafkaException):
            for _ in range(2):
                self.producer.list_topics(self._outlet.topic, _CONNECT_SECONDS)

    def send(self, messages: pa.RecordBatch, tick: int, partitions: int) -> Written:
        """Queues messages: columns `key`, `value`, `copies`, and perhaps `p`, `h`, `t`, `o` (see Envelope.extras)."""
        if "o" not in messages.schema.names:
            return self._send(messages, tick, self._outlet.topic, partitions)
        sent = [self._send(part, tick, topic, self._count(topic)) for topic, part in self._routed(messages)]
        return Written(messages=sum(each.messages for each in sent), bytes=sum(each.bytes for each in sent))

    def _routed(self, messages: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The messages of each topic, in their order."""
        routes = self._outlet.routes or Routes()
        for topic in pc.unique(messages["o"]).to_pylist():
            yield routes.check(topic), messages.filter(pc.equal(messages["o"], topic))

    def _count(self, topic: str) -> int:
        if topic not in self._counts:
            self._counts[topic] = self._partitions_of(topic)
        return self._counts[topic]

    def _send(self, messages: pa.RecordBatch, tick: int, topic: str, partitions: int) -> Written:
        keys, values, copies = (messages.column(name) for name in ("key", "value", "copies"))
        extras = set(messages.schema.names)
        numbers = self._partitions(messages, partitions)
        if self._outlet.watches_key:
            self.watch.see(keys, self._key_hashes(messages), copies)
        headers: Iterable[Headers] = repeat([(TICK_HEADER, str(tick).encode())] if self._outlet.tells_tick else [])
        if "h" in extras:
            headers = [[*ours, *_unpacked(h)] for ours, h in zip(headers, messages["h"].to_pylist(), strict=False)]
        times = pc.fill_null(messages["t"], _NOW).to_pylist() if "t" in extras else repeat(_NOW)
        rows: Iterable[Row] = zip(keys.to_pylist(), values.to_pylist(), numbers, headers, times, strict=False)
        if pc.max(copies).as_py() != 1:
            rows = (row for row, count in zip(rows, copies.to_pylist(), strict=True) for _ in range(count))
        with self.guarded("writing to"):
            self._produce(topic, rows)
        return _written(keys, values, copies, messages["h"] if "h" in extras else None)

    def _produce(self, topic: str, rows: Iterable[Row]) -> None:
        produce = self.producer.produce
        for key, value, partition, headers, timestamp in rows:
            try:
                # By position: names cost a third of the call.
                produce(topic, value, key, partition, None, None, timestamp, headers)
            except BufferError:
                self._produce_patiently(topic, key, value, partition, headers, timestamp)
        self.producer.poll(0)

    def record(self, topic: str, key: str, value: str) -> None:
        """Queues one record to a topic of one partition."""
        with self.guarded("writing to"):
            self.producer.produce(topic, value, key, 0)

    def partitions(self) -> int:
        """How many partitions the topic has now, as this producer will know from now on."""
        self._counts.clear()
        return 0 if self._outlet.routes is not None else self._partitions_of(self._outlet.topic)

    def _partitions_of(self, topic: str) -> int:
        with self.guarded("looking for"):
            found = self.producer.list_topics(topic, _ANSWER_SECONDS).topics[topic]
        if found.error is not None:
            raise translate(found.error, self._attempt("looking for"))
        return len(found.partitions)

    def flush(self, seconds: float) -> None:
        """Returns when the broker has all that was queued."""
        waiting = len(self.producer)
        now = moved = time.monotonic()
        deadline = now + seconds
        while waiting and self.notes.failed is None and now < min(deadline, moved + self._outlet.patience):
            with self.guarded("writing to"):
                left = self.producer.flush(min(_LOOK_SECONDS, deadline - now))
            now = time.monotonic()
            waiting, moved = left, now if left < waiting else moved
        failed = self.notes.failed
        if failed is not None and failed.code() not in _GIVEN_UP:
            raise translate(failed, self._attempt("writing to"))
        if failed is not None or waiting:
            self._check_topic()
            why = self._transaction_error() or failed or self.notes.trouble
            raise Unavailable(
                f'messages to topic "{self._outlet.topic}" were not acknowledged',
                detail=redacted(why.str(), self._outlet.connection) if why is not None else None,
            )

    def _check_topic(self) -> None:
        """Raises if there is none any more: of messages to it the client says only that they were given up, or nothing.

        A broker that does not answer has not denied it.
        """
        if self._outlet.routes is not None:
            return
        with suppress(KafkaException):
            found = self.producer.list_topics(self._outlet.topic, _CONNECT_SECONDS).topics[self._outlet.topic]
            if found.error is not None:
                raise translate(found.error, self._attempt("writing to"))

    @contextmanager
    def guarded(self, doing: str) -> Iterator[None]:
        """What the client library raises inside becomes an error of ours."""
        try:
            yield
        except KafkaException as error:
            raise self._translated(reason(error), doing) from error
        except SystemError as error:
            # A fatal error that the client raises while it also calls us back, which Python objects to.
            cause = self._transaction_error()
            if cause is None:
                raise
            raise self._translated(cause, doing) from error

    def _translated(self, error: KafkaError, doing: str) -> TailraceError:
        """Some errors only say that there was one: the cause is told elsewhere."""
        match error.code():
            case KafkaError._INCONSISTENT | KafkaError._STATE:  # a message failed, and so the transaction
                self.producer.poll(0)
                error = self.notes.failed or error
            case KafkaError._FATAL:
                error = self._transaction_error() or error
            case KafkaError._TIMED_OUT:
                error = self.notes.trouble or error
        return translate(error, self._attempt(doing))

    def _transaction_error(self) -> KafkaError | None:
        """After an error that ends a transaction, or the producer, nothing can be begun, and the refusal names it."""
        try:
            self.producer.begin_transaction()
        except KafkaException as error:
            cause = reason(error)
            return cause if cause.fatal() or cause.txn_requires_abort() else None
        return None

    def _partitions(self, messages: pa.RecordBatch, partitions: int) -> Iterable[int]:
        if "p" in messages.schema.names:
            hashes = messages["p"].to_numpy(zero_copy_only=False).view(np.uint64)
        elif self._outlet.partitioner == MURMUR2:
            hashes = murmur2(messages["key" if self._outlet.keyed else "value"]).astype(np.uint64)
        elif self._outlet.partitioner == ROUND_ROBIN:
            return (next(self._turns) % partitions for _ in range(messages.num_rows))
        elif ":" in self._outlet.partitioner:
            return partitions_of(self._outlet.partitioner, messages["key"], messages["value"], partitions)
        elif self._outlet.keyed and self._outlet.partitioner == SEAHASH:
            hashes = self._key_hashes(messages)
        else:
            return repeat(0)
        numbers: list[int] = (hashes % np.uint64(partitions)).tolist()
        return numbers

    def _key_hashes(self, messages: pa.RecordBatch) -> Hashes:
        if self._hashed is None or self._hashed[0] is not messages:
            self._hashed = messages, seahash(messages["key"], self._outlet.key_framing)
        return self._hashed[1]

    def _produce_patiently(
        self, topic: str, key: bytes | None, value: bytes | None, partition: int, headers: Headers, timestamp: int
    ) -> None:
        """When the queue has room again."""
        deadline = time.monotonic() + self._outlet.patience
        while time.monotonic() < deadline:
            self.producer.poll(0.05)
            try:
                return self.producer.produce(topic, value, key, partition, timestamp=timestamp, headers=headers)
            except BufferError:
                continue
        raise Unavailable(f'the brokers of topic "{self._outlet.topic}" take no messages')

    def _attempt(self, doing: str) -> Attempt:
        return Attempt(
            connection=self._outlet.connection,
            doing=f'{doing} topic "{self._outlet.topic}"',
            topic=self._outlet.topic,
            transactional_id=str(self._transactional_id),
        )


def _unpacked(headers: str | None) -> Headers:
    """What envelope.packed_headers has packed."""
    entries = (entry.split(":") for entry in headers.split(",")) if headers else ()
    return [(bytes.fromhex(k).decode(), None if v == "-" else bytes.fromhex(v)) for k, v in entries]


def _written(keys: pa.Array, values: pa.Array, copies: pa.Array, headers: pa.Array | None) -> Written:
    """Bytes of keys, values and the relation's own headers."""
    lengths = pc.add(*(pc.fill_null(pc.binary_length(part), 0) for part in (keys, values)))
    if headers is not None:
        digits = pc.replace_substring_regex(pc.fill_null(headers, ""), "[^0-9A-F]", "")
        lengths = pc.add(lengths, pc.divide(pc.binary_length(digits), 2))
    total = pc.sum(pc.multiply(lengths.cast(pa.int64()), copies)).as_py()
    return Written(messages=pc.sum(copies).as_py() or 0, bytes=total or 0)
