"""The objects that move together: sources, tables, materialized views and sinks under one logical time.

`run(t)` advances every object to t in dependency order, in one step (step.py).

If there are views and sinks in more than one CLUSTER, each cluster's are brought to t in a lane of their own (lane.py),
and a lane that takes its time is behind for a while, like an object that failed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tailrace.ivm.dataflow import traces
from tailrace.ivm.lazy import can_fail_when_read
from tailrace.ivm.operator import Operator, Timed
from tailrace.plan.nodes import Node, Scan
from tailrace.sources.contract import Log, Offsets
from tailrace.state.store import Store
from tailrace.ticks.deliver import Delivery
from tailrace.ticks.inputs import LogInput, TableInput, UpsertInput, ViewInput
from tailrace.ticks.lane import FIRST, Lane
from tailrace.ticks.lanes import Lanes
from tailrace.ticks.log import TickLog
from tailrace.ticks.pins import Pins
from tailrace.ticks.status import Statuses
from tailrace.ticks.step import Cost, Maintained, Step
from tailrace.types.core import BEGINNING, Tick

Input = LogInput | UpsertInput | TableInput


@dataclass(kw_only=True, slots=True, eq=False)
class Effort:
    """What one tick cost; the last ones are kept for people to look at."""

    tick: Tick
    jobs: int
    seconds: float


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
    done: Tick = BEGINNING  # the last tick that was run, or that lanes are being brought to; readers look at this one
    efforts: list[Effort] = field(default_factory=list)
    costs: deque[Cost] = field(default_factory=lambda: deque(maxlen=_COSTS_KEPT))
    ticks: int = 0  # that were run since the start
    settled: Tick = BEGINNING  # up to here everything is done, and every subscriber has been told
    retained: dict[str, int] = field(default_factory=dict)  # relations whose past can be read, and for how many ms
    paused: frozenset[str] = frozenset()  # objects that stand still because they were told to
    broken: frozenset[str] = frozenset()  # objects that could not be made again: what they will need is not forgotten
    known_ends: dict[str, Offsets] = field(default_factory=dict)  # how far each source could be read when last asked
    on_tick: Callable[[Tick], None] = lambda _: None
    wake: Callable[[], None] = lambda: None  # when a target has answered that the loop did not wait for
    nudge: Callable[[], None] = lambda: None  # when a lane has done its step: it may have to go on

    def __post_init__(self) -> None:
        self.pins = Pins()
        self.lanes = Lanes(self)
        self._stuck_inputs: frozenset[str] = frozenset()

    def leaf(self, scan: Scan) -> Operator:
        view = self.maintained.get(scan.relation)
        if view is not None:
            return ViewInput(node=scan, root=view.root)
        return self._input(scan)

    def _input(self, scan: Scan) -> Operator:
        found = self.inputs[scan.relation]
        return found.read_as(scan) if isinstance(found, TableInput) else found

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
                delivery.close()
                self._doubt(delivery)
            source = self.sources.pop(id, None)
            if source is not None:
                source.close()
            self.maintained.pop(id, None)
            self.inputs.pop(id, None)
            self.known_ends.pop(id, None)
            self.retained.pop(id, None)
            self.statuses.forget(id)
        self.broken -= ids
        self.keep_needed()
        self.lanes.close_unused()

    def _doubt(self, gone: Delivery) -> None:
        """What a reader has not come to read, it has not proven either."""
        view = self.maintained.get(gone.relation)
        if view is not None:
            view.proven = min(view.proven, gone.frontier)

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
        return view.root if view is not None else self._input(scan)

    def knows(self, scan: Scan, t: Tick) -> bool:
        """Can the relation be read as of `t`?"""
        return all(trace.knows(t) for trace in traces(self.reader(scan)))

    @contextmanager
    def pinned(self, at: Tick | None = None, reads: Iterable[str] | None = None) -> Iterator[Tick]:
        """The last finished tick, or this earlier one if it is still known, kept readable until the end.

        `reads`: the relations that will be read; any, if nothing is said.
        """
        needed = None if reads is None else self._needed(reads)
        with self.pins.held(lambda: self.done if at is None else at, needed) as tick, self.store.reading():
            yield tick

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
        self.lanes.take_ends()
        with self.store.views.scratch():
            step = self._step_of_all(t, set())
            step.inputs()
            self._stuck_inputs = frozenset(step.stuck)
            if self.lanes.are_apart and not together:
                self.done = self.frontier = t  # first, so that nobody pins a tick that a lane is about to pass
                self.lanes.run(t)
            else:
                step.advance()
                self.done = self.frontier = t
                step.deliver()
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
        step = self._step_of_all(self.done, set(self._stuck_inputs))
        with self.store.views.scratch():
            step.advance()
            step.deliver()
        self.lanes.are_at(self.done)

    def _step_of_all(self, t: Tick, stuck: set[str]) -> Step:
        return Step(cluster=self, t=t, views=self.in_order(), deliveries=[*self.deliveries.values()], stuck=stuck)

    def step(self, lane: Lane, t: Tick) -> Callable[[], None]:
        """What brings a lane's objects to `t`, in the lane's thread.  It runs Spark jobs."""
        views = [view for view in self.in_order() if view.lane == lane.name]
        deliveries = [each for each in self.deliveries.values() if each.lane == lane.name]

        def work() -> None:
            stuck = set(self._stuck_inputs)
            step = Step(cluster=self, t=t, views=views, deliveries=deliveries, stuck=stuck, lane=lane)
            with self.store.apart(), self.store.views.scratch():
                step.advance()
                step.deliver()

        return work

    def in_order(self) -> list[Maintained]:
        """Views after the views they read; ids are given in order of creation, and nothing reads what comes later."""
        return sorted(self.maintained.values(), key=lambda view: int(view.id[1:]))

    def due(self) -> Tick | None:
        """When the passing of time alone will change a view next."""
        timed = [operator for lane in self.lanes for operator in lane.dataflow.timed()]
        return min((due for due in map(self._due, timed) if due is not None), default=None)

    def _due(self, operator: Timed) -> Tick | None:
        return operator.due(self.done)

    def has_stalled(self) -> bool:
        """Some view or sink is behind and wants to be tried again: it failed, or it was not its time yet."""
        ids = [*self.maintained, *self.deliveries, *self.inputs]
        waiting = any(delivery.is_waiting or delivery.is_awaited for delivery in self.deliveries.values())
        waiting = waiting or any(view.is_put_off for view in self.maintained.values())
        return waiting or any(self.statuses.of(id).status == "stalled" for id in ids)

    def answered(self) -> None:
        """By a target that the loop did not wait for.  While ticks are replayed there is no loop yet: it looks itself
        when it begins."""
        self.wake()

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
        frontiers = [delivery.needs for delivery in self.deliveries.values()]
        frontiers += [trace.upper for root in self.roots() for trace in traces(root)]
        frontiers += [view.proven for view in self.maintained.values() if view.is_lazy and view.proven > BEGINNING]
        frontiers.append(self.pins.first(lambda: self.done))
        return min(frontiers)
