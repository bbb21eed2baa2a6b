"""The objects that move together: sources, tables, materialized views and sinks under one logical time.

`run(t)` advances every object to t in dependency order.  An object that fails keeps its frontier and says why in its
status; what depends on it waits with it; everything else goes on.  Next time it is offered the fused change.

What a view computes above its state is computed by whoever reads it (ivm/lazy.py).  If nobody does, the rows that
arrive are computed here and thrown away, to know whether they have values.  If a reader fails, the views it reads are
asked the same, so that the one at fault says so, and not only its readers.

If there are views and sinks in more than one CLUSTER, each cluster's are brought to t in a lane of their own (lane.py),
and a lane that takes its time is behind for a while, like an object that failed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from tailrace.errors import DataError, InternalError, SqlError, TailraceError
from tailrace.ivm.dataflow import traces
from tailrace.ivm.lazy import can_fail_when_read
from tailrace.ivm.operator import Operator, Timed
from tailrace.plan.data_errors import translate
from tailrace.plan.nodes import Node, Scan
from tailrace.sources.contract import Log, Offsets
from tailrace.state.store import Store, Work
from tailrace.ticks.deliver import Delivery
from tailrace.ticks.inputs import LogInput, TableInput, UpsertInput, ViewInput
from tailrace.ticks.lane import FIRST, Lane
from tailrace.ticks.lanes import Lanes
from tailrace.ticks.log import TickLog
from tailrace.ticks.status import Status, Statuses
from tailrace.types.core import BEGINNING, Tick

_log = logging.getLogger("tailrace.ticks")

Input = LogInput | UpsertInput | TableInput


@dataclass(kw_only=True, slots=True, eq=False)
class Maintained:
    """A materialized view that is kept up to date.  `reads`: ids of the relations it depends on directly.

    `is_lazy`: reading it can fail.  `proven`: as far as its readers know, every row of this tick could be computed.
    """

    id: str
    name: str
    root: Operator
    reads: tuple[str, ...]
    is_lazy: bool
    lane: str = FIRST
    frontier: Tick = BEGINNING
    proven: Tick = BEGINNING


@dataclass(kw_only=True, slots=True, eq=False)
class Effort:
    """What one tick cost; the last ones are kept for people to look at."""

    tick: Tick
    jobs: int
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """What one object cost in one tick.  What several views share is paid by the first of them.

    `rows`: that were added to the traces of a view, or sent by a sink.
    """

    tick: Tick
    object: str
    jobs: int
    rows: int
    planning: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Pin:
    """A tick that somebody reads these relations at; any, if `reads` is None."""

    tick: Tick
    reads: frozenset[str] | None


_COSTS_KEPT = 10_000


@dataclass(kw_only=True, eq=False)
class Cluster:
    """Used by the loop's thread only, but for `frontier`, reads of finished ticks, and what a lane does in a step."""

    store: Store
    log: TickLog
    statuses: Statuses
    sources: dict[str, Log] = field(default_factory=dict)
    inputs: dict[str, Input] = field(default_factory=dict)
    maintained: dict[str, Maintained] = field(default_factory=dict)
    deliveries: dict[str, Delivery] = field(default_factory=dict)
    frontier: Tick = BEGINNING
    done: Tick = BEGINNING  # the last tick that was run; readers look at this one
    efforts: list[Effort] = field(default_factory=list)
    costs: deque[Cost] = field(default_factory=lambda: deque(maxlen=_COSTS_KEPT))
    ticks: int = 0  # that were run since the start
    settled: Tick = BEGINNING  # up to here everything is done, and every subscriber has been told
    retained: dict[str, int] = field(default_factory=dict)  # relations whose past can be read, and for how many ms
    paused: frozenset[str] = frozenset()  # objects that stand still because they were told to
    known_ends: dict[str, Offsets] = field(default_factory=dict)  # how far each source could be read when last asked
    on_tick: Callable[[Tick], None] = lambda _: None
    wake: Callable[[], None] = lambda: None  # when a target has answered that the loop did not wait for
    nudge: Callable[[], None] = lambda: None  # when a lane has done its step: it may have to go on

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._pinned: dict[object, Pin] = {}
        self.lanes = Lanes(self)
        self._stuck_inputs: frozenset[str] = frozenset()

    def leaf(self, scan: Scan) -> Operator:
        view = self.maintained.get(scan.relation)
        if view is not None:
            return ViewInput(node=scan, root=view.root)
        return self.inputs[scan.relation]

    # ── objects come and go ──

    def operator(self, plan: Node, lane: str) -> Operator:
        """What computes `plan` in this lane.  Equal parts of views are one operator, but not across lanes."""
        return self.lanes.get(lane).dataflow.operator(plan)

    def maintain(
        self,
        id: str,
        name: str,
        plan: Node,
        reads: tuple[str, ...],
        proven: Tick = BEGINNING,
        lane: str = FIRST,
    ) -> None:
        """A new materialized view, empty so far; the next tick fills it.  `proven`: from the last checkpoint."""
        root = self.operator(plan, lane)
        self.maintained[id] = Maintained(
            id=id, name=name, root=root, reads=reads, is_lazy=can_fail_when_read(root), lane=lane, proven=proven
        )
        self.statuses.note(id, "starting")

    def drop(self, ids: set[str]) -> None:
        """These objects are no more.  What only they needed gives its space back."""
        for id in ids:
            delivery = self.deliveries.pop(id, None)
            if delivery is not None:
                delivery.sink.close()
            source = self.sources.pop(id, None)
            if source is not None:
                source.close()
            self.maintained.pop(id, None)
            self.inputs.pop(id, None)
            self.known_ends.pop(id, None)
            self.retained.pop(id, None)
            self.statuses.forget(id)
        self.keep_needed()
        self.lanes.close_unused()

    def keep_needed(self) -> None:
        """Operators that nothing needs any more give their space back."""
        for lane in self.lanes:
            lane.dataflow.keep_only(self.roots())

    def roots(self) -> list[Operator]:
        views = [view.root for view in list(self.maintained.values())]
        return [*self.inputs.values(), *views, *(delivery.root for delivery in list(self.deliveries.values()))]

    # ── readers, from any thread ──

    def reader(self, scan: Scan) -> Operator:
        """The operator of a relation, for reading at a finished tick."""
        view = self.maintained.get(scan.relation)
        return view.root if view is not None else self.inputs[scan.relation]

    def knows(self, scan: Scan, t: Tick) -> bool:
        """Can the relation be read as of `t`?"""
        return all(trace.knows(t) for trace in traces(self.reader(scan)))

    @contextmanager
    def pinned(self, at: Tick | None = None, reads: Iterable[str] | None = None) -> Iterator[Tick]:
        """The last finished tick, or this earlier one if it is still known, kept readable until the end.

        `reads`: the relations that will be read; any, if nothing is said.
        """
        token = object()
        needed = None if reads is None else self._needed(reads)
        with self._lock:
            pin = self._pinned[token] = Pin(self.done if at is None else at, needed)
        try:
            with self.store.reading():
                yield pin.tick
        finally:
            with self._lock:
                del self._pinned[token]

    def _needed(self, relations: Iterable[str]) -> frozenset[str]:
        """These, and all that they are made of."""
        found, waiting = set[str](), list(relations)
        while waiting:
            id = waiting.pop()
            if id not in found:
                found.add(id)
                view = self.maintained.get(id)
                waiting += () if view is None else view.reads
        return frozenset(found)

    def still(self, t: Tick) -> Tick:
        """The latest time at which everything is known to be as it was at `t`, a finished tick."""
        latest = self.frontier
        return latest if self.done == t else t  # in this order: a tick that ends in between moves `done` first

    def are_ready(self, relations: Iterable[str]) -> bool:
        """Each has been filled for the first time, or stands still and says why."""
        return all(self._is_ready(id) for id in relations)

    def _is_ready(self, id: str) -> bool:
        if self.statuses.of(id).status in ("stalled", "paused"):
            return True
        view = self.maintained.get(id)
        if view is not None:
            return view.frontier > BEGINNING and self.done >= view.frontier
        operator = self.inputs.get(id)
        return isinstance(operator, LogInput) or (operator is not None and operator.trace.upper > BEGINNING)

    def reach(self, relations: Iterable[str]) -> Tick:
        """How far all of these can be read now; lanes may be behind the last tick."""
        return min((self.done, *(self.maintained[id].frontier for id in relations if id in self.maintained)))

    # ── time ──

    def run(self, t: Tick, *, together: bool = False) -> None:
        """Everything to `t`, `together` if no lane may be behind at the end.  Runs Spark jobs."""
        started, jobs = time.monotonic(), self.store.work.jobs
        stuck: set[str] = set()
        self.lanes.take_ends()
        with self.store.views.scratch():
            for id, operator in self.inputs.items():
                if isinstance(operator, UpsertInput | TableInput):
                    self._guarded(t, id, stuck, (), t, lambda op=operator: op.advance(t))  # type: ignore[misc]
            self._stuck_inputs = frozenset(stuck)
            if self.lanes.are_apart and not together:
                self.lanes.run(t)
                self.done = self.frontier = t
            else:
                views, deliveries = self.in_order(), list(self.deliveries.values())
                self._advance_all(t, views, deliveries, stuck)
                self.done = self.frontier = t
                self._deliver_all(t, views, deliveries, stuck)
                self.lanes.are_at(t)
        self.efforts = [
            *self.efforts[-999:],
            Effort(tick=t, jobs=self.store.work.jobs - jobs, seconds=time.monotonic() - started),
        ]
        self.settled = t
        self.ticks += 1
        self.on_tick(t)

    def pass_by(self, t: Tick) -> None:
        """Nothing moved: frontiers advance, no job runs."""
        self.frontier = self.settled = t

    def catch_up(self) -> None:
        """Everything to the last tick, however long it takes: for somebody who must read it now, in the loop's thread.

        Runs Spark jobs.
        """
        self.lanes.join()
        stuck = set(self._stuck_inputs)
        views, deliveries = self.in_order(), list(self.deliveries.values())
        with self.store.views.scratch():
            self._advance_all(self.done, views, deliveries, stuck)
            self._deliver_all(self.done, views, deliveries, stuck)
        self.lanes.are_at(self.done)

    def step(self, lane: Lane, t: Tick) -> Callable[[], None]:
        """What brings a lane's objects to `t`, in the lane's thread.  It runs Spark jobs."""
        views = [view for view in self.in_order() if view.lane == lane.name]
        deliveries = [each for each in self.deliveries.values() if each.lane == lane.name]

        def work() -> None:
            stuck = set(self._stuck_inputs)
            with self.store.apart(), self.store.views.scratch():
                self._advance_all(t, views, deliveries, stuck, lane)
                self._deliver_all(t, views, deliveries, stuck, lane)

        return work

    def _advance_all(
        self,
        t: Tick,
        views: Sequence[Maintained],
        deliveries: Sequence[Delivery],
        stuck: set[str],
        lane: Lane | None = None,
    ) -> None:
        """Views; which of them are read, and so proven, by others is a matter of the lane."""
        read = {id for view in views for id in view.reads} | {delivery.relation for delivery in deliveries}
        for view in views:
            known = self.done if lane is None else view.frontier
            work = partial(self._advance, view, t, is_read=view.id in read, known=known)
            self._guarded(t, view.id, stuck, view.reads, min(view.frontier, view.proven), work, lane)

    def _deliver_all(
        self,
        t: Tick,
        views: Sequence[Maintained],
        deliveries: Sequence[Delivery],
        stuck: set[str],
        lane: Lane | None = None,
    ) -> None:
        """After this whoever reads one of the views in the same step has done so."""
        for each in deliveries:
            self._guarded(t, each.id, stuck, each.reads, each.frontier, partial(self._deliver, each, t), lane)
        if lane is not None and lane.is_hurried:
            return
        for view in views:
            if view.id not in stuck:
                view.proven = view.frontier

    def _advance(self, view: Maintained, t: Tick, *, is_read: bool, known: Tick) -> bool:
        """To `t`, or as far as what it reads has come.  False: that is where it is already.

        `known`: up to here its readers should have proven it.
        """
        limit = self._limit(view.reads, t)
        if limit < t and limit <= view.frontier:
            return False
        is_behind = BEGINNING < view.proven < known or self.statuses.of(view.id).status == "stalled"
        for stop in (*self._stops(view, limit), limit):
            view.root.advance(stop)
            if is_behind or not is_read:
                self._prove(view, stop)
            view.frontier = stop
        return True

    def _prove(self, view: Maintained, t: Tick) -> None:
        """Raises if a row that has come since `proven` cannot be computed.  Runs a Spark job if there is one."""
        if not view.is_lazy or view.proven >= t:
            return
        change = view.root.delta(view.proven, t)
        if not change.is_empty:
            self.store.attempt(f"SELECT * FROM ({change.sql}) WHERE weight > 0", change.rows)

    def _blame(self, id: str, t: Tick, stuck: set[str], since: Tick, lane: Lane | None) -> None:
        """A reader that stood at `since` met a row that cannot be computed.  The view stalls if the row is its own.

        A view of another lane has been proven there.
        """
        view = self.maintained.get(id)
        if view is None or not view.is_lazy or id in stuck or (lane is not None and view.lane != lane.name):
            return
        for read in view.reads:
            self._blame(read, t, stuck, since, lane)
        proven, view.proven = view.proven, min(since, view.proven)
        try:
            self._prove(view, min(t, view.frontier))
            view.proven = proven
        except Exception as error:  # noqa: BLE001  as in _guarded
            self._stall(id, stuck, error)

    def _limit(self, reads: Sequence[str], t: Tick) -> Tick:
        """How far a reader of these can go: another lane may be behind, or an input stands still."""
        views = [self.maintained[id].frontier for id in reads if id in self.maintained]
        inputs = [self.inputs[id] for id in reads if id in self.inputs]
        return min((t, *views, *(each.trace.upper for each in inputs if not isinstance(each, LogInput))))

    def _stops(self, view: Maintained, t: Tick) -> list[Tick]:
        """Ticks on the way to `t` that somebody will read this view at, who is waiting for that."""
        if view.frontier == BEGINNING or self.statuses.of(view.id).status == "stalled":
            return []  # nobody can have read it yet; or what is wrong with it may be right at `t`
        with self._lock:
            wanted = {pin.tick for pin in self._pinned.values() if pin.reads is None or view.id in pin.reads}
        wanted |= {each.frontier for each in list(self.deliveries.values()) if each.relation == view.id}
        return sorted(each for each in wanted if view.frontier < each < t)

    def _deliver(self, delivery: Delivery, t: Tick) -> bool:
        """Always False: it notes the status itself."""
        t = self._limit(delivery.reads, t)
        if t < delivery.frontier:
            return False
        sent = delivery.counts.messages
        if delivery.deliver(t):
            self.statuses.note(delivery.id, "running", hint=delivery.warning)
        delivery.await_answer(self.wake)
        self.store.work.rows += delivery.counts.messages - sent
        return False

    def in_order(self) -> list[Maintained]:
        """Views after the views they read; ids are given in order of creation, and nothing reads what comes later."""
        return sorted(self.maintained.values(), key=lambda view: int(view.id[1:]))

    def _guarded(
        self,
        t: Tick,
        id: str,
        stuck: set[str],
        reads: Sequence[str],
        since: Tick,
        work: Callable[[], bool | None],
        lane: Lane | None = None,
    ) -> None:
        """Runs `work` for one object, which stands at `since`; its failure is its status, and that of what it reads
        if a row of theirs is at fault, and nobody else's.

        If it gives False, there is no telling yet, and the status stays.
        """
        if lane is not None and lane.is_hurried:
            return
        waiting = [each for each in reads if each in stuck or self._is_stuck_elsewhere(each, lane)]
        is_paused = id in self.paused
        if waiting or (is_paused and id not in self.inputs):  # an input only takes notice that time passes
            stuck.add(id)
            self._let_finish(id)
            cause = self.statuses.of(waiting[0]) if waiting else Status(status="paused")
            self.statuses.note(id, cause.status, cause.error, cause.hint, cause.sqlstate)
            return
        started, spent = time.monotonic(), replace(self.store.work)
        try:
            if work() is not False:
                self.statuses.note(id, "paused" if is_paused else "running")
        except Exception as error:  # noqa: BLE001  the loop is where any failure becomes a status
            if lane is not None and lane.is_hurried:
                stuck.add(id)
                return  # it did not fail: it was told to end
            if isinstance(explain(error), DataError):
                for each in reads:
                    self._blame(each, t, stuck, since, lane)
            self._stall(id, stuck, error)
        self._note_cost(t, id, spent, time.monotonic() - started)

    def _is_stuck_elsewhere(self, id: str, lane: Lane | None) -> bool:
        """It is another lane's, and stands still there."""
        view = self.maintained.get(id)
        is_elsewhere = view is not None and lane is not None and view.lane != lane.name
        return is_elsewhere and self.statuses.of(id).status in ("stalled", "paused")

    def _let_finish(self, id: str) -> None:
        """What a sink had under way before it stands still."""
        delivery = self.deliveries.get(id)
        if delivery is None:
            return
        try:
            delivery.let_finish(self.wake)
        except Exception as error:  # noqa: BLE001  its target is asked again when it goes on
            _log.warning("sink failed while it stands still id=%s error=%s", id, explain(error).message)

    def _stall(self, id: str, stuck: set[str], error: Exception) -> None:
        stuck.add(id)
        known = explain(error)
        sqlstate = known.sqlstate if isinstance(known, DataError) else None
        if self.statuses.note(id, "stalled", known.message, known.hint, sqlstate):
            _log.warning("object stalled id=%s error=%s", id, known.message, exc_info=_trace_of(known, error))

    def _note_cost(self, t: Tick, id: str, before: Work, seconds: float) -> None:
        now = self.store.work
        jobs, rows = now.jobs - before.jobs, now.rows - before.rows
        if jobs or rows:
            planning = now.planning - before.planning
            self.costs.append(Cost(tick=t, object=id, jobs=jobs, rows=rows, planning=planning, seconds=seconds))

    def due(self) -> Tick | None:
        """When the passing of time alone will change a view next."""
        timed = [operator for lane in self.lanes for operator in lane.dataflow.timed()]
        return min((due for due in map(self._due, timed) if due is not None), default=None)

    def _due(self, operator: Timed) -> Tick | None:
        return operator.due(self.done)

    def has_stalled(self) -> bool:
        """Some view or sink is behind and wants to be tried again: it failed, or it was not its time yet."""
        ids = [*self.maintained, *self.deliveries, *self.inputs]
        waiting = any(delivery.is_waiting or delivery.is_under_way for delivery in self.deliveries.values())
        return waiting or any(self.statuses.of(id).status == "stalled" for id in ids)

    def failures(self) -> dict[str, int]:
        """How often each sink could not be written."""
        return {id: delivery.failures for id, delivery in list(self.deliveries.items())}

    def is_delivering(self, t: Tick, before: dict[str, int]) -> bool:
        """Some target is not at `t` yet, and what is under way to it may still succeed: it has not failed since
        `before`, nor been silent for long."""
        if self.lanes.are_behind(min(t, self.done)):
            return True
        late = [each for each in self.deliveries.values() if each.is_under_way and each.frontier < t]
        return any(each.failures == before.get(each.id, 0) and not each.is_silent for each in late)

    def source_is_well(self, id: str) -> None:
        """The source answered.  A stall that came from reading it, not from asking it, stays until a tick succeeds."""
        if id in self.paused:
            return
        if not isinstance(self.inputs.get(id), UpsertInput) or self.statuses.of(id).status == "created":
            self.statuses.note(id, "running")

    # ── history nobody needs ──

    def frontiers(self) -> dict[str, tuple[Tick, Tick]]:
        """For a checkpoint: each sink's frontier and the last tick it wrote; of a view, up to where it is proven."""
        views = {view.id: (view.proven, view.proven) for view in self.maintained.values() if view.is_lazy}
        return views | {d.id: (d.frontier, d.written) for d in self.deliveries.values()}

    def readable_since(self, root: Operator) -> Tick:
        """The first tick that a relation can still be read at."""
        return max((self.log.first, *(trace.since for trace in traces(root))))

    def retention(self) -> dict[str, Tick]:
        """By trace: the tick from which on its single ticks are kept because somebody may ask for the past."""
        holds: dict[str, Tick] = {}
        for id, milliseconds in self.retained.items():
            at = Tick(max(self.frontier - milliseconds, BEGINNING))
            view = self.maintained.get(id)
            root = view.root if view is not None else self.inputs.get(id)
            for trace in () if root is None else traces(root):
                holds[trace.id] = min(holds.get(trace.id, at), at)
        return holds

    def forgettable(self) -> Tick:
        """The tick before which the tick log is of no use to anybody."""
        longest = max(self.retained.values(), default=0)
        return min(self.hold(), Tick(max(self.frontier - longest, BEGINNING)))

    def hold(self) -> Tick:
        """The tick before which nobody will ask for single ticks: the slowest reader's frontier."""
        frontiers = [delivery.frontier for delivery in self.deliveries.values()]
        frontiers += [trace.upper for root in self.roots() for trace in traces(root)]
        frontiers += [view.proven for view in self.maintained.values() if view.is_lazy and view.proven > BEGINNING]
        with self._lock:
            frontiers += [*(pin.tick for pin in self._pinned.values()), self.done]
        return min(frontiers)


def explain(error: BaseException) -> TailraceError:
    """Any exception as an error one can act on, or as our own bug."""
    if isinstance(error, TailraceError):
        return error
    known = translate(str(error))
    if known is not None:
        return known
    first = str(error).splitlines()[0] if str(error) else ""
    return InternalError(f"{type(error).__name__}: {first}"[:500])


def _trace_of(known: TailraceError, error: BaseException) -> BaseException | None:
    return None if isinstance(known, SqlError) else error
