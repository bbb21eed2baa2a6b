"""Work that takes its time, done beside the tick loop: a target that does not answer, or a snapshot that is large,
holds up nobody else.

Law: one piece of work of a sink at a time, and its outcome is taken by the loop's thread alone.  So nothing that the
loop decides by changes behind its back, and a sink is never used by two threads at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tailrace.state.store import Store

T = TypeVar("T")

_INSIST_SECONDS = 0.2  # a job may begin just after it was cancelled


@dataclass(kw_only=True, eq=False, slots=True)
class Errand(Generic[T]):
    """`work` in a thread of its own; `then` is for the loop's thread, with what it gave.

    `jobs`: those of Spark that it runs.  `is_long`: by its size, and whoever waits for it has no reason to complain.
    """

    work: Callable[[], T]
    then: Callable[[T], None]
    jobs: Jobs | None = None
    is_long: bool = False
    _outcome: Future[T] = field(default_factory=Future)
    _begun: float = field(default_factory=time.monotonic)
    _is_awaited: bool = False

    @classmethod
    def begun(cls, work: Callable[[], T]) -> Errand[T]:
        """For somebody who will come to say what then."""
        errand = cls(work=work, then=lambda _: None)
        errand.begin()
        return errand

    def begin(self) -> None:
        # A thread of the pool kind would keep a process alive until its target answers.
        threading.Thread(target=self._run, name="errand", daemon=True).start()

    def _run(self) -> None:
        try:
            result = self.work()
        except BaseException as error:  # noqa: BLE001  it belongs to the loop, which takes it
            self._outcome.set_exception(error)
        else:
            self._outcome.set_result(result)

    def is_over(self, patience: float) -> bool:
        """Waits for it for at most so many seconds."""
        if not self._outcome.done() and patience > 0:
            ended = threading.Event()
            self._outcome.add_done_callback(lambda _: ended.set())
            ended.wait(patience)
        return self._outcome.done()

    def finish(self) -> None:
        """Once it is over.  Raises what went wrong."""
        self.then(self._outcome.result())

    def give_up(self, seconds: float, interrupt: Callable[[], None], then: Callable[[], None]) -> None:
        """Nobody wants its outcome any more.  Its jobs are cancelled, and what is left of it is interrupted.

        `then` is called when it is over: before this returns, if that is within so many seconds.
        """
        deadline = time.monotonic() + seconds
        while self.jobs is not None and not self._outcome.done() and time.monotonic() < deadline:
            self.jobs.cancel()
            if not self.is_over(_INSIST_SECONDS):
                interrupt()
        self._outcome.add_done_callback(lambda _: then())

    @property
    def seconds(self) -> float:
        """Since it was begun."""
        return time.monotonic() - self._begun

    def tell(self, wake: Callable[[], None]) -> None:
        """Has `wake` called when it is over, once, by whatever thread."""
        if not self._is_awaited:
            self._is_awaited = True
            self._outcome.add_done_callback(lambda _: wake())


@dataclass(frozen=True, kw_only=True, slots=True)
class Jobs:
    """Spark jobs beside the loop's.

    `name`: of their pool, so that they share the machine with the loop's and do not have these wait; and of the group
    that they are cancelled by.
    """

    store: Store
    name: str

    def apart(self, work: Callable[[], T]) -> Callable[[], T]:
        """`work` for another thread.  What its texts mention stays until it is done, however far the loop has gone."""
        held = self.store.held()  # here, by the loop's thread
        context = self.store.views.large.sparkContext

        def run() -> T:
            with held:
                context.setLocalProperty("spark.scheduler.pool", self.name)
                context.setJobGroup(self.name, self.name, interruptOnCancel=True)
                return work()

        return run

    def cancel(self) -> None:
        self.store.views.large.sparkContext.cancelJobGroup(self.name)
