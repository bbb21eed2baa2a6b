"""The watermark of a source at each tick: up to which time all rows are said to have come.

A row says it for its partition, by the table's WATERMARK expression; a partition's watermark is the greatest so far,
the source's is the least of its partitions', and never falls.  A partition from which nothing has come for `idle`
milliseconds is left out.  All of it is a function of the logged ticks: of the offsets that each went to, and of their
times.  It is kept beside them, for as long as they are.
"""

from __future__ import annotations

import bisect
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tailrace.ivm.operator import ENDED
from tailrace.ivm.views import Views
from tailrace.sources.contract import Offsets
from tailrace.state.store import Store
from tailrace.ticks.log import READER, TickLog
from tailrace.types.core import BEGINNING, Tick

_SMALL_ROWS = 20_000

Placed = Callable[[Offsets, Offsets, Views], "str | None"]
"""Spark text of the rows between two positions: c0 …, and `place`, the partition.  None: there are none."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What is known at a tick.  `partitions`: the greatest so far, or None, and the tick that last brought rows."""

    t: Tick
    watermark: int | None
    offsets: Offsets
    partitions: Mapping[int, tuple[int | None, Tick]]

    def text(self) -> str:
        return json.dumps([self.watermark, dict(self.offsets), {p: list(each) for p, each in self.partitions.items()}])

    @staticmethod
    def parsed(t: Tick, text: str) -> Mark:
        watermark, offsets, partitions = json.loads(text)
        return Mark(
            t,
            watermark,
            {int(p): offset for p, offset in offsets.items()},
            {int(p): (greatest, Tick(moved)) for p, (greatest, moved) in partitions.items()},
        )


@dataclass(kw_only=True, slots=True, eq=False)
class Watermarks:
    """`expression`: Spark text over c0 …, the milliseconds that a row says.  Lanes may share it."""

    source: str
    read: Placed
    start: Offsets
    is_done: Callable[[Offsets], bool]
    expression: str
    idle: int | None
    log: TickLog
    store: Store
    _marks: list[Mark] = field(default_factory=list)
    _upper: Tick = BEGINNING
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._marks = [Mark.parsed(t, text) for t, text in self.log.watermarks(self.source)]
        self._upper = self._marks[-1].t if self._marks else BEGINNING

    def advance(self, t: Tick) -> None:
        """Brings what is known to `t`.  Runs a Spark job for each tick that brought rows."""
        with self._lock:
            if self._upper < t:
                self._advance(t)

    def _advance(self, t: Tick) -> None:
        found: list[Mark] = []
        last = self._marks[-1] if self._marks else Mark(BEGINNING, None, self.start, {})
        # Where nobody has asked for so long that the log has forgotten it, nobody knows those ticks apart.
        ticks = self.log.after(self._upper) if self._upper >= self.log.first else [t]
        for tick in ticks:
            if tick > t:
                break
            mark = self._next(last, tick)
            if mark is not None:
                found.append(mark)
                last = mark
        self.log.note_watermarks(self.source, [(mark.t, mark.text()) for mark in found])
        first = self.log.first
        keep = max(bisect.bisect_right(self._marks, first, key=lambda mark: mark.t) - 1, 0)
        self._marks = [*self._marks[keep:], *found]
        self._upper = t

    def _next(self, last: Mark, t: Tick) -> Mark | None:
        """What a tick makes of the last mark; None if it changes nothing."""
        until = self.log.position(self.source, t)
        partitions = {p: last.partitions.get(p, (None, t)) for p in until}
        moved = {p: end for p, end in until.items() if end > last.offsets.get(p, 0)}
        if moved:
            said = self._said(last.offsets, until)
            for p in moved:
                partitions[p] = (_greatest(partitions[p][0], said.get(p)), t)
        watermark = self._watermark(partitions, last.watermark, t)
        if self.is_done(until):
            watermark = ENDED
        if not moved and watermark == last.watermark and partitions == last.partitions:
            return None
        return Mark(t, watermark, until, partitions)

    def _said(self, since: Offsets, until: Offsets) -> dict[int, int]:
        """The greatest of each partition between two positions.  Runs a Spark job."""
        views = self.store.views
        text = self.read(since, until, views)
        if text is None:
            return {}
        rows = sum(end - since.get(p, 0) for p, end in until.items())
        session = views.small if rows <= _SMALL_ROWS else views.large
        self.store.work.jobs += 1
        found = session.sql(f"SELECT place, max({self.expression}) FROM ({text}) GROUP BY place").collect()
        return {place: said for place, said in found if said is not None}

    def _watermark(self, partitions: Mapping[int, tuple[int | None, Tick]], known: int | None, t: Tick) -> int | None:
        active = [said for said, moved in partitions.values() if self.idle is None or t - moved < self.idle]
        if not active or any(said is None for said in active):
            return known
        return _greatest(known, min(said for said in active if said is not None))

    def at(self, t: Tick) -> int | None:
        """The watermark at `t`, in milliseconds; None while there is none."""
        place = bisect.bisect_right(self._marks, t, key=lambda mark: mark.t) - 1
        return self._marks[place].watermark if place >= 0 else None

    def changes(self, lo: Tick, hi: Tick) -> list[Tick]:
        """The ticks above `lo` up to `hi` that change the watermark."""
        return [
            mark.t
            for before, mark in zip([None, *self._marks], self._marks, strict=False)
            if lo < mark.t <= hi and mark.watermark != (None if before is None else before.watermark)
        ]

    def begun(self, reader: str, t: Tick) -> Tick:
        """Where the first step of a reader ends: at `t`, or where it ended before a crash that took the reader's state.

        A reader whose step the log has forgotten was another one of the same name.
        """
        noted = [tick for tick, _ in self.log.watermarks(f"{READER}{reader}") if tick in self.log]
        if noted:
            return noted[-1]
        self.log.note_watermarks(f"{READER}{reader}", [(t, "")])
        return t

    def due(self, t: Tick) -> Tick | None:
        """When the watermark will go on though nothing comes: a partition that holds it back falls idle."""
        if self.idle is None or not self._marks:
            return None
        last = self._marks[-1]
        for time in sorted({Tick(moved + self.idle) for _, moved in last.partitions.values()}):
            if time > t and self._watermark(last.partitions, last.watermark, time) != last.watermark:
                return time
        return None


def _greatest(one: int | None, other: int | None) -> int | None:
    return max((each for each in (one, other) if each is not None), default=None)
