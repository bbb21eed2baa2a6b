"""A small process that outlives its parent by a moment, to end what that started and remove what it left.

    python -I -S supervisor.py [--remove DIRECTORY] [-- COMMAND ...]

Its standard input is a pipe from the parent.  The pipe closes when the parent closes it or dies, also by kill
-9; then the command's whole process group is killed and the directory removed.  It stands in a session of its
own, so that a signal to the parent's group does not reach it; and on Linux the command is killed with it
should it be killed itself.  The process id of the command is written to standard output.  It imports nothing
of Tailrace, to start quickly.
"""

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import time

_PR_SET_PDEATHSIG = 1
_REMOVE_SECONDS = 30.0  # a killed process may still be closing its files while we remove them


def main(arguments: list[str]) -> int:
    """Wait for the command or for the parent's end, whichever is first; then tidy up.

    Returns the command's code.
    """
    directory = arguments[1] if arguments[:1] == ["--remove"] else None
    command = arguments[arguments.index("--") + 1 :] if "--" in arguments else []
    code = _supervise(command) if command else _wait_for_parent()
    if directory is not None:
        _remove(directory)
    return code


def _supervise(command: list[str]) -> int:
    wake_reader, wake_writer = os.pipe()
    os.set_blocking(wake_writer, False)
    signal.set_wakeup_fd(wake_writer)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # Standard output was the channel for the process id; the command writes where standard error goes.
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=2, start_new_session=True, preexec_fn=_die_with_us
    )
    os.write(1, f"{child.pid}\n".encode())
    os.close(1)
    while child.poll() is None:
        ready, _, _ = select.select([0, wake_reader], [], [])
        if 0 in ready and not os.read(0, 1024):
            break
        if wake_reader in ready:
            os.read(wake_reader, 1024)
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody left; macOS says so by EPERM
        os.killpg(child.pid, signal.SIGKILL)  # also after a clean end: its own children may be left
    code = child.wait()
    return code if code >= 0 else 128 - code


def _die_with_us() -> None:
    """In the child: ask Linux for SIGKILL when the supervisor dies.

    Elsewhere the supervisor is trusted to live.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _wait_for_parent() -> int:
    os.close(1)
    while os.read(0, 1024):
        pass
    return 0


def _remove(directory: str) -> None:
    deadline = time.monotonic() + _REMOVE_SECONDS
    while os.path.exists(directory) and time.monotonic() < deadline:
        shutil.rmtree(directory, ignore_errors=True)
        time.sleep(0.02)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
