"""What an engine uses, seen from outside while it runs: memory, files, live objects of its JVM, and time for ticks."""

from __future__ import annotations

import math
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import psycopg

from tailrace.java import java_home

_MEGABYTE = 1 << 20
_VIEW = "org.apache.spark.sql.catalyst.catalog.TemporaryViewRelation"
_NOT_SEEN = float("nan")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """At `second`.  `ticks`: seconds that each tick since the sample before took; `plans`: in how many of them Spark
    planned; `jobs`: Spark jobs of each.

    `heap` (live objects, after a collection) and `views` (Spark's temporary ones) are looked at now and then only.
    """

    second: float
    python: float
    jvm: float
    files: int
    ticks: Sequence[float]
    plans: Sequence[float]
    jobs: Sequence[int]
    heap: float = _NOT_SEEN
    views: float = _NOT_SEEN


@dataclass(kw_only=True, slots=True)
class Watcher:
    """Takes samples of one engine.  Memory is in megabytes.  The JVM's live objects by class are left in `notes`."""

    pid: int
    notes: Path
    data_dir: Path
    connection: psycopg.Connection
    samples: list[Sample] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)
    _last_tick: int = -1

    def take(self, *, with_heap: bool) -> None:
        python, jvm = self._memory()
        ticks = self._ticks()
        plans = self._plans()
        heap, views = self._heap() if with_heap else (_NOT_SEEN, _NOT_SEEN)
        sample = Sample(
            second=time.monotonic() - self._began,
            python=python,
            jvm=jvm,
            files=sum(1 for each in self.data_dir.rglob("*") if each.is_file()),
            ticks=[seconds for _, _, seconds in ticks],
            plans=[plans[tick] for tick, _, _ in ticks if tick in plans],
            jobs=[jobs for _, jobs, _ in ticks],
            heap=heap,
            views=views,
        )
        self.samples.append(sample)

    def _memory(self) -> tuple[float, float]:
        """Resident, of the process tree: its Python processes, and its JVM."""
        python = jvm = 0.0
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                resident = process.memory_info().rss / _MEGABYTE
                if process.name() == "java":
                    jvm += resident
                else:
                    python += resident
        return python, jvm

    def _processes(self) -> Iterator[psutil.Process]:
        engine = psutil.Process(self.pid)
        yield from (engine, *engine.children(recursive=True))

    def _ticks(self) -> list[tuple[int, int, float]]:
        """Ticks since the last time."""
        found = self.connection.execute(b"SELECT tick::text, jobs, seconds FROM mz_internal.mz_ticks").fetchall()
        ticks = [(int(tick), jobs, seconds) for tick, jobs, seconds in found if int(tick) > self._last_tick]
        self._last_tick = max((tick for tick, _, _ in ticks), default=self._last_tick)
        return ticks

    def _plans(self) -> dict[int, float]:
        """By tick, the seconds in which Spark planned its queries."""
        found = self.connection.execute(
            b"SELECT tick::text, planning_seconds FROM mz_internal.mz_tick_costs"
        ).fetchall()
        plans: dict[int, float] = {}
        for tick, seconds in found:
            plans[int(tick)] = plans.get(int(tick), 0.0) + seconds
        return plans

    def _heap(self) -> tuple[float, float]:
        """Live objects of the JVM, and how many temporary views are among them.  Makes it collect garbage."""
        jcmd = java_home() / "bin" / "jcmd"
        if not jcmd.exists():  # a runtime without the tools of a JDK
            return _NOT_SEEN, _NOT_SEEN
        [java] = [process for process in self._processes() if process.name() == "java"]
        command = [str(jcmd), str(java.pid), "GC.class_histogram"]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        (self.notes / f"heap-{len(self.samples):02}.txt").write_text(answer)
        total = re.search(r"^Total\s+\d+\s+(\d+)", answer, re.MULTILINE)
        views = re.search(rf"^\s*\d+:\s+(\d+)\s+\d+\s+{re.escape(_VIEW)}\b", answer, re.MULTILINE)
        assert total, answer
        return int(total[1]) / _MEGABYTE, float(views[1]) if views else 0.0


def table(samples: Sequence[Sample]) -> str:
    lines = ["  second  python MB  JVM MB  heap MB  views  files  ticks  median ms  max ms  plan ms  jobs/tick"]
    for each in samples:
        median, longest = (1000 * f(each.ticks) if each.ticks else _NOT_SEEN for f in (statistics.median, max))
        plan = 1000 * statistics.median(each.plans) if each.plans else _NOT_SEEN
        jobs = sum(each.jobs) / len(each.jobs) if each.jobs else _NOT_SEEN
        lines.append(
            f"  {each.second:6.0f}  {each.python:9.0f}  {each.jvm:6.0f}  {each.heap:7.0f}  {each.views:5.0f}"
            f"  {each.files:5}  {len(each.ticks):5}  {median:9.0f}  {longest:6.0f}  {plan:7.0f}  {jobs:9.1f}"
        )
    return "\n".join(lines).replace("nan", "  -") + "\n"


@dataclass(frozen=True, slots=True)
class Growth:
    """A quantity in the first third after the warm-up, and in the last third."""

    name: str
    before: float
    after: float
    allowed: float

    @property
    def is_too_much(self) -> bool:
        return self.after > self.before * self.allowed

    def __str__(self) -> str:
        factor = self.after / self.before if self.before else float("inf")
        return f"{self.name} {self.before:.4g} → {self.after:.4g}, a factor of {factor:.2f} of {self.allowed} allowed"


def growth(
    name: str,
    samples: Sequence[Sample],
    values: Callable[[Sample], Sequence[float]],
    allowed: float,
    typical: Callable[[list[float]], float] = statistics.median,
) -> Growth | None:
    """Of what is typical; the first fifth is warm-up.  None if it could not be seen."""
    rest = samples[len(samples) // 5 :]
    third = len(rest) // 3
    before, after = (
        [value for each in part for value in values(each) if not math.isnan(value)]
        for part in (rest[:third], rest[-third:])
    )
    if not before or not after:
        return None
    return Growth(name, typical(before), typical(after), allowed)
