"""Delivery of one relation's changes to one sink: always from what the target holds, never from what we believe.

`frontier` is the last tick after which nothing is owed.  It may be later than what the target has on record: ticks
that change nothing are not written.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from tailrace.errors import SqlError
from tailrace.ivm.operator import Operator
from tailrace.sinks.contract import Progress, Sink
from tailrace.types.core import BEGINNING, Tick


@dataclass(slots=True)
class Counts:
    """What a sink has sent since the engine started."""

    messages: int = 0
    bytes: int = 0
    writes: int = 0
    messages_refused: int = 0  # were sent and not committed, as far as we know


@dataclass(kw_only=True, slots=True, eq=False)
class Delivery:
    """`start`: BEGINNING for a sink with a snapshot, else the tick the sink was created at.

    `kept` is the frontier of the last checkpoint; `written` the last tick that went to the target, as far as we know.
    `knows`: whether the tick log has a tick.  `interval`: so many seconds are at least between two writes; ticks in
    between are written together.
    """

    id: str
    name: str
    relation: str
    root: Operator
    sink: Sink
    start: Tick = BEGINNING
    advances: bool = False  # nobody else brings `root` to the tick: a subscription to a query of its own
    kept: Tick = BEGINNING
    written: Tick = BEGINNING
    knows: Callable[[Tick], bool] = lambda _: True
    interval: float = 0.0
    is_waiting: bool = False  # for the end of the interval
    counts: Counts = field(default_factory=Counts)
    _progress: Progress | None = None
    _frontier: Tick | None = None
    _refusal: SqlError | None = None
    _wrote_at: float = float("-inf")

    @property
    def is_known(self) -> bool:
        """The target has been asked since the last doubt."""
        return self._progress is not None

    @property
    def frontier(self) -> Tick:
        """A tick before which this sink will ask for nothing."""
        return self._frontier if self._frontier is not None else max(self.start, self.kept)

    def reopen(self, sink: Sink) -> None:
        """The same target by another way.  What it holds is asked again."""
        self.sink.close()
        self.sink, self._progress, self._refusal = sink, None, None

    def owes_nothing(self, t: Tick) -> bool:
        """All changes up to `t` are known to be in the target."""
        return self._progress is not None and self._frontier is not None and self._frontier >= t

    def switch(self, relation: str, root: Operator, sink: Sink) -> None:
        """The same target, and another relation from the next tick on.  Nothing must be owed."""
        self.relation, self.root = relation, root
        self.reopen(sink)

    def ask(self) -> None:
        """Fences older writers and reads what the target holds, if that is in doubt."""
        if self._progress is not None:
            return
        if self._refusal is not None:
            raise self._refusal
        progress = self.sink.progress()
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

    def deliver(self, t: Tick) -> None:
        """Brings the target to `t`.  Runs Spark jobs if something changed.  On any error the target is asked again."""
        try:
            self.ask()
            assert self._progress is not None
            unfinished = self._progress.unfinished
            if unfinished is not None:
                if t < unfinished:
                    return
                self._write(unfinished)
                self._progress = Progress(tick=unfinished)
            self._write(t)
        except BaseException:
            self._progress = None
            raise

    def _write(self, t: Tick) -> None:
        assert self._frontier is not None
        if t <= self._frontier:
            return
        self.is_waiting = time.monotonic() < self._wrote_at + self.interval
        if self.is_waiting:
            return
        if self.advances:
            self.root.advance(t)
        change = self.root.delta(self._frontier, t)
        if not change.is_empty:
            try:
                sent = self.sink.write(t, change)
            except BaseException:
                self.counts.messages_refused += max(change.rows, 1)
                raise
            self.counts.messages += sent.messages
            self.counts.bytes += sent.bytes
            self.counts.writes += 1
            self.written = t
            self._wrote_at = time.monotonic()
        self._frontier = t
