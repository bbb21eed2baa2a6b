"""Child processes and scratch directories go with their parent, however it goes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tailrace.testing.process import Child, ScratchDirectory

PARENT = """
import sys, time
from pathlib import Path
from tailrace.testing.process import Child, ScratchDirectory
scratch = ScratchDirectory()
(scratch.path / "data").write_text("x")
shell = "sleep 1000 & echo $! > grandchild; exec sleep 1000"
child = Child(["sh", "-c", shell], log=scratch.path / "log", directory=scratch.path)
while not (scratch.path / "grandchild").exists() or not (scratch.path / "grandchild").read_text().strip():
    time.sleep(0.01)
print(scratch.path, child.pid, (scratch.path / "grandchild").read_text().strip(), flush=True)
time.sleep(1000)
"""


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something that must come; a minute is no claim, only the end of hope."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """It may go at any moment, also between two questions about it."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_parent_leaves_neither_process_nor_directory(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        directory, child, grandchild = parent.stdout.readline().split()
        assert Path(directory).is_dir()
        assert is_alive(int(child))
        parent.send_signal(number)
        parent.wait()
    wait_until(lambda: not is_alive(int(child)) and not is_alive(int(grandchild)))
    wait_until(lambda: not Path(directory).exists())


def test_a_killed_supervisor_takes_its_command_along(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux signals a child when its parent dies")
    child = Child(["sleep", "1000"], log=tmp_path / "log")
    os.kill(psutil.Process(child.pid).ppid(), signal.SIGKILL)
    wait_until(lambda: not is_alive(child.pid))
    child.close()


def test_output_goes_to_the_log_and_the_exit_code_is_the_commands(tmp_path: Path) -> None:
    child = Child(["sh", "-c", "echo out; echo err >&2; exit 3"], log=tmp_path / "log")
    assert child.wait() == 3
    assert child.close() == 3
    assert child.output() == "out\nerr"


def test_the_environment_is_added_to_ours(tmp_path: Path) -> None:
    with Child(
        ["sh", "-c", 'echo "$GREETING"; test -n "$PATH"'],
        log=tmp_path / "log",
        environment={"GREETING": "hi"},
    ) as child:
        assert child.wait() == 0
    assert child.output() == "hi"


def test_a_command_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no-such-command"):
        Child(["no-such-command"], log=tmp_path / "log")


def test_terminate_lets_the_command_end_in_good_order(tmp_path: Path) -> None:
    shell = 'trap "echo bye; exit 7" TERM; echo ready; while :; do sleep 0.01; done'
    child = Child(["sh", "-c", shell], log=tmp_path / "log")
    wait_until(lambda: child.output() == "ready")
    assert child.terminate() == 7
    assert child.output() == "ready\nbye"


def test_terminate_kills_what_does_not_listen(tmp_path: Path) -> None:
    child = Child(
        ["sh", "-c", 'trap "" TERM; echo ready; while :; do sleep 0.01; done'], log=tmp_path / "log"
    )
    wait_until(lambda: child.output() == "ready")
    assert child.terminate(timeout=0.1) == 128 + signal.SIGKILL
    assert not is_alive(child.pid)


def test_a_stopped_process_can_be_killed(tmp_path: Path) -> None:
    child = Child(["sleep", "1000"], log=tmp_path / "log")
    child.signal(signal.SIGSTOP)
    child.kill()
    assert not child.is_running()
    assert not is_alive(child.pid)


def test_a_scratch_directory_is_removed_on_leaving() -> None:
    with ScratchDirectory() as directory:
        (directory / "deep").mkdir()
        (directory / "deep" / "file").write_text("x")
    assert not directory.exists()
