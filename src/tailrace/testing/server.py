"""A server of our own: a child process with a free port and a scratch directory, which go when it goes."""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from tailrace.testing.ports import free_port
from tailrace.testing.process import Child, ScratchDirectory

_START_SECONDS = 120.0


class ServerFailed(RuntimeError):
    """A server did not start, and the message ends with its log; or it was used before it was started."""


class Server(ABC):
    """`kill` and `start` again keep address and directory; `stop` gives both up."""

    name: ClassVar[str]

    def __init__(self) -> None:
        self._scratch: ScratchDirectory | None = None
        self._child: Child | None = None
        self._port = 0

    @property
    def port(self) -> int:
        if not self._port:
            raise ServerFailed(f"{self.name} has not been started")
        return self._port

    @property
    def pid(self) -> int:
        """Of the running process."""
        assert self._child is not None, f"{self.name} does not run"
        return self._child.pid

    def start(self) -> Self:
        """Start, and return when it answers."""
        if self._child is not None:
            return self
        try:
            if self._scratch is None:
                self._scratch = ScratchDirectory(f"tailrace-{self.name.lower()}-")
                self._port = free_port()
                self._prepare(self._scratch.path)
            self._launch(self._scratch.path)
        except BaseException:
            self.stop()
            raise
        return self

    def kill(self) -> None:
        """kill -9."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def stop(self) -> None:
        """End the server and remove its directory.  A later `start` makes a new one elsewhere."""
        self.kill()
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None
        self._port = 0

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @abstractmethod
    def _command(self, scratch: Path) -> Sequence[str | Path]: ...

    @abstractmethod
    def _answers(self) -> bool: ...

    def _prepare(self, scratch: Path) -> None:
        """What is done once, before the first start."""
        return

    def _launch(self, scratch: Path) -> None:
        self._child = Child(self._command(scratch), log=scratch / "server.log", directory=scratch)
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if not self._child.is_running() or time.monotonic() > deadline:
                raise ServerFailed(f"{self.name} did not start:\n{self._child.output()}")
            time.sleep(0.05)
