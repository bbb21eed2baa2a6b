"""Delivery of one relation's changes to one sink: always from what the target holds, never from what we believe.

`frontier` is the last tick after which nothing is owed.  It may be later than what the target has on record: ticks
that change nothing are not written.

A target may keep us waiting, and a snapshot takes its time, so it is asked and written to beside the loop (beside.py),
which waits for a moment and then goes on without it.  Until the outcome is known the frontier stays.  If all was well,
the ticks in between follow one by one; after a failure, or if there is much in each, they are written together.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from tailrace.errors import SqlError, Unavailable
from tailrace.ivm.operator import Operator
from tailrace.ivm.zset import ZSet
from tailrace.sinks.contract import InterruptibleSink, PatientSink, Progress, Sink, Written
from tailrace.ticks.beside import Errand, Jobs
from tailrace.ticks.lane import FIRST
from tailrace.types.core import BEGINNING, Tick

_log = logging.getLogger("tailrace.ticks")
T = TypeVar("T")

_PATIENCE_SECONDS = 0.5  # of the loop, once in an outage: a commit takes 5 ms, opening a writer a fifth of a second
_SILENT_SECONDS = 5.0  # and the status says so
_MOST_OWED = 100  # ticks, each by itself; earlier ones are written with the first of them
_REMEMBERED = 1000  # writes of a sink
MANY = 20_000  # rows that take their time
_END_SECONDS = 5.0  # for jobs that are not wanted any more
_WARN_SECONDS = 10.0  # from one log line about a key to the next


@dataclass(slots=True)
class Counts:
    """What a sink has sent since the engine started."""

    messages: int = 0
    bytes: int = 0
    writes: int = 0
    messages_refused: int = 0  # were sent and not committed, as far as we know


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivered:
    """One write, for people to look at: which tick, in how many slots, and how long from the change to the answer."""

    tick: Tick
    written: Written
    seconds: float
    at: float


@dataclass(kw_only=True, slots=True, eq=False)
class Delivery:
    """`start`: BEGINNING for a sink with a snapshot, else the tick the sink was created at.

    `kept` is the frontier of the last checkpoint; `written` the last tick that went to the target, as far as we know.
    `knows`: whether the tick log has a tick.  `interval`: so many seconds are at least between two writes; ticks in
    between are written together.  `beside`: the target is somewhere else and may keep us waiting; then Spark's part of
    writing to it is among these `jobs`.
    """

    id: str
    name: str
    relation: str
    root: Operator
    sink: Sink
    start: Tick = BEGINNING
    lane: str = FIRST
    over: tuple[str, ...] = ()  # what a subscription's query reads; it has no relation
    advances: bool = False  # nobody else brings `root` to the tick: a subscription to a query of its own
    kept: Tick = BEGINNING
    written: Tick = BEGINNING
    knows: Callable[[Tick], bool] = lambda _: True
    interval: float = 0.0
    beside: bool = False
    jobs: Jobs | None = None
    is_waiting: bool = False  # for the end of the interval
    broken_key: str | None = None  # the last one that had several rows, though it should have one
    counts: Counts = field(default_factory=Counts)
    recent: deque[Delivered] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    _progress: Progress | None = None
    _frontier: Tick | None = None
    _refusal: SqlError | None = None
    _wrote_at: float = float("-inf")
    _errand: Errand[Any] | None = None
    _is_troubled: bool = False  # the loop has waited in vain, or something failed: it does not wait again
    _is_failing: bool = False  # and the status says why
    _owed: deque[Tick] = field(default_factory=lambda: deque(maxlen=_MOST_OWED))  # not begun yet
    failures: int = 0  # how often it could not be written
    _offered: int = 0  # rows of the change that is being written
    _offered_at: Tick | None = None  # its tick
    _was_much: bool = False  # what was written last
    _warned_at: float = float("-inf")

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.relation,) if self.relation else self.over

    @property
    def is_known(self) -> bool:
        """The target has been asked since the last doubt."""
        return self._progress is not None

    @property
    def frontier(self) -> Tick:
        """A tick before which this sink will ask for nothing."""
        return self._frontier if self._frontier is not None else max(self.start, self.kept)

    @property
    def needs(self) -> Tick:
        """The tick before which no single tick need be kept for it.  A snapshot that is being written is what the
        relation was at its tick."""
        is_snapshot = self.frontier == BEGINNING
        return self._offered_at if is_snapshot and self._offered_at is not None else self.frontier

    def reopen(self, sink: Sink) -> None:
        """The same target by another way.  What it holds is asked again."""
        self.close()  # whatever the old sink still does, the new one fences it before it asks
        self.sink, self._progress, self._refusal = sink, None, None

    def close(self) -> None:
        """Lets go of the target.  What is under way is given up, and the next one who asks hears what became of it."""
        if self._errand is None:
            return self.sink.close()
        given_up, self._errand, self._offered_at = self._errand, None, None
        sink = self.sink
        interrupt = sink.interrupt if isinstance(sink, InterruptibleSink) else lambda: None
        return given_up.give_up(_END_SECONDS, interrupt, sink.close)

    def owes_nothing(self, t: Tick) -> bool:
        """All changes up to `t` are known to be in the target."""
        is_known = self._progress is not None and self._errand is None
        return is_known and self._frontier is not None and self._frontier >= t

    def switch(self, relation: str, root: Operator, sink: Sink) -> None:
        """The same target, and another relation from the next tick on.  Nothing must be owed."""
        self.relation, self.root = relation, root
        self.reopen(sink)

    def ask(self) -> None:
        """Fences older writers and reads what the target holds, if that is in doubt."""
        if self._progress is None:
            self._refuse_again()
            self._take(self.sink.progress())

    def await_progress(self, asking: Errand[Progress] | None) -> None:
        """Its target is being asked already, if it is."""
        if asking is not None:
            asking.then = self._take
            self._errand = asking

    def _refuse_again(self) -> None:
        if self._refusal is not None:
            raise self._refusal

    def _take(self, progress: Progress) -> None:
        """What the target says it holds, if that can be."""
        held = progress.tick if progress.tick is not None else self.start
        self._refuse_strange(held, progress.unfinished)
        if held < self.written:
            raise SqlError(
                f'sink "{self.name}" has written tick {self.written}, but its target holds only {held}',
                detail="What it keeps its progress in was recreated, has expired or was restored from an older copy.",
                hint="Drop the sink and create it again; with SNAPSHOT = false if the data itself is still there.",
                sqlstate="55000",
            )
        self._progress = progress
        # From what it holds to where we know we were nothing changed, or it would be written.
        self._frontier = max(held, self.kept, self._frontier or BEGINNING)
        self.written = held

    def _refuse_strange(self, held: Tick, unfinished: Tick | None) -> None:
        """A tick that is not in our log was written by somebody else: what it consists of, we cannot know.

        Once is enough: asking again would only fence the other one again.
        """
        ours = held in (self.start, self.written) or self.knows(held)
        if ours and (unfinished is None or self.knows(unfinished)):
            return
        strange = unfinished if ours else held
        self._refusal = SqlError(
            f'the target of sink "{self.name}" holds tick {strange}, which is not in the tick log',
            detail="Another engine writes to it from a copy of this data directory, or this is an older copy.",
            hint="Run the engine on the copy that was used last; or drop the sink here and create it again.",
            sqlstate="55000",
        )
        raise self._refusal

    def begin_interval(self, interval: timedelta) -> None:
        """From now on this one; the next tick is written, however long ago the last one was."""
        self.interval, self._wrote_at = interval.total_seconds(), float("-inf")

    def deliver(self, t: Tick) -> bool:
        """Brings the target to `t`.  Runs Spark jobs if something changed.  On any error the target is asked again.

        False: the target has not answered yet, and the loop need not wait for it.
        """
        return self._keeping_doubt(lambda: self._proceed(t))

    def let_finish(self, wake: Callable[[], None]) -> None:
        """Takes the outcome of what is under way, or has `wake` called when there is one; begins nothing new."""
        self.is_waiting = False
        if not self._keeping_doubt(self._is_free):
            assert self._errand is not None
            self._errand.tell(wake)

    def _keeping_doubt(self, work: Callable[[], bool]) -> bool:
        """After any error the target is asked again, whatever we believe that it holds."""
        try:
            return work()
        except BaseException:
            self._progress, self._errand, self._offered_at = None, None, None
            self._owed.clear()
            self._is_troubled = self._is_failing = True
            self._was_much = False
            self.failures += 1
            self.counts.messages_refused += self._offered
            self._offered = 0
            raise

    @property
    def is_under_way(self) -> bool:
        """The target has not answered yet."""
        return self._errand is not None

    @property
    def rows_under_way(self) -> int:
        """Of a large change, that the target has not confirmed yet."""
        errand = self._errand
        return self._offered if errand is not None and errand.is_long else 0

    @property
    def is_awaited(self) -> bool:
        """The target has not answered yet, and should have: somebody must look whether it is silent."""
        return self._errand is not None and not self._errand.is_long

    @property
    def is_silent(self) -> bool:
        """The target has not answered for so long that nobody should wait for it."""
        errand = self._errand
        limit = max(_SILENT_SECONDS, self.interval)  # what is written once a minute may take its time
        return errand is not None and not errand.is_long and errand.seconds > limit

    def await_answer(self, wake: Callable[[], None]) -> None:
        """Has `wake` called when the target has answered.  Raises if it has been silent for long."""
        if self._errand is None:
            return
        self._errand.tell(wake)
        if self.is_silent and not self._is_failing:
            raise Unavailable(f'the target of sink "{self.name}" has not answered yet')

    def _proceed(self, t: Tick) -> bool:
        self._owed.append(t)
        if not self._is_free():
            return False
        if self._progress is None:
            self._refuse_again()
            self._begin(self.sink.progress, self._take)
        if not self._is_free():
            return False
        assert self._progress is not None
        if self._progress.unfinished is not None:
            if t < self._progress.unfinished:
                return True
            self._owed = deque((self._progress.unfinished, t), _MOST_OWED)
        elif self._is_failing:
            self._owed = deque((t,), _MOST_OWED)  # what is the matter now, not what was
        while self._owed and self._is_free():
            self._write(self._owed.popleft())
        return self._is_free()

    def _begin(
        self, work: Callable[[], T], then: Callable[[T], None], jobs: Jobs | None = None, *, is_long: bool = False
    ) -> None:
        if not self.beside:
            then(work())
            return
        self._errand = Errand(work=work if jobs is None else jobs.apart(work), then=then, jobs=jobs, is_long=is_long)
        self._errand.begin()

    def _is_free(self) -> bool:
        """Nothing is under way, or it has just ended well.  Waits for a moment, unless that was in vain before."""
        if self._errand is None:
            return True
        if not self._errand.is_over(0 if self._is_troubled else _PATIENCE_SECONDS):
            self._is_troubled = True
            return False
        ended, self._errand = self._errand, None
        ended.finish()
        self._is_troubled = False
        return True

    def _write(self, t: Tick) -> None:
        assert self._frontier is not None
        if t <= self._frontier:
            return self._reach(t)
        self.is_waiting = time.monotonic() < self._wrote_at + self.interval
        if self.is_waiting:
            return None
        if self.advances:
            self.root.advance(t)
        change = self.root.delta(self._frontier, t)
        if self._was_much and change.rows > MANY and self._owed:
            t = self._owed.pop()  # much after much: a tick at a time, it would fall behind further and further
            self._owed.clear()
            change = self.root.delta(self._frontier, t)
        if change.is_empty:
            return self._reach(t)
        self._offered, self._offered_at = max(change.rows, 1), t
        return self._offer(t, change)

    def _offer(self, t: Tick, change: ZSet) -> None:
        """Has a change written, beside the loop but for what Spark has to do of a small one."""
        began = time.monotonic()

        def then(sent: Written) -> None:
            self._wrote(t, sent, began)

        is_long = change.rows > MANY
        if isinstance(self.sink, PatientSink):
            rest = self.sink.prepared(t, change)
            if rest is not None:
                return self._begin(rest, then)
            is_long = True
        return self._begin(partial(self.sink.write, t, change), then, self.jobs, is_long=is_long)

    def _wrote(self, t: Tick, sent: Written, began: float) -> None:
        self.recent.append(Delivered(tick=t, written=sent, seconds=time.monotonic() - began, at=time.time()))
        self.counts.messages += sent.messages
        self.counts.bytes += sent.bytes
        self.counts.writes += 1
        self._was_much = self._offered > MANY
        self.written, self._offered, self._offered_at = t, 0, None
        if sent.broken_key is not None:
            self._warn(sent.broken_key)
        self._wrote_at = time.monotonic()
        self._reach(t)

    def _warn(self, key: str) -> None:
        self.broken_key = key
        if time.monotonic() > self._warned_at + _WARN_SECONDS:
            self._warned_at = time.monotonic()
            _log.warning("key is not unique sink=%s key=%s", self.name, key)

    @property
    def warning(self) -> str | None:
        """What the status should say though all is delivered."""
        if self.broken_key is None:
            return None
        return f"More than one row of key {self.broken_key} came in one tick: which of them a reader keeps is open."

    def _reach(self, t: Tick) -> None:
        assert self._frontier is not None
        self._frontier = max(self._frontier, t)
        self._is_failing = False
        if self._progress is not None and self._progress.unfinished == t:
            self._progress = Progress(tick=t)
