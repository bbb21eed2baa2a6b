"""A sink goes on only from a tick that is ours: what the target holds is compared with the tick log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tailrace.errors import Fenced, SqlError
from tailrace.ivm.zset import ZSet
from tailrace.sinks.contract import Progress, Written
from tailrace.ticks.beside import Errand
from tailrace.ticks.deliver import Delivery
from tailrace.types.core import Tick


@dataclass
class Target:
    """A sink that holds what it is told, and counts how often it was asked."""

    held: int | None = None
    unfinished: int | None = None
    fenced: bool = False
    asked: int = 0
    ticks: list[int] = field(default_factory=list)

    def progress(self) -> Progress:
        self.asked += 1
        self.fenced = False
        unfinished = None if self.unfinished is None else Tick(self.unfinished)
        return Progress(tick=None if self.held is None else Tick(self.held), unfinished=unfinished)

    def write(self, tick: Tick, delta: ZSet) -> Written:
        if self.fenced:
            raise Fenced("a newer writer of this sink has taken over")
        self.held, self.unfinished = tick, None
        self.ticks.append(tick)
        return Written(messages=1, bytes=1)

    def close(self) -> None:
        pass


class Always:
    """An operator whose relation changes at every tick, in so many `rows`."""

    rows = 1

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        return ZSet(arity=1, sql="SELECT 1 AS c0, 1L AS weight", rows=self.rows)


def delivery(target: Target, *known: int, written: int = 0) -> Delivery:
    return Delivery(
        id="u1",
        name="out",
        relation="u0",
        root=Always(),  # type: ignore[arg-type]
        sink=target,
        written=Tick(written),
        knows=lambda t: t in known,
    )


@pytest.mark.parametrize("target", [Target(held=15), Target(held=10, unfinished=15)])
def test_a_tick_that_was_never_logged_is_refused_and_not_asked_about_again(target: Target) -> None:
    sink = delivery(target, 10, 20)
    for _ in range(3):
        with pytest.raises(SqlError, match="holds tick 15, which is not in the tick log"):
            sink.deliver(Tick(20))
    assert (target.asked, target.ticks) == (1, [])


def test_a_tick_that_the_log_has_forgotten_is_ours_if_a_checkpoint_says_so() -> None:
    target = Target(held=10)
    delivery(target, 20, written=10).deliver(Tick(20))
    assert target.ticks == [20]


def test_a_zombie_asks_once_more_and_stops_when_another_engine_has_written() -> None:
    target = Target(held=10)
    zombie = delivery(target, 10, 20, 30)
    zombie.deliver(Tick(20))
    target.held, target.fenced = 25, True
    with pytest.raises(Fenced):
        zombie.deliver(Tick(30))
    with pytest.raises(SqlError, match="holds tick 25"):
        zombie.deliver(Tick(30))
    assert (target.asked, target.ticks) == (2, [20])


def test_a_writer_that_was_fenced_by_nobody_else_goes_on() -> None:
    """A transaction that timed out while the machine slept looks the same."""
    target = Target(held=10)
    sink = delivery(target, 10, 20, 30)
    sink.deliver(Tick(20))
    target.fenced = True
    with pytest.raises(Fenced):
        sink.deliver(Tick(30))
    sink.deliver(Tick(30))
    assert target.ticks == [20, 30]


def test_a_target_that_is_being_asked_already_is_not_asked_again() -> None:
    target = Target(held=10)
    sink = delivery(target, 10, 20)
    sink.await_progress(Errand.begun(target.progress))
    assert sink.deliver(Tick(20))
    assert (target.asked, target.ticks) == (1, [20])


def test_what_a_target_says_ahead_is_doubted_like_anything_else() -> None:
    target = Target(held=15)
    sink = delivery(target, 10, 20)
    sink.await_progress(Errand.begun(target.progress))
    with pytest.raises(SqlError, match="holds tick 15, which is not in the tick log"):
        sink.deliver(Tick(20))
    assert target.ticks == []


@dataclass
class Sometimes:
    """An operator that changes at some ticks, and remembers between which ticks it was asked."""

    changes: set[int]
    asked: list[tuple[int, int]] = field(default_factory=list)

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        self.asked.append((lo, hi))
        rows = ZSet(arity=1, sql="SELECT 1 AS c0, 1L AS weight", rows=1)
        return rows if any(lo < t <= hi for t in self.changes) else ZSet.empty(1)


def test_after_a_doubt_it_asks_for_nothing_before_where_it_was() -> None:
    """Ticks that changed nothing are not in the target; their history may be gone."""
    target = Target(held=10)
    sink = delivery(target, 10, 20, 30)
    source = Sometimes(changes={30})
    sink.root = source  # type: ignore[assignment]
    sink.deliver(Tick(20))
    target.fenced = True
    with pytest.raises(Fenced):
        sink.deliver(Tick(30))
    assert sink.frontier == 20
    sink.deliver(Tick(30))
    assert source.asked == [(10, 20), (20, 30), (20, 30)]
    assert target.ticks == [30]


@dataclass
class SilentTarget(Target):
    """One that answers when it is told to."""

    answers: threading.Event = field(default_factory=threading.Event)
    fails: bool = False

    def prepared(self, tick: Tick, delta: ZSet) -> Callable[[], Written]:
        return lambda: self._answer(tick, delta)

    def _answer(self, tick: Tick, delta: ZSet) -> Written:
        assert self.answers.wait(60)
        if self.fails:
            raise Fenced("a newer writer of this sink has taken over")
        return self.write(tick, delta)


@dataclass
class LargeTarget(SilentTarget):
    """One to which every change is too much to be prepared by the loop."""

    closed: bool = False
    rows: set[int] = field(default_factory=set)

    def prepared(self, tick: Tick, delta: ZSet) -> None:
        return None

    def write(self, tick: Tick, delta: ZSet) -> Written:
        self.rows.add(delta.rows)
        assert self.answers.wait(60)
        return Target.write(self, tick, delta)

    def close(self) -> None:
        self.closed = True


class CancelledJobs:
    """Spark jobs that end when they are cancelled, if somebody still answers."""

    def __init__(self, target: LargeTarget, *, ends: bool = True) -> None:
        self._target, self._ends = target, ends

    def apart(self, work: Callable[[], Written]) -> Callable[[], Written]:
        return work

    def cancel(self) -> None:
        if self._ends:
            self._target.answers.set()


def silent(target: SilentTarget) -> Delivery:
    sink = delivery(target, *range(10, 60, 10))
    sink.beside = True
    assert not sink.deliver(Tick(20))
    return sink


def answered(target: SilentTarget, sink: Delivery) -> None:
    woken = threading.Event()
    sink.await_answer(woken.set)
    target.answers.set()
    assert woken.wait(60)


def test_what_a_target_has_not_answered_to_is_not_offered_again_and_the_frontier_stays() -> None:
    target = SilentTarget(held=10)
    sink = silent(target)
    assert not sink.deliver(Tick(30))
    assert (sink.frontier, sink.owes_nothing(Tick(10)), target.ticks) == (10, False, [])
    assert not sink.deliver(Tick(40))
    answered(target, sink)
    assert sink.deliver(Tick(50))
    assert (target.ticks, target.asked, sink.frontier) == ([20, 30, 40, 50], 1, 50)  # each by itself


def test_a_failure_beside_the_loop_is_a_doubt_like_any_other() -> None:
    target = SilentTarget(held=10, fails=True)
    sink = silent(target)
    answered(target, sink)
    with pytest.raises(Fenced):
        sink.deliver(Tick(30))
    target.fails = False
    for _ in range(1000):
        if sink.deliver(Tick(30)):
            break
        time.sleep(0.01)
    assert (target.ticks, target.asked) == ([30], 2)


def test_a_target_by_another_way_does_not_wait_for_the_old_one() -> None:
    old, new = SilentTarget(held=10), Target(held=10)
    sink = silent(old)
    sink.reopen(new)
    assert sink.deliver(Tick(30))
    assert new.ticks == [30]
    old.answers.set()


@pytest.mark.parametrize(("rows", "ticks"), [(1, [20, 30, 40, 50]), (10**6, [20, 50])])
def test_much_to_write_keeps_nobody_waiting_and_is_no_silence(rows: int, ticks: list[int], monkeypatch) -> None:
    """What came meanwhile follows tick by tick, unless there is much in each."""
    monkeypatch.setattr("tailrace.ticks.deliver._SILENT_SECONDS", 0.0)
    monkeypatch.setattr(Always, "rows", rows)
    target = LargeTarget()
    sink = silent(target)
    assert sink.needs == 20  # before its tick a snapshot needs nothing
    woken = threading.Event()
    for t in (30, 40):
        assert not sink.deliver(Tick(t))
        sink.await_answer(woken.set)  # would complain of silence
    assert not sink.is_silent
    target.answers.set()
    assert woken.wait(60)
    assert sink.deliver(Tick(50))
    assert (target.ticks, sink.frontier, sink.needs) == (ticks, 50, 50)
    assert target.rows == {rows}  # by which a sink divides them


def test_a_change_that_is_being_written_needs_the_tick_it_began_at() -> None:
    sink = silent(LargeTarget(held=10))
    assert sink.needs == 10


def test_a_target_that_is_written_to_now_and_then_may_take_as_long(monkeypatch) -> None:
    monkeypatch.setattr("tailrace.ticks.deliver._SILENT_SECONDS", 0.0)
    sink = silent(SilentTarget(held=10))
    assert sink.is_silent
    sink.interval = 3600.0
    assert not sink.is_silent


def test_rows_are_under_way_from_the_offer_to_the_answer() -> None:
    target = LargeTarget(held=10)
    sink = silent(target)
    assert sink.rows_under_way == 1
    answered(target, sink)
    assert sink.deliver(Tick(30))
    assert (sink.rows_under_way, sink.counts.messages) == (0, 2)


@dataclass
class InterruptedTarget(LargeTarget):
    """One that keeps everybody waiting until somebody cuts the line."""

    def interrupt(self) -> None:
        self.answers.set()


def test_a_target_that_keeps_us_waiting_is_interrupted_when_jobs_are_not_what_is_waited_for() -> None:
    target = InterruptedTarget(held=10)
    sink = delivery(target, *range(10, 60, 10))
    sink.beside, sink.jobs = True, CancelledJobs(target, ends=False)  # type: ignore[assignment]
    assert not sink.deliver(Tick(20))
    sink.close()
    assert target.closed


@pytest.mark.parametrize("ends", [True, False])
def test_what_is_not_wanted_any_more_is_cancelled_and_its_sink_closed_when_it_is_over(ends: bool, monkeypatch) -> None:
    monkeypatch.setattr("tailrace.ticks.deliver._END_SECONDS", 0.3)
    target = LargeTarget(held=10)
    sink = delivery(target, *range(10, 60, 10))
    sink.beside, sink.jobs = True, CancelledJobs(target, ends=ends)  # type: ignore[assignment]
    assert not sink.deliver(Tick(20))
    assert sink.is_under_way
    sink.close()
    assert target.closed == ends
    target.answers.set()
    for _ in range(1000):
        if target.closed:
            break
        time.sleep(0.01)
    assert target.closed
    assert not sink.is_under_way
