"""A relation's changes to a Kafka topic, exactly once: messages and their tick become visible together.

A small tick is one transaction of one long-lived writer on the driver, with the sink's progress record
last; so is one of some more rows, whose messages Spark encodes and the driver sends as they come: opening slots would
take longer.  A large one is planned first (a committed record says in how many slots), then written in Spark tasks,
each slot in a transaction of its own with a record of its own, and settled by the sink's record.  After a
crash the records say which slots are missing, and only those are written.

At the start and after every doubt: open the writer, which fences older ones; take the slots from whoever
planned them; only then read what the topic holds.  tests/kafka/test_sink_*.py hold this against a real
broker.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tailrace.errors import InternalError, Unavailable
from tailrace.ivm.views import TooMuch, few
from tailrace.ivm.zset import Placed, ZSet
from tailrace.kafka.admin import Topics
from tailrace.sinks import pairing
from tailrace.sinks.arrow_stream import stream
from tailrace.sinks.contract import Progress, Written
from tailrace.sinks.kafka_definition import AT_LEAST_ONCE, Defences, KafkaSinkDefinition, Limits
from tailrace.sinks.kafka_outlet import Outlet
from tailrace.sinks.kafka_plans import Plans
from tailrace.sinks.kafka_progress import ProgressTopic
from tailrace.sinks.kafka_records import Held, Records
from tailrace.sinks.kafka_slots import OUTCOME, PlainTask, summed, total
from tailrace.sinks.kafka_topics import count_partitions, ensure_progress_topic
from tailrace.sinks.kafka_writer import (
    SMALL_SECONDS,
    PlainWriter,
    TransactionalWriter,
    Writer,
)
from tailrace.testing.crash import crash_point, is_armed
from tailrace.types.core import Tick

log = logging.getLogger(__name__)

_LARGE_REACH_SECONDS = 2.0
_SOME = 4  # changes of up to a slot's fourth part go to the topic by the driver,
_PARTS = 2  # for each core: the first are sent early
_MOST_STREAMED = 256 << 20  # bytes of messages
_MOST_GATHERED = 64 << 20
_MUCH_TOO_LOW = 20  # times as many rows as there may be: a guess that is of no use


class _TooLarge(Unavailable):
    """For one transaction: the tick comes again, and is then written in another way."""


class KafkaSink:
    """Keeps the contract of sinks/contract.py.  Not for two threads at a time."""

    def __init__(
        self,
        definition: KafkaSinkDefinition,
        spark: SparkSession,
        limits: Limits | None = None,
        defences: Defences | None = None,
        *,
        small: SparkSession | None = None,
    ) -> None:
        """`small`: the session that plans for a handful of rows."""
        self._sink = definition
        self._spark = spark
        self._small = small or spark
        self._limits = limits or Limits()
        self._defences = defences or Defences()
        self._topics = Topics(definition.connection)
        self._outlet = _outlet(definition)
        self._progress = _progress_topic(definition)
        time_out = self._limits.transaction_seconds
        self._plans = Plans(definition, spark, self._outlet, self._progress, time_out)
        self._told_as = definition.told_as
        self._writer: Writer | None = None
        self._held = Held()
        self._partitions = 0
        self._counted = 0.0
        self._underrated: Tick | None = None  # one that proved to be no small one
        self._streamed: Tick | None = None  # if it comes again, its transaction took too long, or something else failed

    def progress(self) -> Progress:
        """Fences older writers, and only then reads what the topic holds.  Makes missing topics.

        The schema registry is asked last: whether or not it answers, what a predecessor left open is ended.
        """
        self._writer = None
        self._topics.check_reachable()
        ensure_progress_topic(self._topics, self._sink.connection)
        too_early = None if self._defences.fence_before_progress else self._read_progress()
        writer = self._open()
        held = too_early or self._read_progress()
        if self._sink.guarantee == AT_LEAST_ONCE:
            held = replace(held, plan=None, done=frozenset())  # of a time when it was exactly once
        fresh = held.frontier is None and not held.done
        self._partitions = count_partitions(self._topics, self._sink, may_create=fresh)
        self._counted = time.monotonic()
        self._told_as = self._sink.told_as.registered()
        self._writer, self._held = writer, held
        return Progress(
            tick=None if held.frontier is None else Tick(held.frontier - 1),
            unfinished=Tick(held.plan.tick) if held.plan and held.done else None,
        )

    def write(self, tick: Tick, delta: ZSet) -> Written:
        """Runs one Spark job, or none if `delta` is known to be empty, or small and planned (ivm/planned.py)."""
        rest = None if self._underrated == tick else self.prepared(tick, delta)
        if rest is not None:
            return rest()
        writer = self._certain_writer(tick)
        self._topics.check_reachable(_LARGE_REACH_SECONDS)  # or Spark's tasks find out, which takes minutes
        much = delta.many() if delta.rows <= self._limits.small_rows else delta
        return self._certain(writer, tick, lambda: self._write_much(writer, tick, much))

    def prepared(self, tick: Tick, delta: ZSet) -> Callable[[], Written] | None:
        """A small tick, encoded.  In a large one Spark and the brokers go hand in hand."""
        writer = self._certain_writer(tick)
        here = None if self._held.done or delta.rows > self._limits.small_rows else self._encoded(tick, delta)
        if here is None:
            self._underrated = tick
            return None
        return lambda: self._certain(writer, tick, lambda: self._write_here(writer, tick, here))

    def _certain_writer(self, tick: Tick) -> Writer:
        """If it is known what the topic holds, and the tick is the next."""
        if self._writer is None:
            raise Unavailable(f'it is in doubt what sink "{self._sink.name}" has written')
        self._check_turn(tick)
        return self._writer

    def _certain(self, writer: Writer, tick: Tick, write: Callable[[], Written]) -> Written:
        try:
            self._recount_partitions(writer)
            crash_point("kafka.not_begun")
            written = write()
        except BaseException:
            # Whatever it was: the next writer has a new epoch, and asks the topic first.
            self._writer = None
            writer.abort()
            raise
        self._held = Held(frontier=tick + 1)
        return written

    def close(self) -> None:
        self._writer = None
        self._plans.give_up(self._topics)

    def _open(self) -> Writer:
        if self._sink.guarantee == AT_LEAST_ONCE:
            return PlainWriter(self._outlet)
        large = self._limits.transaction_seconds
        time_out = large if self._sink.atomic else min(SMALL_SECONDS, large)
        writer = TransactionalWriter(self._outlet, self._sink.transactional_id, time_out)
        self._plans.take_over(writer)
        return writer

    def _read_progress(self) -> Held:
        held = self._progress.read()
        crash_point("kafka.progress_read")
        return held

    def _encoded(self, tick: Tick, delta: ZSet) -> list[pa.RecordBatch] | None:
        """The messages of a small tick; None if it is not small after all.  Runs a Spark job, unless there are none."""
        if delta.is_empty:
            return []
        try:
            encoded = few(self._small, self._told_as.encoded(delta))
        except TooMuch:
            return None
        if encoded.num_rows > _MUCH_TOO_LOW * self._limits.small_rows:
            return None
        messages = pairing.messages(encoded, self._told_as.at(tick), positive=delta.positive)
        batches: list[pa.RecordBatch] = messages.to_batches()
        return batches

    def _write_much(self, writer: Writer, tick: Tick, delta: ZSet) -> Written:
        if self._held.done:
            return self._write_slots(writer, tick, delta)
        if self._sink.guarantee == AT_LEAST_ONCE:
            return self._write_plainly(writer, tick, delta)
        if self._sink.atomic:
            return self._write_here(writer, tick, stream(self._messages(tick, delta)))
        if delta.rows > self._limits.slot_rows // _SOME:
            return self._write_slots(writer, tick, delta)
        if self._streamed != tick:
            self._streamed = tick
            return self._write_here(writer, tick, self._some(tick, delta, _MOST_STREAMED))
        try:  # no transaction waits for Spark
            gathered = list(self._some(tick, delta, _MOST_GATHERED))
        except _TooLarge:
            return self._write_slots(writer, tick, delta)
        return self._write_here(writer, tick, gathered)

    def _some(self, tick: Tick, delta: ZSet, most: int) -> Iterator[pa.RecordBatch]:
        """The messages of a change that would not nearly fill a slot: the first ones while Spark encodes the others.

        If they have more bytes than `most`, that is an error, after which the tick is written in slots.
        """
        parts = _PARTS * self._spark.sparkContext.defaultParallelism
        size = 0
        for batch in stream(self._messages(tick, delta).coalesce(parts)):  # each part costs a job
            size += batch.nbytes
            if size > most:
                raise _TooLarge(f'the messages of sink "{self._sink.name}" are too large for one transaction')
            yield batch

    def _messages(self, tick: Tick, delta: ZSet) -> DataFrame:
        return self._spark.sql(self._told_as.at(tick).messages(delta, self._slots(delta)))

    def _write_here(self, writer: Writer, tick: Tick, batches: Iterable[pa.RecordBatch]) -> Written:
        """In one transaction of the driver's writer."""
        writer.begin()
        sent: list[Written] = []
        for batch in _halved(batches):
            if sent:
                _perhaps_crash(writer)
            sent.append(writer.send(batch, tick, self._partitions))
        self._settle(writer, tick)
        return replace(total(sent), broken_key=writer.broken_key())

    def _write_slots(self, writer: Writer, tick: Tick, delta: ZSet) -> Written:
        """Slot by slot; a plan of which some slots are held is carried out as it is."""
        if self._held.done and self._held.plan:
            plan = self._held.plan
        else:
            slots, placed = self._slots(delta), self._suitable_places(delta)
            if placed is not None:
                slots = max(placed.rows) + 1
            plan = self._plans.begin(writer, tick, slots, self._partitions, placed=placed is not None)
        written = self._plans.run(plan, self._told_as.at(tick), delta, self._held)
        writer.begin()
        self._settle(writer, tick)
        return written

    def _write_plainly(self, writer: Writer, tick: Tick, delta: ZSet) -> Written:
        """By all executors at once, at least once."""
        task = PlainTask(outlet=self._outlet, tick=tick, partitions=self._partitions)
        written = summed(self._messages(tick, delta).mapInArrow(task.run, OUTCOME).toArrow())
        self._settle(writer, tick)
        return written

    def _settle(self, writer: Writer, tick: Tick) -> None:
        """The last step of every tick: the sink's own record, and with it whatever is open."""
        record = self._progress.records.frontier(tick + 1)
        writer.commit(
            self._sink.connection.progress_topic,
            *([record] if self._defences.progress_record else []),
            when_sent=lambda: crash_point("kafka.sent_not_committed"),
        )
        crash_point("kafka.committed_not_seen")

    def _slots(self, delta: ZSet) -> int:
        """As many as the rows need, and at least one for each core."""
        if self._sink.slots is not None:
            return self._sink.slots
        needed = -(-delta.rows // self._limits.slot_rows)
        return min(max(needed, self._spark.sparkContext.defaultParallelism), self._limits.most_slots)

    def _suitable_places(self, delta: ZSet) -> Placed | None:
        """Where rows come from, if that divides them well: a slot costs a fifth of a second, a shuffle more."""
        cores = self._spark.sparkContext.defaultParallelism
        if delta.placed is None or not delta.positive:
            return None
        rows = delta.placed.rows
        most = min(2 * max(self._slots(delta), cores), self._limits.most_slots)
        few_enough = len(rows) <= most and max(rows) < self._limits.most_slots
        largest = max(rows.values())
        even_enough = largest <= 2 * self._limits.slot_rows and largest * cores <= 1.5 * sum(rows.values())
        return delta.placed if few_enough and even_enough else None

    def _check_turn(self, tick: Tick) -> None:
        held, name = self._held, self._sink.name
        if held.frontier is not None and tick < held.frontier:
            raise InternalError(f'sink "{name}" holds tick {held.frontier - 1} and was given {tick}')
        if held.done and held.plan and held.plan.tick != tick:
            raise InternalError(f'sink "{name}" must finish tick {held.plan.tick} and was given {tick}')

    def _recount_partitions(self, writer: Writer) -> None:
        if time.monotonic() - self._counted > self._sink.topic_refresh_seconds:
            self._partitions = writer.partitions()
            self._counted = time.monotonic()


def _outlet(sink: KafkaSinkDefinition) -> Outlet:
    return Outlet(
        connection=sink.connection,
        client_id=sink.base,
        topic=sink.topic,
        compression=sink.compression,
        keyed=sink.key is not None,
        key_framing=sink.key_format.framing,
        partitioner=sink.partitioner,
        tells_tick=sink.tells_tick,
        watches_key=sink.watches_key,
        routes=sink.routes,
    )


def _progress_topic(sink: KafkaSinkDefinition) -> ProgressTopic:
    records = Records(sink=sink.name, key=sink.progress_key, version=sink.version)
    return ProgressTopic(connection=sink.connection, group=sink.progress_group, records=records)


def _halved(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each batch in two parts, so that there is a middle to crash in."""
    for batch in batches:
        half = batch.num_rows // 2
        yield from (part for part in (batch.slice(0, half), batch.slice(half)) if part.num_rows)


def _perhaps_crash(writer: Writer) -> None:
    if is_armed("kafka.mid_produce"):
        writer.flush()  # so that some messages are really there
    crash_point("kafka.mid_produce")
