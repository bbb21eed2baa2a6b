"""The tick loop: wait, ask the sources, write the tick log, advance everything, deliver.

One thread does all of it, unless there are several clusters: then it has lanes (lanes.py) do the last two.  Statements
that change something hand the loop a command and wait; so nothing is ever changed in the middle of a tick, and a
statement that returns has taken effect.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from tailrace.errors import Unavailable
from tailrace.plan.data_errors import explain
from tailrace.sources.contract import Offsets
from tailrace.state import checkpoint
from tailrace.state.compaction import Compactor
from tailrace.testing.crash import crash_point
from tailrace.ticks.clock import Clock
from tailrace.ticks.cluster import Cluster
from tailrace.ticks.inputs import together
from tailrace.types.core import Tick

_log = logging.getLogger("tailrace.ticks")
T = TypeVar("T")

_SHORTEST_REST = 0.02
"""Seconds between two ticks, however long the first one took."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How fast the loop goes."""

    interval: float = 0.1  # seconds from one look at the sources to the next
    max_rows: int = 1_000_000  # of all sources together, in one tick
    retry: float = 1.0  # seconds before a stalled object is tried again
    checkpoint: float = 30.0  # seconds between checkpoints


@dataclass(kw_only=True, slots=True, eq=False)
class Command:
    """Something to do between two ticks.  `rows` that it returns become part of the next tick."""

    work: Callable[[], Any]
    done: Future[Any] = field(default_factory=Future)
    wants_tick: bool = False
    looks_only: bool = False  # nothing comes or goes by it: no tick is due
    lanes: frozenset[str] = frozenset()  # it is about objects of these, and has to wait until they are at rest
    hurries: bool = False  # what they are doing is of no use any more
    is_patient: bool = True  # whoever asked waits for that, too


class Loop:
    """Starts with `start`; `stop` ends it after the tick it is in."""

    def __init__(self, cluster: Cluster, pace: Pace) -> None:
        self.cluster = cluster
        self.pace = pace
        self.clock = Clock(max(cluster.log.last, cluster.frontier))
        self._commands: queue.Queue[Command | None] = queue.Queue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._forever, name="tick-loop", daemon=True)
        self._changes: dict[str, list[pa.Table]] = {}
        self._waiting: list[Future[Any]] = []
        self._deferred: list[Command] = []
        self._look_at = 0.0
        # Objects came or went, or a replay has left something under way: a tick is due though no input moved.
        self._dirty = any(delivery.is_under_way for delivery in cluster.deliveries.values())
        self.compactor = Compactor(cluster.store)
        self._retry_at = float("inf")
        self._checkpoint_at = time.monotonic() + pace.checkpoint
        self._checkpointed = cluster.frontier
        self.failure: BaseException | None = None
        cluster.wake = self.wake
        cluster.nudge = self._nudge

    # ── for other threads ──

    def start(self) -> None:
        self._thread.start()

    def do(self, work: Callable[[], T], *, lanes: frozenset[str] = frozenset(), hurries: bool = False) -> T:
        """Runs `work` between two ticks, and when these lanes are at rest, and returns its result."""
        result: T = self._submit(Command(work=work, lanes=lanes, hurries=hurries))
        return result

    def leave(self, work: Callable[[], object], *, lanes: frozenset[str]) -> None:
        """Has `work` done between two ticks; does not wait for lanes that are not at rest."""
        self._submit(Command(work=work, lanes=lanes, is_patient=False))

    def change(self, work: Callable[[], Mapping[str, pa.Table]]) -> Tick:
        """Runs `work` between two ticks; the table changes that it returns are the next tick.  Returns after it."""
        return Tick(self._submit(Command(work=work, wants_tick=True)))

    def settle(self) -> None:
        """Waits for one more tick and for what it leaves to be done beside it."""
        before = self.cluster.failures()
        t = self.change(dict)
        is_delivering = partial(self.cluster.is_delivering, t, before)
        while self._submit(Command(work=is_delivering, looks_only=True)):  # asked between two ticks
            time.sleep(_SHORTEST_REST)
        self._submit(Command(work=self.compactor.settle, looks_only=True))

    def wake(self) -> None:
        """A tick is due, though no input moved.  Waits for nothing."""
        self._commands.put(Command(work=lambda: None))

    def _nudge(self) -> None:
        """A lane has done its step."""
        self._commands.put(Command(work=lambda: None, looks_only=True))

    @property
    def is_mine(self) -> bool:
        """Is this the loop's own thread?"""
        return threading.current_thread() is self._thread

    @property
    def has_ended(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        """Ends after the tick in progress, with a last checkpoint."""
        self._stopping.set()
        self._commands.put(None)
        if self._thread.is_alive():
            self._thread.join()
        self.compactor.close()

    def _submit(self, command: Command) -> Any:
        if self._stopping.is_set():
            raise Unavailable("the engine is stopping", sqlstate="57P01")
        self._commands.put(command)
        return command.done.result()

    # ── the loop's own thread ──

    def _forever(self) -> None:
        try:
            # Apart from the queries of clients: within a pool, Spark does the job first that came first.
            self.cluster.store.views.large.sparkContext.setLocalProperty("spark.scheduler.pool", "ticks")
            while not self._stopping.is_set():
                self._take_commands()
                self._go_on()
                if not self._stopping.is_set():
                    self.step()
            self.cluster.lanes.close()
            self._checkpoint()
        except BaseException as error:  # noqa: BLE001  without its loop the engine is dead: say so to everybody waiting
            self.failure = error
            _log.exception("tick loop ended")
        finally:
            self._stopping.set()
            self._refuse_waiting()
            self.cluster.lanes.close()

    def _take_commands(self) -> None:
        """Waits for the next look to be due or a command, then takes all that are there."""
        rest = self._look_at - time.monotonic()
        due = self.cluster.due()
        if due is not None:
            rest = min(rest, (due - self.clock.now()) / 1000)
        rest = max(rest, min(self.pace.interval, _SHORTEST_REST))
        try:
            command = self._commands.get(timeout=rest)
        except queue.Empty:
            return
        while command is not None:
            self._take(command)
            try:
                command = self._commands.get_nowait()
            except queue.Empty:
                return

    def _go_on(self) -> None:
        """Lanes at rest: first what was waiting for that, then what they have not done yet."""
        self.cluster.lanes.take_ends()
        deferred, self._deferred = self._deferred, []
        for command in deferred:
            self._take(command)
        self.cluster.lanes.go_on()

    def _take(self, command: Command) -> None:
        if self.cluster.lanes.are_busy(command.lanes):
            self._deferred.append(command)
            if command.hurries:
                self.cluster.lanes.hurry(command.lanes)
            if not command.is_patient and not command.done.done():
                command.done.set_result(None)
            return
        try:
            result = command.work()
        except BaseException as error:  # noqa: BLE001  it belongs to whoever asked
            if not command.done.done():
                command.done.set_exception(error)
            return
        if not command.wants_tick:
            self._dirty |= not command.looks_only
            if not command.done.done():
                command.done.set_result(result)
            return
        for relation, rows in result.items():
            self._changes.setdefault(relation, []).append(rows)
        self._waiting.append(command.done)
        if self._changes or self._dirty or self._is_due(self.clock.now()):
            self.step()  # a later statement must see what this one did, and what came or went before it
        else:
            self._settle(self.cluster.frontier)

    def step(self) -> None:
        """One tick, if anything moved."""
        self._look_at = time.monotonic() + self.pace.interval
        positions = self._positions()
        changes = {relation: together(rows) for relation, rows in self._changes.items()}
        t = self.clock.next()
        due = self._dirty or time.monotonic() >= self._retry_at or self._is_due(t)
        if positions or changes or due:
            crash_point("tick.before_log")
            self.cluster.log.append(t, positions, changes)
            crash_point("tick.after_log")
            self._changes.clear()
            self.run(t)
            self._commit_positions(positions)
        else:
            self.cluster.pass_by(t)
            self._settle(self.cluster.frontier)
        self._keep_house()

    def _is_due(self, now: int) -> bool:
        """Time alone has changed a view."""
        due = self.cluster.due()
        return due is not None and due <= now

    def run(self, t: Tick) -> None:
        """A tick that is in the log.  Runs Spark jobs."""
        self._dirty = False
        self.cluster.run(t)
        stalled = self.cluster.has_stalled()
        self._retry_at = time.monotonic() + self.pace.retry if stalled else float("inf")
        self._settle(t)

    def _settle(self, t: Tick) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            future.set_result(t)

    def _positions(self) -> dict[str, Offsets]:
        """Where each source goes in the next tick; sources that do not move are left out."""
        left = self.pace.max_rows
        moved: dict[str, Offsets] = {}
        for id, source in self.cluster.sources.items():
            if id in self.cluster.paused:
                self.cluster.statuses.note(id, "paused")
                continue
            known = self.cluster.log.position(id, self.clock.last)
            try:
                latest = source.latest(known)
                self.cluster.known_ends[id] = latest
                self.cluster.source_is_well(id)
            except Exception as error:  # noqa: BLE001  a source that cannot be asked stands still, and says why
                problem = explain(error)
                self.cluster.statuses.note(id, "stalled", problem.message, problem.hint)
                continue
            if any(latest[p] > known.get(p, 0) for p in latest):
                until = source.capped(known, latest, max(left, 1))
                left -= sum(until[p] - known.get(p, 0) for p in until)
                moved[id] = until
        return moved

    def _commit_positions(self, positions: Mapping[str, Offsets]) -> None:
        for id, position in positions.items():
            source = self.cluster.sources.get(id)
            if source is not None:
                source.commit(position)

    def _keep_house(self) -> None:
        """The history of statuses; compaction and checkpoints, now and then."""
        hold, retention = self.cluster.hold(), self.cluster.retention()
        for trace in list(self.cluster.store.traces.values()):
            trace.allow_compaction(min(hold, retention.get(trace.id, hold)))
            self.compactor.compact(trace)
        self.cluster.statuses.save()
        if time.monotonic() >= self._checkpoint_at:
            self._checkpoint()

    def _checkpoint(self) -> None:
        self._checkpoint_at = time.monotonic() + self.pace.checkpoint
        if self.cluster.log.last <= self._checkpointed or self.cluster.broken:
            return
        self._checkpointed = self.cluster.log.last
        tick = self.cluster.lanes.checkpointable()
        checkpoint.write(self.cluster.store, tick, self.cluster.frontiers(), self.cluster.lanes.frozen())
        self.cluster.log.forget(min(tick, self.cluster.forgettable()))

    def _refuse_waiting(self) -> None:
        error = Unavailable("the engine has stopped", sqlstate="57P01")
        for future in (*self._waiting, *(command.done for command in self._deferred)):
            if not future.done():
                future.set_exception(error)
        while True:
            try:
                command = self._commands.get_nowait()
            except queue.Empty:
                return
            if command is not None:
                command.done.set_exception(error)
