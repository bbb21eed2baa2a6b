"""Work that waits for somebody outside, done beside the tick loop: a target that does not answer holds up nobody else.

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

T = TypeVar("T")


@dataclass(kw_only=True, eq=False, slots=True)
class Errand(Generic[T]):
    """`work` in a thread of its own; `then` is for the loop's thread, with what it gave."""

    work: Callable[[], T]
    then: Callable[[T], None]
    _outcome: Future[T] = field(default_factory=Future)
    _begun: float = field(default_factory=time.monotonic)
    _is_awaited: bool = False

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

    @property
    def seconds(self) -> float:
        """Since it was begun."""
        return time.monotonic() - self._begun

    def tell(self, wake: Callable[[], None]) -> None:
        """Has `wake` called when it is over, once, by whatever thread."""
        if not self._is_awaited:
            self._is_awaited = True
            self._outcome.add_done_callback(lambda _: wake())
