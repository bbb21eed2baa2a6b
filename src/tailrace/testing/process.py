"""Child processes and temporary directories that end with their parent, even when that is killed with -9.

Each is guarded by a `supervisor.py` of its own, which holds a pipe to us and tidies up when the pipe closes.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

_SUPERVISOR = (sys.executable, "-I", "-S", str(Path(__file__).with_name("supervisor.py")))


class Child:
    """A running command in a process group of its own.  Its output goes to `log`, appended.

    `pid` is the command's own process.  Leaving the context kills the group.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        log: Path,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> None:
        self.command = [str(word) for word in command]
        self.log = log
        with log.open("ab") as output:
            self._supervisor = subprocess.Popen(
                [*_SUPERVISOR, "--", *self.command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env=None if environment is None else {**os.environ, **environment},
                cwd=directory,
                start_new_session=True,
            )
        assert self._supervisor.stdout is not None
        with self._supervisor.stdout as answer:
            line = answer.readline()
        if not line:
            self.close()
            raise OSError(f"could not start {self.command[0]}: {self.output()}")
        self.pid = int(line)

    def is_running(self) -> bool:
        """Whether the command has not ended yet."""
        return self._supervisor.poll() is None

    def wait(self, timeout: float | None = None) -> int:
        """The command's exit code, 128 + n after signal n.  Raises subprocess.TimeoutExpired."""
        return self._supervisor.wait(timeout)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the command's own process, not to its children.

        Nothing happens if it has ended.
        """
        if self.is_running():
            os.kill(self.pid, number)

    def terminate(self, timeout: float = 30) -> int:
        """Ask the command to end (SIGTERM), kill its group if it takes too long, return the exit code."""
        self.signal(signal.SIGTERM)
        try:
            self.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
        return self.close()

    def kill(self) -> None:
        """kill -9 the whole group, and wait until it is gone.  Works on a stopped process too."""
        if self.is_running():
            os.killpg(self.pid, signal.SIGKILL)
        self.close()

    def close(self) -> int:
        """Kill the group if it still runs, let go of the supervisor, and return the exit code."""
        assert self._supervisor.stdin is not None
        self._supervisor.stdin.close()
        return self._supervisor.wait()

    def output(self, lines: int = 40) -> str:
        """The last lines of the log, for an error message."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


class ScratchDirectory:
    """A temporary directory that is removed by `close`, and also when we die without it."""

    def __init__(self, prefix: str = "tailrace-") -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._supervisor = subprocess.Popen(
            [*_SUPERVISOR, "--remove", str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def close(self) -> None:
        """Remove the directory with all it holds."""
        assert self._supervisor.stdin is not None
        self._supervisor.stdin.close()
        self._supervisor.wait()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
