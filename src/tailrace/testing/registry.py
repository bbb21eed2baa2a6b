"""A real schema registry on this machine: Apicurio with Confluent's protocol, in memory, on a free port."""

import time
import urllib.request
from types import TracebackType
from typing import Self

from tailrace.jars import registry_jar
from tailrace.java import java
from tailrace.testing.ports import free_port, is_listening
from tailrace.testing.process import Child, ScratchDirectory

_START_SECONDS = 120.0


class RegistryFailed(RuntimeError):
    """The registry did not start; the message ends with its log."""


class Registry:
    """A schema registry of our own.

    It forgets everything when it ends, and ends with the process that started it.
    """

    def __init__(self, *, heap: str = "384m") -> None:
        self._heap = heap
        self._scratch: ScratchDirectory | None = None
        self._child: Child | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """The address clients of the Confluent protocol are given."""
        if not self._port:
            raise RegistryFailed("the registry has not been started")
        return f"http://127.0.0.1:{self._port}/apis/ccompat/v7"

    def start(self) -> Self:
        """Start, and return when it answers."""
        if self._child is not None:
            return self
        self._scratch = ScratchDirectory("tailrace-registry-")
        self._port = self._port or free_port()
        try:
            self._launch(self._scratch)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End the registry.  A later `start` makes a new one elsewhere."""
        self.kill()
        self._port = 0

    def kill(self) -> None:
        """kill -9.  Its contents are gone; its address stays for `start`."""
        if self._child is not None:
            self._child.kill()
            self._child = None
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _launch(self, scratch: ScratchDirectory) -> None:
        options = [f"-Xmx{self._heap}", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        options += [f"-Djava.io.tmpdir={scratch.path}", "-Dquarkus.http.host=127.0.0.1"]
        options += [f"-Dquarkus.http.port={self._port}"]
        command = [str(java()), *options, "-jar", str(registry_jar())]
        self._child = Child(command, log=scratch.path / "registry.log", directory=scratch.path)
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if not self._child.is_running() or time.monotonic() > deadline:
                raise RegistryFailed(f"the registry did not start:\n{self._child.output()}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        if not is_listening(self._port):
            return False
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False
