"""One job under test, in its own process tree.

The job's program writes lines `@bench <mark>` to its output: `engine_up` when its engine can take a query,
`job_running` when the query has been accepted and runs.  The moments of those lines are the marks.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from benchmarks.measure.usage import UsageSampler

_GRACE_SECONDS = 10


class JobFailed(Exception):
    """The process under test ended by itself; the message says where its log is."""


class Job:
    def __init__(self, argv: Sequence[str], env: Mapping[str, str], folder: Path) -> None:
        self.marks: dict[str, float] = {}
        self._folder = folder
        self._log = (folder / "job.log").open("w")
        self.started = time.monotonic()
        self._process = subprocess.Popen(
            argv,
            env={**os.environ, **env},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self.usage = UsageSampler(self._process.pid)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def check(self) -> None:
        if self._process.poll() is not None:
            raise JobFailed(f"the job ended with code {self._process.returncode}: {self._folder}/job.log")

    def wait_for(self, mark: str, timeout: float) -> float:
        deadline = time.monotonic() + timeout
        while mark not in self.marks:
            self.check()
            if time.monotonic() > deadline:
                raise JobFailed(f"no mark {mark!r} within {timeout} s: {self._folder}/job.log")
            time.sleep(0.01)
        return self.marks[mark]

    def stop(self) -> None:
        """End the tree that this job started, and nothing else."""
        self.usage.stop()
        try:
            root = psutil.Process(self._process.pid)
            family = [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            family = []
        for process in family:
            _signal(process, "terminate")
        _, alive = psutil.wait_procs(family, timeout=_GRACE_SECONDS)
        for process in alive:
            _signal(process, "kill")
        self._process.wait()
        self._reader.join(timeout=5)
        self._log.close()

    def _read(self) -> None:
        for line in self._process.stdout:
            if line.startswith("@bench "):
                self.marks.setdefault(line.split()[1], time.monotonic())
            self._log.write(line)
            self._log.flush()


def _signal(process: psutil.Process, how: str) -> None:
    try:
        getattr(process, how)()
    except psutil.NoSuchProcess:
        pass
