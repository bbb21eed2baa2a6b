"""A lane: the views and sinks of one CLUSTER, brought to a tick by a thread of their own.

Law: a lane does one step at a time.  The tick loop begins it and takes its end; between two steps the lane's objects
are the loop's alone, as if there were no lanes.  So a lane that is slow falls behind by itself: its objects keep their
frontiers, and the next step brings them over the fused change (docs/design/013).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from pyspark import SparkContext

from tailrace.ivm.dataflow import Dataflow
from tailrace.state.trace import Frozen
from tailrace.types.core import BEGINNING, Tick

FIRST = "u1"
"""The lane of the cluster that is always there, and of what is in none."""

_INSIST_SECONDS = 0.2


def owner_of(lane: str) -> str:
    """Of a lane's traces.  Those of the first one have the names that they had before there were lanes."""
    return "" if lane == FIRST else lane


PATIENCE_SECONDS = 0.5
"""So long the loop waits for a lane, unless the last step took longer than that."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Before:
    """What a step began with: the lane's traces, and how far views of other lanes had come that it reads."""

    traces: Mapping[str, Frozen] = field(default_factory=dict)
    elsewhere: Mapping[str, Tick] = field(default_factory=dict)


class Lane:
    """`name`: the id of the cluster; `t`: the tick of the last step that ended."""

    def __init__(self, name: str, dataflow: Dataflow, context: SparkContext) -> None:
        self.name = name
        self.dataflow = dataflow
        self.t: Tick = BEGINNING
        self.before = Before()  # the last step
        self.is_hurried = False  # the step ends at the next chance; what is left of it comes with the next one
        self._context = context
        self._worker: ThreadPoolExecutor | None = None
        self._step: Future[None] | None = None
        self._held = ExitStack()
        self._until: Tick = BEGINNING
        self._began = 0.0
        self._is_slow = False

    @property
    def is_busy(self) -> bool:
        """A step is under way, or its end has not been taken."""
        return self._step is not None

    def begin(
        self, t: Tick, work: Callable[[], None], held: ExitStack, before: Before, wake: Callable[[], None]
    ) -> None:
        """Has `work` done; then `wake` is called, by whatever thread.  `held` is closed when the end is taken."""
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix=f"lane-{self.name}")
            self._worker.submit(self._prepare)
        self._until, self._held, self.before = t, held, before
        self._began = time.monotonic()
        self.is_hurried = False
        self._step = self._worker.submit(work)
        self._step.add_done_callback(lambda _: wake())

    def _prepare(self) -> None:
        """Jobs of one lane wait for each other, not for those of another one, nor for queries."""
        self._context.setLocalProperty("spark.scheduler.pool", f"ticks of {self.name}")
        self._context.setJobGroup(self._jobs, f"cluster {self.name}", interruptOnCancel=True)

    @property
    def _jobs(self) -> str:
        return f"lane-{self.name}-{id(self)}"

    def await_end(self, deadline: float) -> None:
        """Waits for the step until then, but not if the last one was slow, or this one is."""
        if self._step is None:
            return
        if not self._is_slow:
            wait([self._step], max(deadline - time.monotonic(), 0.0))
        self._is_slow |= not self._step.done()

    def take_end(self) -> None:
        """If the step is over.  Raises what can only be a bug: objects keep their failures to themselves."""
        if self._step is None or not self._step.done():
            return
        ended, self._step = self._step, None
        self._held.close()
        self.before = replace(self.before, traces={})
        self._is_slow = time.monotonic() - self._began > PATIENCE_SECONDS and not self.is_hurried
        ended.result()
        if not self.is_hurried:
            self.t = self._until

    def hurry(self) -> None:
        """Ends the step: its Spark jobs are cancelled, and nothing new is begun."""
        self.is_hurried = True
        self._context.cancelJobGroup(self._jobs)

    def join(self) -> None:
        """Waits for the step, however long it takes, and takes its end."""
        if self._step is not None:
            wait([self._step])
            self.take_end()

    def close(self) -> None:
        """Ends the step for good, and insists: a job may begin just after its lane was told to end."""
        while self._step is not None:
            self.hurry()
            wait([self._step], _INSIST_SECONDS)
            self.take_end()
        if self._worker is not None:
            self._worker.shutdown()
            self._worker = None
