"""A slot of a large tick, written by a Spark task: its own transactional id, transaction and progress record.

Law: a slot's writer is opened first, and the progress topic read after.  Whoever comes later (a retried or
speculative task, a resubmitted stage, an engine that has taken over) fences the earlier one by opening, and
then sees whatever that one committed.  So each slot is written once, however often Spark runs the task; and
a zombie finds that somebody else owns the slots, and stops.

A task shares nothing with the driver: all it needs comes with it, and what went wrong goes back as a row,
since Spark would turn an exception into text and try again.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.errors import Fenced, SqlError, TailraceError
from tailrace.sinks.contract import Written
from tailrace.sinks.kafka_outlet import Outlet
from tailrace.sinks.kafka_progress import ProgressTopic
from tailrace.sinks.kafka_records import Plan
from tailrace.sinks.kafka_writer import PlainWriter, TransactionalWriter
from tailrace.testing.crash import crash_point

OUTCOME = "messages bigint, bytes bigint, broken_key string, failure binary"
"""What a task gives back, as a Spark schema."""

_MOST_KEPT = 16 << 20  # bytes, while a slot is being opened

_OUTCOME = pa.schema(
    [("messages", pa.int64()), ("bytes", pa.int64()), ("broken_key", pa.string()), ("failure", pa.binary())]
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SlotTask:
    """Writes the slots of `plan` that a Spark partition holds.

    `since`: an offset of the progress topic before which nothing matters to it.  `owner`: who must own the
    slots while it writes.  `time_out`: seconds that a slot's transaction may take.  `engine`: the process that
    a crash point is to take along, if it is on the same machine.
    """

    outlet: Outlet
    progress: ProgressTopic
    transactional_id: str
    plan: Plan
    owner: str
    since: int
    time_out: float
    engine: int | None

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """For mapInArrow.  Columns: `slot`, `key`, `value`, `copies`."""
        yield _outcome(lambda: self._write(batches))

    def _write(self, batches: Iterable[pa.RecordBatch]) -> Iterable[Written]:
        slots: dict[int, _Slot] = {}
        try:
            for batch in batches:
                for number, messages in _by_slot(batch):
                    if number not in slots:
                        slots[number] = _Slot(self, number)
                    slots[number].send(messages)
            for slot in slots.values():
                slot.commit()
        except BaseException:
            for slot in slots.values():
                slot.abort()
            raise
        return [slot.written for slot in slots.values()]


@dataclass(slots=True)
class _Slot:
    """One slot while it is open.  If the target holds it already, its messages are passed over.

    Opening takes the brokers a while.  The first messages are kept until then, so that Spark goes on encoding.
    """

    task: SlotTask
    number: int
    written: Written = field(default_factory=lambda: total([]))
    _opening: Future[TransactionalWriter | None] = field(init=False)
    _kept: list[pa.RecordBatch] = field(init=False, default_factory=list)
    _is_committed: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        beside = ThreadPoolExecutor(1)
        self._opening = beside.submit(self._open)
        beside.shutdown(wait=False)

    def _open(self) -> TransactionalWriter | None:
        task = self.task
        writer = TransactionalWriter(task.outlet, f"{task.transactional_id}-{self.number}", task.time_out)
        held = task.progress.read(since=task.since)  # only now: see the law
        if held.owner != task.owner:
            raise Fenced(
                "a newer writer of this sink has taken over",
                detail=f"Slot {self.number} of tick {task.plan.tick} belongs to somebody else.",
            )
        if self.number in held.done:
            return None
        writer.begin()
        return writer

    def send(self, messages: pa.RecordBatch) -> None:
        self._kept.append(messages)
        if self._opening.done() or sum(batch.nbytes for batch in self._kept) > _MOST_KEPT:
            self._send_kept()

    def _send_kept(self) -> None:
        writer = self._opening.result()
        kept, self._kept = self._kept, []
        if writer is None:
            return
        for messages in kept:
            sent = writer.send(messages, self.task.plan.tick, self.task.plan.partitions)
            self.written = total([self.written, sent])

    def commit(self) -> None:
        self._send_kept()
        writer, task = self._opening.result(), self.task
        if writer is None:
            return
        record = task.progress.records.slot(self.number, task.plan.tick)
        writer.commit(
            task.progress.connection.progress_topic,
            record,
            when_sent=lambda: crash_point("kafka.slot_sent_not_committed", task.engine),
        )
        self._is_committed = True
        self.written = replace(self.written, broken_key=writer.broken_key())
        crash_point("kafka.slot_committed", task.engine)

    def abort(self) -> None:
        with suppress(TailraceError):
            writer = self._opening.result()
            if writer is not None and not self._is_committed:
                writer.abort()


@dataclass(frozen=True, kw_only=True, slots=True)
class PlainTask:
    """Writes whatever messages a Spark partition holds, at least once."""

    outlet: Outlet
    tick: int
    partitions: int

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """For mapInArrow.  Columns: `key`, `value`, `copies`."""
        yield _outcome(lambda: self._write(batches))

    def _write(self, batches: Iterable[pa.RecordBatch]) -> Iterable[Written]:
        writer = PlainWriter(self.outlet)
        sent = [writer.send(batch, self.tick, self.partitions) for batch in batches]
        writer.flush()
        return [replace(total(sent), broken_key=writer.broken_key())]


def summed(outcomes: pa.Table) -> Written:
    """What all tasks wrote; or raises the failure that most needs telling: one that a person must mend."""
    failures = [pickle.loads(each) for each in outcomes.column("failure").drop_null().to_pylist()]
    if failures:
        raise min(failures, key=_urgency)
    return Written(
        messages=pc.sum(outcomes.column("messages")).as_py() or 0,
        bytes=pc.sum(outcomes.column("bytes")).as_py() or 0,
        broken_key=pc.min(outcomes.column("broken_key")).as_py(),
    )


def total(parts: Iterable[Written]) -> Written:
    parts = list(parts)
    return Written(
        messages=sum(part.messages for part in parts),
        bytes=sum(part.bytes for part in parts),
        broken_key=next((part.broken_key for part in parts if part.broken_key is not None), None),
    )


def this_process(master: str | None) -> int | None:
    """The engine's process id, if its workers run on the same machine."""
    return os.getpid() if master is not None and master.startswith("local") else None


def _urgency(failure: TailraceError) -> int:
    return 0 if isinstance(failure, SqlError) else 1 if isinstance(failure, Fenced) else 2


def _outcome(write: Callable[[], Iterable[Written]]) -> pa.RecordBatch:
    """A row about what a task did.  Errors that are not ours are bugs, or Spark ending the task."""
    try:
        written, failure = total(write()), None
    except TailraceError as error:
        written, failure = Written(messages=0, bytes=0), pickle.dumps(error)
    counts = {"messages": [written.messages], "bytes": [written.bytes]}
    columns = {**counts, "broken_key": [written.broken_key], "failure": [failure]}
    return pa.RecordBatch.from_pydict(columns, schema=_OUTCOME)


def _by_slot(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """A batch is of one slot, unless Spark ever hashes otherwise than we think."""
    slots = batch.column("slot")
    numbers = pc.unique(slots).to_pylist()
    for slot in numbers:
        yield slot, batch if len(numbers) == 1 else batch.filter(pc.equal(slots, slot))
