"""Crash points kill or stop a process at the turn they are told to, and are listed once."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import tailrace
from tailrace.testing.crash import CRASH_POINTS, arm

PASSING = """
from tailrace.testing.crash import crash_point
for turn in range(1, 6):
    print(turn, flush=True)
    crash_point("tick.after_log")
    crash_point("tick.before_log")
"""


def passing(**environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PASSING]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def test_the_process_dies_at_its_turn() -> None:
    with passing(TAILRACE_CRASH="tick.after_log:3") as process:
        assert process.communicate()[0].split() == ["1", "2", "3"]
        assert process.returncode == -signal.SIGKILL


def test_of_several_points_the_first_whose_turn_comes_counts() -> None:
    with passing(TAILRACE_CRASH="tick.after_log:4,tick.before_log:2") as process:
        assert process.communicate()[0].split() == ["1", "2"]
        assert process.returncode == -signal.SIGKILL


def test_the_process_stops_at_its_turn_and_goes_on_when_told() -> None:
    with passing(TAILRACE_PAUSE="tick.after_log:2", TAILRACE_CRASH="tick.before_log:4") as process:
        while psutil.Process(process.pid).status() != psutil.STATUS_STOPPED:
            pass
        process.send_signal(signal.SIGCONT)
        assert process.communicate()[0].split() == ["1", "2", "3", "4"]
        assert process.returncode == -signal.SIGKILL


def test_nothing_happens_unless_armed() -> None:
    with passing() as process:
        assert process.communicate()[0].split() == ["1", "2", "3", "4", "5"]
        assert process.returncode == 0


def test_an_unknown_point_cannot_be_armed() -> None:
    with pytest.raises(ValueError, match=r"unknown crash point 'tick\.afterlog'; there are tick\."):
        arm("tick.afterlog")


def test_every_point_is_a_line_of_the_program_and_every_line_a_point() -> None:
    root = Path(tailrace.__file__).parent
    found = {
        name
        for file in root.rglob("*.py")
        if file.name != "crash.py"
        for name in re.findall(r'crash_point\("([a-z_.]+)"', file.read_text())
    }
    assert found == set(CRASH_POINTS)
