"""A subscription: the changes of a query as they happen, handed to a program or a client.

It begins with the content as of a tick (or not), goes on with the ticks since then, each apart, and then is a sink
whose target is a queue in this process.  What lies in the past is read by the reader's own thread, so the tick loop
does not wait for it.  A reader that does not keep up is cut off with an error; the engine never waits for it.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.engine.contents import not_readable, wait_until_at, wait_until_filled
from tailrace.errors import SqlError, Unavailable
from tailrace.ivm.dataflow import traces
from tailrace.ivm.operator import Operator
from tailrace.ivm.zset import ZSet
from tailrace.plan.data_errors import explain
from tailrace.plan.nodes import Node
from tailrace.plan.walk import scans
from tailrace.sinks.contract import Progress, Written
from tailrace.state.store import Store
from tailrace.ticks.deliver import Delivery
from tailrace.ticks.lane import FIRST
from tailrace.types.core import BEGINNING, Schema, Tick

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine

_MAX_TICKS = 1000  # that changed something, and wait for the reader
_MAX_BYTES = 256 * 1024 * 1024
_TOGETHER = 50  # ticks of the past, read by one Spark job

Shape: TypeAlias = Callable[[ZSet], str]
"""From a change to the Spark text of what the reader gets of it."""


def as_it_is(schema: Schema) -> Shape:
    """Columns c0 …, and `weight`, each row once."""
    return lambda change: str(change.consolidated(schema).sql)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What the reader gets of one tick.  `rows` has columns c0 …, and `weight`, unless it was shaped otherwise."""

    tick: Tick
    rows: pa.Table


class QueueSink:
    """Sink of one subscription; runs at most one Spark job for each tick that changes something."""

    def __init__(self, store: Store, shape: Shape) -> None:
        self._store = store
        self._shape = shape
        self.waiting: queue.Queue[Change | None] = queue.Queue(_MAX_TICKS)
        self.bytes = 0
        self.overflowed = False

    def progress(self) -> Progress:
        return Progress(tick=None)

    def write(self, tick: Tick, delta: ZSet) -> Written:
        rows = self._store.few(self._shape(delta))
        if rows.num_rows and not self.overflowed:
            self._offer(Change(tick=tick, rows=rows))
        return Written(messages=rows.num_rows, bytes=rows.nbytes)

    def _offer(self, change: Change) -> None:
        if self.bytes + change.rows.nbytes > _MAX_BYTES and self.bytes > 0:
            self.overflowed = True
            return
        try:
            self.waiting.put_nowait(change)
            self.bytes += change.rows.nbytes
        except queue.Full:
            self.overflowed = True

    def take(self, timeout: float) -> Change | None:
        """Raises queue.Empty."""
        change = self.waiting.get(timeout=timeout) if timeout > 0 else self.waiting.get_nowait()
        if change is not None:
            self.bytes -= change.rows.nbytes
        return change

    def close(self) -> None:
        try:
            self.waiting.put_nowait(None)
        except queue.Full:
            self.overflowed = True


@dataclass(eq=False, slots=True)
class Subscription:
    """Gives every change once.  Used by one thread, but for what the tick loop does to `delivery`."""

    engine: Engine
    plan: Node
    delivery: Delivery
    sink: QueueSink
    past: Iterator[Change]
    start: int  # the time that the snapshot is of
    held: ExitStack = field(default_factory=ExitStack)
    is_over: bool = False

    _numbers = iter(range(1, 1 << 60))

    @staticmethod
    def open(
        engine: Engine,
        plan: Node,
        *,
        snapshot: bool = True,
        time: int | None = None,
        shape: Shape | None = None,
        lane: str = FIRST,
        check: Callable[[], None] = lambda: None,
    ) -> Subscription:
        """`time`: the past that it begins at, at most what is settled.  Raises if that is forgotten, or what `check`
        does while it waits."""
        shape = shape or as_it_is(plan.schema)
        sink = QueueSink(engine.store, shape)
        id = f"q{next(Subscription._numbers)}"
        held = ExitStack()
        over = tuple(sorted(scans(plan)))

        def start() -> tuple[Delivery, Tick, int]:
            cluster = engine.cluster
            now = cluster.reach(over)
            at = now if time is None else engine.log.at(time)
            root = cluster.operator(plan, lane)
            try:
                begin = _checked(engine, plan, root, time, at)
                _bring_up(engine, root, begin, now)
            except Exception as error:
                cluster.keep_needed()
                raise explain(error) from error
            held.enter_context(cluster.pinned(begin, reads=over))
            delivery = Delivery(
                id=id, name=id, relation="", over=over, root=root, sink=sink, start=now, lane=lane, advances=True
            )
            cluster.deliveries[id] = delivery
            known = cluster.settled if now == cluster.done else now
            return delivery, begin, known if time is None else time

        wait_until_filled(engine, plan, check)
        with ExitStack() as waiting:
            wanted = None if time is None else engine.log.at(time)
            if wanted is not None:
                waiting.enter_context(engine.cluster.pinned(wanted, reads=over))
                wait_until_at(engine, plan, wanted, check)
            delivery, begin, opened_at = engine.loop.do(start, lanes=frozenset({lane}))
        past = _past(engine, delivery, begin, opened_at, shape, snapshot=snapshot)
        return Subscription(engine, plan, delivery, sink, past, opened_at, held)

    @property
    def id(self) -> str:
        return self.delivery.id

    @property
    def is_constant(self) -> bool:
        """Nothing can ever change it."""
        return not scans(self.plan)

    def next(self, timeout: float) -> Change | None:
        """The next change, or None if there is none within `timeout` seconds.  Raises what went wrong."""
        for change in self.past:
            return change
        self.held.close()
        try:
            fresh = self.sink.take(timeout)
        except queue.Empty:
            self._check()
            return None
        self.is_over = fresh is None
        return fresh

    def told_up_to(self) -> Tick:
        """Every change up to this time has been put into the queue."""
        cluster = self.engine.cluster
        settled = cluster.settled  # before the queue is looked at: what comes later is later
        return settled if self.delivery.frontier >= cluster.done else min(settled, self.delivery.frontier)

    def _check(self) -> None:
        if self.sink.overflowed:
            raise SqlError("subscription has fallen too far behind", sqlstate="53200")
        status = self.engine.statuses.of(self.delivery.id)
        if status.status == "stalled":
            raise SqlError(
                status.error or "subscription failed", hint=status.hint, sqlstate=status.sqlstate or "55000"
            )
        self.is_over = self.engine.loop.has_ended

    def close(self) -> None:
        self.held.close()
        engine, id = self.engine, self.delivery.id
        if id in engine.cluster.deliveries and not engine.loop.has_ended:
            with suppress(Unavailable):  # the engine has just ended, and everything with it
                engine.loop.leave(lambda: engine.cluster.drop({id}), lanes=frozenset({self.delivery.lane}))


def _checked(engine: Engine, plan: Node, root: Operator, time: int | None, at: Tick | None) -> Tick:
    """Raises if a relation is not known as of `at`.  State of the query's own that is still empty will be filled."""
    known = [trace.knows(at) for trace in traces(root) if trace.upper > BEGINNING] if at is not None else [False]
    if time is not None and scans(plan) and not all(known):
        name = next((str(engine.catalog.items[id].name) for id in sorted(scans(plan))), "")
        raise not_readable(time, engine.cluster.readable_since(root), name)
    return BEGINNING if at is None else at


def _bring_up(engine: Engine, root: Operator, begin: Tick, now: Tick) -> None:
    """The query's own state to `now`, through every tick since `begin`.  May run Spark jobs."""
    with engine.views.scratch():
        root.advance(begin)
        for t in _ticks(engine, root, begin, now):
            root.advance(t)


def _ticks(engine: Engine, root: Operator, begin: Tick, until: Tick) -> list[Tick]:
    """The ticks of the past that can be told apart: a view that was behind has done several in one step."""
    logged = [t for t in engine.log.after(begin) if t <= until]
    return [t for t in logged if all(trace.knows(t) for trace in traces(root) if trace.upper >= t)]


def _past(
    engine: Engine, delivery: Delivery, begin: Tick, time: int, shape: Shape, *, snapshot: bool
) -> Iterator[Change]:
    """The content as of `begin`, then the ticks up to where the queue begins.  Runs Spark jobs when asked for rows."""
    if snapshot:
        rows = _read(engine, delivery.root, [(BEGINNING, begin)], shape)
        if rows.num_rows:
            yield Change(tick=Tick(time), rows=rows.drop_columns("tick"))
    ticks = _ticks(engine, delivery.root, begin, delivery.start)
    for first in range(0, len(ticks), _TOGETHER):
        some = ticks[first : first + _TOGETHER]
        before = [begin, *ticks][first : first + len(some)]
        rows = _read(engine, delivery.root, list(zip(before, some, strict=True)), shape)
        for t in some:
            of_tick = rows.filter(pc.equal(rows["tick"], t)).drop_columns("tick")
            if of_tick.num_rows:
                yield Change(tick=t, rows=of_tick)


def _read(engine: Engine, root: Operator, spans: list[tuple[Tick, Tick]], shape: Shape) -> pa.Table:
    """The changes of these spans, with the later tick of each in `tick`.  One Spark job."""
    with engine.store.reading(), engine.views.scratch():
        deltas = [(hi, root.delta(lo, hi)) for lo, hi in spans]
        texts = [
            f"SELECT CAST({hi} AS bigint) AS tick, * FROM ({shape(delta)})" for hi, delta in deltas if delta.sql
        ]
        if not texts:
            return pa.table({"tick": pa.array([], pa.int64())})
        try:
            return engine.views.small.sql(" UNION ALL ".join(f"({text})" for text in texts)).toArrow()
        except Exception as error:
            raise explain(error) from error
