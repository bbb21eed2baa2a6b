"""The engine as a process of its own, the way a user runs it: started, asked, killed with -9, started again.

    engine = EngineProcess(tmp_path / "data", tmp_path / "engine.log", "--master", "local[2]")
    engine.start(TAILRACE_CRASH="kafka.sent_not_committed:3")
    with engine.connect() as connection:
        connection.execute("CREATE TABLE …")
    engine.wait_until_dead()
    engine.start()

It ends with the process that started it, however that ends.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import psycopg

from tailrace.testing.ports import free_port
from tailrace.testing.process import Child

_START_SECONDS = 180.0
_PATIENCE_SECONDS = 180.0


class EngineProcess:
    """`tailrace serve` on a free port of the loopback interface.  `options` are added to its command line."""

    def __init__(self, data_dir: Path, log: Path, *options: str) -> None:
        self.port = free_port()
        self.data_dir = data_dir
        self.log = log
        self._options = options
        self._child: Child | None = None

    @property
    def dsn(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=materialize dbname=materialize"

    @property
    def pid(self) -> int:
        return self._running.pid

    def is_running(self) -> bool:
        return self._child is not None and self._child.is_running()

    def start(self, **environment: str) -> None:
        """Returns at once; `connect` waits until it answers.  `environment` is added to ours, for this start alone."""
        self.kill()
        command = [sys.executable, "-m", "tailrace", "serve", "--data-dir", str(self.data_dir)]
        command += ["--listen", f"127.0.0.1:{self.port}", "--no-warm-up", *self._options]
        self._child = Child(command, log=self.log, environment=environment, directory=self.log.parent)

    def connect(self) -> psycopg.Connection:
        """A connection in autocommit mode, as soon as the engine answers.  RuntimeError if it has ended."""
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                return psycopg.connect(self.dsn, autocommit=True)
            except psycopg.OperationalError:
                if not self.is_running() or time.monotonic() > deadline:
                    raise RuntimeError(f"the engine did not start:\n{self.output()}") from None
                time.sleep(0.05)

    def kill(self) -> None:
        """kill -9."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def stop(self, seconds: float = 60.0) -> int:
        """SIGTERM, then -9 if it has not ended after `seconds`.  Returns the exit code, 128 + n after signal n."""
        child, self._child = self._child, None
        return 0 if child is None else child.terminate(seconds)

    def pause(self) -> None:
        """SIGSTOP to the engine and everything it has started: to the world it is dead, or very slow."""
        self._signal_all(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT after `pause`, or after it stopped itself at a point named by TAILRACE_PAUSE."""
        self._signal_all(signal.SIGCONT)

    def wait_until_paused(self, seconds: float = _PATIENCE_SECONDS) -> None:
        """Until it has stopped itself at a point named by TAILRACE_PAUSE."""
        process = psutil.Process(self.pid)
        self._wait(lambda: process.status() == psutil.STATUS_STOPPED, seconds, "stopped itself")

    def wait_until_dead(self, seconds: float = _PATIENCE_SECONDS) -> int:
        """Until it has ended by itself, or at a point named by TAILRACE_CRASH.  Returns the exit code."""
        try:
            self._running.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"the engine did not end within {seconds:.0f} s:\n{self.output()}") from None
        return self._running.close()

    def output(self) -> str:
        """The end of what it has said, for an error message."""
        return self.log.read_text(errors="replace")[-5000:] if self.log.exists() else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def _running(self) -> Child:
        assert self._child is not None, "the engine has not been started"
        return self._child

    def _wait(self, holds: Callable[[], bool], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            if not self.is_running() or time.monotonic() > deadline:
                raise TimeoutError(f"the engine has not {what}:\n{self.output()}")
            time.sleep(0.02)

    def _signal_all(self, number: signal.Signals) -> None:
        """To Spark's JVM and Python workers too: they have process groups of their own."""
        engine = psutil.Process(self.pid)
        for process in (engine, *engine.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)
