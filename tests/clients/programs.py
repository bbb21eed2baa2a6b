"""Clients that are programs of their own: what they print, one line for each claim, is the test's result."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_SECONDS = 180


def claims(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> None:
    """Runs it, and fails with what it says about the claims that do not hold."""
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_SECONDS)
    assert answer.returncode == 0, f"{answer.stdout}{answer.stderr}"
    assert answer.stdout.splitlines(), "it claims nothing"
    assert all(line.startswith("ok ") for line in answer.stdout.splitlines()), answer.stdout
