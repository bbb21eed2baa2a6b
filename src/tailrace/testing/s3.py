"""A real S3 server on this machine: rclone over a directory, with a key of its own."""

import sys
import time
from pathlib import Path

from tailrace.testing.ports import is_listening
from tailrace.testing.server import Server, ServerFailed

_CACHE_SECONDS = 0.1  # that a directory is remembered; with none rclone does nothing but forget
ACCESS_KEY, SECRET_KEY = "of-the-tests", "of-the-test-server"


class S3(Server):
    """What was put survives `kill`."""

    name = "S3"

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def make_bucket(self, name: str) -> str:
        (self._buckets / name).mkdir()
        self.settle()
        return name

    def settle(self) -> None:
        """Waits until the server sees what was done to its files behind its back: it may have looked a moment ago."""
        time.sleep(2 * _CACHE_SECONDS)

    def objects(self, bucket: str) -> dict[str, Path]:
        """The objects that are there, by their keys, as the files they are kept in."""
        root = self._buckets / bucket
        return {str(path.relative_to(root)): path for path in sorted(root.rglob("*")) if path.is_file()}

    @property
    def _buckets(self) -> Path:
        assert self._scratch is not None, "the S3 server has not been started"
        return self._scratch.path / "buckets"

    def _prepare(self, scratch: Path) -> None:
        (scratch / "buckets").mkdir()
        # Not on the command line: others can read that.
        (scratch / "rclone.sh").write_text(f"RCLONE_AUTH_KEY='\"{ACCESS_KEY},{SECRET_KEY}\"' exec \"$@\"\n")

    def _command(self, scratch: Path) -> list[str | Path]:
        command: list[str | Path] = ["sh", scratch / "rclone.sh", _installed(), "serve", "s3", scratch / "buckets"]
        command += ["--addr", f"127.0.0.1:{self.port}", "--dir-cache-time", f"{_CACHE_SECONDS}s"]
        return [*command, "--config", scratch / "rclone.conf", "--cache-dir", scratch / "cache"]

    def _answers(self) -> bool:
        return is_listening(self.port)


def _installed() -> Path:
    """The package has no Python module, only its program, beside the interpreter."""
    for directory in (Path(sys.executable).parent, Path(sys.prefix) / "bin"):
        if (directory / "rclone").exists():
            return directory / "rclone"
    raise ServerFailed("rclone is missing: `make setup` installs it")
