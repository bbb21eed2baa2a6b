"""What a run uses, sampled four times a second: memory and CPU of the job's process tree, CPU of the broker,
and CPU of everybody else on the machine, which tells whether a measurement was disturbed.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from dataclasses import dataclass

import psutil

from benchmarks.settings import BOOTSTRAP

_INTERVAL = 0.25


@dataclass(frozen=True, slots=True)
class _Sample:
    moment: float
    job_rss: int
    job_cpu: float
    broker_cpu: float
    harness_cpu: float
    machine_cpu: float


class UsageSampler:
    """Starts with construction.  Processes that have ended keep counting with their last known CPU time."""

    def __init__(self, pid: int) -> None:
        self._job = psutil.Process(pid)
        self._broker = _find_broker()
        self._harness = psutil.Process()
        self._cpu_of: dict[tuple[int, float], float] = {}
        self._samples: list[_Sample] = []
        self._sample()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def window(self, since: float, until: float) -> dict[str, float]:
        """Peak memory up to `until` and CPU seconds between the two moments."""
        first, last = self._at(since), self._at(until)
        job = last.job_cpu - first.job_cpu
        broker = last.broker_cpu - first.broker_cpu
        harness = last.harness_cpu - first.harness_cpu
        machine = last.machine_cpu - first.machine_cpu
        return {
            "peak_rss_mib": max(s.job_rss for s in self._samples if s.moment <= last.moment) / 2**20,
            "cpu_seconds": job,
            "broker_cpu_seconds": broker,
            "other_cpu_seconds": max(0.0, machine - job - broker - harness),
        }

    def _at(self, moment: float) -> _Sample:
        """The first sample not before `moment`."""
        place = bisect_right(self._samples, moment, key=lambda sample: sample.moment)
        return self._samples[min(place, len(self._samples) - 1)]

    def _run(self) -> None:
        while not self._stop.wait(_INTERVAL):
            self._sample()

    def _sample(self) -> None:
        rss = 0
        for process in self._tree():
            try:
                with process.oneshot():
                    rss += process.memory_info().rss
                    self._cpu_of[process.pid, process.create_time()] = _cpu(process)
            except psutil.NoSuchProcess:
                continue
        machine = psutil.cpu_times()
        self._samples.append(
            _Sample(
                moment=time.monotonic(),
                job_rss=rss,
                job_cpu=sum(self._cpu_of.values()),
                broker_cpu=_cpu(self._broker),
                harness_cpu=_cpu(self._harness),
                machine_cpu=machine.user + machine.nice + machine.system + machine.irq + machine.softirq,
            )
        )

    def _tree(self) -> list[psutil.Process]:
        try:
            return [self._job, *self._job.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []


def _cpu(process: psutil.Process) -> float:
    used = process.cpu_times()
    return used.user + used.system


def _find_broker() -> psutil.Process:
    """The process that listens on the bootstrap port: other brokers may run on this machine."""
    port = int(BOOTSTRAP.rpartition(":")[2])
    for connection in psutil.net_connections("tcp"):
        if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port and connection.pid:
            return psutil.Process(connection.pid)
    raise RuntimeError(f"no process on this machine listens on port {port}")
