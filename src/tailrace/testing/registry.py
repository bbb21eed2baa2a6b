"""A real schema registry on this machine: Apicurio with Confluent's protocol, in memory."""

import urllib.request
from pathlib import Path

from tailrace.jars import registry_jar
from tailrace.java import java
from tailrace.testing.ports import is_listening
from tailrace.testing.server import Server


class Registry(Server):
    """It forgets everything when it ends, however it ends."""

    name = "registry"

    def __init__(self, *, heap: str = "384m") -> None:
        super().__init__()
        self._heap = heap

    @property
    def url(self) -> str:
        """The address clients of the Confluent protocol are given."""
        return f"http://127.0.0.1:{self.port}/apis/ccompat/v7"

    def _command(self, scratch: Path) -> list[str]:
        options = [f"-Xmx{self._heap}", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        options += [f"-Djava.io.tmpdir={scratch}", "-Dquarkus.http.host=127.0.0.1"]
        options += [f"-Dquarkus.http.port={self.port}"]
        return [str(java()), *options, "-jar", str(registry_jar())]

    def _answers(self) -> bool:
        if not is_listening(self.port):
            return False
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False
