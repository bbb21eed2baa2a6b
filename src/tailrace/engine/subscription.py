"""A subscription: the changes of a query as they happen, handed to a program or a client.

It is a sink whose target is a queue in this process.  A reader that does not keep up is cut off with an error; the
engine never waits for it.
"""

from __future__ import annotations

import queue
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.errors import SqlError
from tailrace.ivm.operator import Operator
from tailrace.ivm.views import Views
from tailrace.ivm.zset import ZSet
from tailrace.plan.nodes import Node
from tailrace.sinks.contract import Progress, Written
from tailrace.state.store import Work
from tailrace.ticks.cluster import explain
from tailrace.ticks.deliver import Delivery
from tailrace.types.core import BEGINNING, Tick

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine

_MAX_WAITING = 1000  # ticks that changed something


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """The consolidated change of one tick: columns c0 …, and `weight`.  Empty for a mere report of progress."""

    tick: Tick
    rows: pa.Table


class QueueSink:
    """Sink of one subscription; runs one Spark job for each tick that changes something."""

    def __init__(self, views: Views, work: Work) -> None:
        self._views = views
        self._work = work
        self.waiting: queue.Queue[Change | None] = queue.Queue(_MAX_WAITING)
        self.overflowed = False

    def progress(self) -> Progress:
        return Progress(tick=None)

    def write(self, tick: Tick, delta: ZSet) -> Written:
        self._work.jobs += 1
        rows = self._views.small.sql(str(delta.consolidated().sql)).toArrow()
        if rows.num_rows and not self.overflowed:
            try:
                self.waiting.put_nowait(Change(tick=tick, rows=rows))
            except queue.Full:
                self.overflowed = True
        return Written(messages=rows.num_rows, bytes=rows.nbytes)

    def close(self) -> None:
        try:
            self.waiting.put_nowait(None)
        except queue.Full:
            self.overflowed = True


class Subscription:
    """Opens with the content as of a tick (or not), then gives every later change once."""

    _numbers = iter(range(1, 1 << 60))

    def __init__(self, engine: Engine, delivery: Delivery, sink: QueueSink) -> None:
        self._engine = engine
        self._delivery = delivery
        self._sink = sink

    @staticmethod
    def open(engine: Engine, plan: Node, *, snapshot: bool = True) -> Subscription:
        sink = QueueSink(engine.views, engine.store.work)
        id = f"q{next(Subscription._numbers)}"

        def start() -> Delivery:
            root = engine.cluster.dataflow.operator(plan)
            at = BEGINNING if snapshot else engine.cluster.done
            delivery = Delivery(id=id, name=id, relation="", root=root, sink=sink, start=at, advances=True)
            if not snapshot:
                fill(root, at)
            engine.cluster.deliveries[id] = delivery
            return delivery

        def fill(root: Operator, at: Tick) -> None:
            """What is there already is not given, but a rule must know it to tell what changes."""
            try:
                with engine.views.scratch():
                    root.advance(at)
            except Exception as error:
                engine.cluster.dataflow.keep_only(engine.cluster.roots())
                raise explain(error) from error

        return Subscription(engine, engine.loop.do(start), sink)

    is_over = False

    def changes(self) -> Iterator[Change]:
        """Every change; waits for the next one for as long as it takes."""
        try:
            while not self.is_over:
                change = self.next(timeout=0.2)
                if change is not None:
                    yield change
        finally:
            self.close()

    def next(self, timeout: float) -> Change | None:
        """The next change, or None if there is none within `timeout` seconds.  Raises what went wrong."""
        try:
            change = self._sink.waiting.get(timeout=timeout)
        except queue.Empty:
            self._check()
            return None
        self.is_over = change is None
        return change

    def _check(self) -> None:
        if self._sink.overflowed:
            raise SqlError("subscription has fallen too far behind", sqlstate="53200")
        status = self._engine.statuses.of(self._delivery.id)
        if status.status == "stalled":
            raise SqlError(status.error or "subscription failed", hint=status.hint, sqlstate="55000")
        self.is_over = self._engine.loop.has_ended

    def close(self) -> None:
        if self._delivery.id in self._engine.cluster.deliveries and not self._engine.loop.has_ended:
            self._engine.loop.do(lambda: self._engine.cluster.drop({self._delivery.id}))
