"""One writer, from its opening to its first doubt.

TransactionalWriter: messages and the records that tell of them become visible together or not at all.  After
a commit that was not quick and clean it is of no use any more: our client lacks KIP-890, so that an EndTxn
request still on its way could end a *later* transaction of the same epoch.  A new writer gets a new epoch,
and asks the progress topic what became of the old one's.

PlainWriter: first the messages, then the records that tell of them.  At least once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Protocol, TypeAlias

import pyarrow as pa
from confluent_kafka import KafkaException

from tailrace.errors import Unavailable
from tailrace.kafka.failures import reason
from tailrace.sinks.contract import Written
from tailrace.sinks.kafka_outlet import Outlet, Sender, Settings
from tailrace.sinks.key_watch import KeyWatch

log = logging.getLogger(__name__)

SMALL_SECONDS = 60.0  # so long do readers wait for a writer that died and never comes back
LARGE_SECONDS = 600.0

_COMMIT_SECONDS = 30.0  # below a transaction's time-out, so that we, not the coordinator, decide the outcome
_ABORT_SECONDS = 10.0
_QUICK_SECONDS = 20.0  # far below 60 s, after which the client sends a request again that was not answered

Record: TypeAlias = tuple[str, str]


def _nothing() -> None:
    """Between sending and committing, tests have something to do."""


class Writer(Protocol):
    """`begin`, any number of `send`, `commit`; and again.  After an error, `abort`, and never again."""

    def begin(self) -> None: ...

    def send(self, messages: pa.RecordBatch, tick: int, partitions: int) -> Written:
        """Queues messages."""

    def partitions(self) -> int:
        """How many partitions the topic has now."""

    def flush(self) -> None:
        """Returns when the broker has all that was sent."""

    def commit(self, topic: str, *records: Record, when_sent: Callable[[], None] = _nothing) -> None:
        """Makes it durable, with records to `topic`.  `when_sent` is called when the broker has it all."""

    def broken_key(self) -> str | None:
        """One that was sent more than once since `begin`, if somebody is to know."""

    def abort(self) -> None:
        """Gives up what is open, so that readers need not wait for its time-out.  Never fails."""


class TransactionalWriter:
    """Opening one fences every older writer with its id, and ends what that left open."""

    def __init__(self, outlet: Outlet, transactional_id: str, time_out: float) -> None:
        self._topic = outlet.topic
        self._id = transactional_id
        self._time_out = time_out
        settings: Settings = {
            "transactional.id": transactional_id,
            "transaction.timeout.ms": int(time_out * 1000),
        }
        self._sender = Sender(outlet, settings)
        self._sender.connect()
        with self._sender.guarded("taking over"):
            self._sender.producer.init_transactions(outlet.patience)

    def begin(self) -> None:
        self._sender.producer.poll(0)
        self._sender.notes.trouble = None  # a connection lost while nothing was open casts no doubt
        self._sender.watch = KeyWatch()
        with self._sender.guarded("beginning to write to"):
            self._sender.producer.begin_transaction()

    def send(self, messages: pa.RecordBatch, tick: int, partitions: int) -> Written:
        return self._sender.send(messages, tick, partitions)

    def partitions(self) -> int:
        return self._sender.partitions()

    def flush(self) -> None:
        self._sender.flush(self._time_out)

    def commit(self, topic: str, *records: Record, when_sent: Callable[[], None] = _nothing) -> None:
        for key, value in records:
            self._sender.record(topic, key, value)
        self.flush()
        when_sent()
        began = time.monotonic()
        with self._sender.guarded("committing to"):
            self._sender.producer.commit_transaction(_COMMIT_SECONDS)
        self._check_quick_and_clean(time.monotonic() - began)

    def broken_key(self) -> str | None:
        return self._sender.watch.broken_key()

    def _check_quick_and_clean(self, seconds: float) -> None:
        trouble = self._sender.notes.trouble
        if seconds > _QUICK_SECONDS or trouble is not None:
            raise Unavailable(
                f'a commit to topic "{self._topic}" was not quick and clean',
                detail=f"It took {seconds:.1f} s." + (f"  {trouble.str()}" if trouble else ""),
            )

    def abort(self) -> None:
        try:
            self._sender.producer.purge()
            self._sender.producer.abort_transaction(_ABORT_SECONDS)
        except KafkaException as error:
            log.info("transaction not aborted id=%s reason=%s", self._id, reason(error).str())


class PlainWriter:
    """Idempotent, without transactions: fences nobody."""

    def __init__(self, outlet: Outlet) -> None:
        self._sender = Sender(outlet, {})

    def begin(self) -> None:
        """Nothing is open."""
        self._sender.watch = KeyWatch()

    def send(self, messages: pa.RecordBatch, tick: int, partitions: int) -> Written:
        return self._sender.send(messages, tick, partitions)

    def partitions(self) -> int:
        return self._sender.partitions()

    def flush(self) -> None:
        self._sender.flush(LARGE_SECONDS)

    def commit(self, topic: str, *records: Record, when_sent: Callable[[], None] = _nothing) -> None:
        self.flush()
        when_sent()
        for key, value in records:
            self._sender.record(topic, key, value)
        self.flush()

    def broken_key(self) -> str | None:
        return self._sender.watch.broken_key()

    def abort(self) -> None:
        self._sender.producer.purge()
