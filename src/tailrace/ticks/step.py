"""One step: some objects are brought to one tick, each by itself, in dependency order.

An object that fails keeps its frontier and says why in its status; what depends on it waits with it; everything else
goes on.  Next time it is offered the fused change.

What a view computes above its state is computed by whoever reads it (ivm/lazy.py).  If nobody does, the rows that
arrive are computed here and thrown away, to know whether they have values; of a new view with many rows not at once,
since the next statement is likely to make a sink that reads them anyway.  If a reader fails, the views it reads are
asked the same, so that the one at fault says so, and not only its readers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from tailrace.errors import DataError, SqlError, TailraceError
from tailrace.ivm.work import Work
from tailrace.plan.data_errors import explain
from tailrace.ticks.deliver import MANY, Delivery
from tailrace.ticks.inputs import LogInput, TableInput, UpsertInput
from tailrace.ticks.lane import FIRST, Lane
from tailrace.ticks.status import Status
from tailrace.types.core import BEGINNING, Tick

if TYPE_CHECKING:
    from tailrace.ivm.operator import Operator
    from tailrace.ticks.cluster import Cluster

_log = logging.getLogger("tailrace.ticks")

_PUT_OFF_SECONDS = 1.0  # for which a new view may find a reader
_WAY_OUT = "Mend the row where it comes from; or DROP the view and CREATE it with a query that no such row breaks."


@dataclass(kw_only=True, slots=True, eq=False)
class Maintained:
    """A materialized view that is kept up to date.  `reads`: ids of the relations it depends on directly.

    `is_lazy`: reading it can fail.  `proven`: as far as its readers know, every row of this tick could be computed; a
    reader that is behind takes its word back if a row proves it wrong (`_blame`), or if it leaves (`Cluster.drop`).
    """

    id: str
    name: str
    root: Operator
    reads: tuple[str, ...]
    is_lazy: bool
    lane: str = FIRST
    frontier: Tick = BEGINNING
    proven: Tick = BEGINNING
    made: float = field(default_factory=time.monotonic)
    is_put_off: bool = False  # whether its rows can be computed is asked a little later


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


@dataclass(kw_only=True, slots=True, eq=False)
class Step:
    """To `t`: these views and deliveries, in their `lane`, or all there are, in the loop's thread.

    `stuck`: the objects that stand still, and so hold up what reads them.
    """

    cluster: Cluster
    t: Tick
    views: Sequence[Maintained]
    deliveries: Sequence[Delivery]
    stuck: set[str]
    lane: Lane | None = None

    def inputs(self) -> None:
        """What is kept of sources and tables."""
        for id, operator in self.cluster.inputs.items():
            if isinstance(operator, UpsertInput | TableInput):
                self._guarded(id, (), self.t, partial(operator.advance, self.t))

    def advance(self) -> None:
        """The views; which of them are read, and so proven, by others is a matter of the lane."""
        read = {id for view in self.views for id in view.reads} | {each.relation for each in self.deliveries}
        for view in self.views:
            known = self.cluster.done if self.lane is None else view.frontier
            work = partial(self._advance, view, is_read=view.id in read, known=known)
            self._guarded(view.id, view.reads, min(view.frontier, view.proven), work)

    def deliver(self) -> None:
        """After this whoever reads one of the views has done so, or will, and then say what is wrong with it."""
        for each in self.deliveries:
            self._guarded(each.id, each.reads, each.frontier, partial(self._deliver, each))
        if self._must_end():
            return
        for view in self.views:
            if view.id not in self.stuck and not view.is_put_off:
                view.proven = view.frontier

    def _must_end(self) -> bool:
        return self.lane is not None and self.lane.is_hurried

    # ── one object ──

    def _guarded(self, id: str, reads: Sequence[str], since: Tick, work: Callable[[], bool | None]) -> None:
        """Runs `work` for one object, which stands at `since`; its failure is its status, and that of what it reads
        if a row of theirs is at fault, and nobody else's.

        If it gives False, there is no telling yet, and the status stays.
        """
        if self._must_end():
            return
        cluster = self.cluster
        waiting = [each for each in reads if each in self.stuck or self._is_stuck_elsewhere(each)]
        is_paused = id in cluster.paused
        if waiting or (is_paused and id not in cluster.inputs):  # an input only takes notice that time passes
            self.stuck.add(id)
            self._let_finish(id)
            cause = cluster.statuses.of(waiting[0]) if waiting else Status(status="paused")
            cluster.statuses.note(id, cause.status, cause.error, cause.hint, cause.sqlstate)
            return
        started, spent = time.monotonic(), replace(cluster.store.work)
        try:
            if work() is not False:
                cluster.statuses.note(id, "paused" if is_paused else "running")
        except Exception as error:  # noqa: BLE001  the loop is where any failure becomes a status
            if self._must_end():
                self.stuck.add(id)
                return  # it did not fail: it was told to end
            if isinstance(explain(error), DataError):
                for each in reads:
                    self._blame(each, since)
            self._stall(id, error)
        self._note_cost(id, spent, time.monotonic() - started)

    def _advance(self, view: Maintained, *, is_read: bool, known: Tick) -> bool:
        """As far as what it reads has come.  False: that is where it is already.

        `known`: up to here its readers should have proven it.
        """
        limit = self._limit(view.reads)
        if limit < self.t and limit <= view.frontier:
            return False
        is_stalled = self.cluster.statuses.of(view.id).status == "stalled"
        is_behind = BEGINNING < view.proven < known or is_stalled
        # Nobody can have read it yet, or what is wrong with it may be right at the end: then it does not stop between.
        stops = [] if view.frontier == BEGINNING or is_stalled else self._stops(view, limit)
        for stop in (*stops, limit):
            view.root.advance(stop)
            view.is_put_off = not is_read and self._may_wait(view, stop)
            if (is_behind or not is_read) and not view.is_put_off:
                self._prove(view, stop)
                view.proven = max(view.proven, stop)
            view.frontier = stop
        return True

    def _deliver(self, delivery: Delivery) -> bool:
        """Always False: it notes the status itself."""
        t = self._limit(delivery.reads)
        if t < delivery.frontier:
            return False
        sent = delivery.counts.messages
        if delivery.deliver(t):
            self.cluster.statuses.note(delivery.id, "running", hint=delivery.warning)
        elif delivery.rows_under_way and self.cluster.statuses.of(delivery.id).status == "starting":
            self.cluster.statuses.note(delivery.id, "running")  # its snapshot may take many minutes
        delivery.await_answer(self.cluster.answered)
        self.cluster.store.work.rows += delivery.counts.messages - sent
        return False

    def _limit(self, reads: Sequence[str]) -> Tick:
        """How far a reader of these can go: another lane may be behind, or an input stands still."""
        cluster = self.cluster
        views = [cluster.maintained[id].frontier for id in reads if id in cluster.maintained]
        inputs = [cluster.inputs[id] for id in reads if id in cluster.inputs]
        return min((self.t, *views, *(each.trace.upper for each in inputs if not isinstance(each, LogInput))))

    def _stops(self, view: Maintained, limit: Tick) -> list[Tick]:
        """Ticks on the way that somebody will read this view at, who is waiting for that."""
        wanted = self.cluster.pins.of(view.id)
        wanted |= {each.frontier for each in list(self.cluster.deliveries.values()) if each.relation == view.id}
        return sorted(each for each in wanted if view.frontier < each < limit)

    # ── rows that cannot be computed ──

    def _may_wait(self, view: Maintained, t: Tick) -> bool:
        """A view that is new, and large: whoever reads it first may well be about to come."""
        is_new = view.is_lazy and view.proven == BEGINNING and time.monotonic() < view.made + _PUT_OFF_SECONDS
        return is_new and view.root.delta(BEGINNING, t).rows > MANY

    def _prove(self, view: Maintained, t: Tick) -> None:
        """Raises if a row that has come since `proven` cannot be computed.  Runs a Spark job if there is one."""
        if not view.is_lazy or view.proven >= t:
            return
        change = view.root.delta(view.proven, t)
        if not change.is_empty:
            self.cluster.store.attempt(f"SELECT * FROM ({change.sql}) WHERE weight > 0", change.rows)

    def _blame(self, id: str, since: Tick) -> None:
        """A reader that stood at `since` met a row that cannot be computed.  The view stalls if the row is its own.

        A view of another lane has been proven there.
        """
        view = self.cluster.maintained.get(id)
        if view is None or not view.is_lazy or id in self.stuck or self._is_elsewhere(view):
            return
        for read in view.reads:
            self._blame(read, since)
        proven, view.proven = view.proven, min(since, view.proven)
        try:
            self._prove(view, min(self.t, view.frontier))
            view.proven = proven
        except Exception as error:  # noqa: BLE001  as in _guarded
            self._stall(id, error)

    # ── standing still ──

    def _is_elsewhere(self, view: Maintained) -> bool:
        return self.lane is not None and view.lane != self.lane.name

    def _is_stuck_elsewhere(self, id: str) -> bool:
        """It is another lane's, and stands still there."""
        view = self.cluster.maintained.get(id)
        is_elsewhere = view is not None and self._is_elsewhere(view)
        return is_elsewhere and self.cluster.statuses.of(id).status in ("stalled", "paused")

    def _let_finish(self, id: str) -> None:
        """What a sink had under way before it stands still."""
        delivery = self.cluster.deliveries.get(id)
        if delivery is None:
            return
        try:
            delivery.let_finish(self.cluster.answered)
        except Exception as error:  # noqa: BLE001  its target is asked again when it goes on
            _log.warning("sink failed while it stands still id=%s error=%s", id, explain(error).message)

    def _stall(self, id: str, error: Exception) -> None:
        self.stuck.add(id)
        known = explain(error)
        hint, sqlstate = known.hint, None
        if isinstance(known, DataError):
            hint, sqlstate = known.hint or _WAY_OUT, known.sqlstate
        if self.cluster.statuses.note(id, "stalled", known.message, hint, sqlstate):
            _log.warning("object stalled id=%s error=%s", id, known.message, exc_info=_trace_of(known, error))

    def _note_cost(self, id: str, before: Work, seconds: float) -> None:
        now = self.cluster.store.work
        jobs, rows = now.jobs - before.jobs, now.rows - before.rows
        if jobs or rows:
            planning = now.planning - before.planning
            self.cluster.costs.append(
                Cost(tick=self.t, object=id, jobs=jobs, rows=rows, planning=planning, seconds=seconds)
            )


def _trace_of(known: TailraceError, error: BaseException) -> BaseException | None:
    return None if isinstance(known, SqlError) else error
