"""The engine as a process of its own, the way a user runs it: started, asked, killed with -9, started again."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import psycopg

from tailrace.testing.ports import free_port
from tailrace.testing.process import Child

_START_SECONDS = 120.0


class ServerProcess:
    """`tailrace serve` on a free port of the loopback interface."""

    def __init__(self, data_dir: Path, log: Path, *options: str) -> None:
        self.port = free_port()
        self._data_dir = data_dir
        self._log = log
        self._options = options
        self._child: Child | None = None

    @property
    def dsn(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=materialize dbname=materialize"

    @property
    def pid(self) -> int:
        assert self._child is not None
        return self._child.pid

    def is_running(self) -> bool:
        return self._child is not None and self._child.is_running()

    def start(self) -> None:
        """Returns at once; `connect` waits until it answers."""
        command = [sys.executable, "-m", "tailrace", "serve", "--data-dir", str(self._data_dir)]
        command += ["--listen", f"127.0.0.1:{self.port}", *self._options]
        self._child = Child(command, log=self._log, directory=self._log.parent)

    def connect(self) -> psycopg.Connection:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                return psycopg.connect(self.dsn, autocommit=True)
            except psycopg.OperationalError:
                if not self.is_running() or time.monotonic() > deadline:
                    raise RuntimeError(f"the engine did not start:\n{self._log.read_text()[-3000:]}") from None
                time.sleep(0.05)

    def kill(self) -> None:
        """kill -9."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def stop(self) -> None:
        if self._child is not None:
            self._child.terminate()
            self._child = None
