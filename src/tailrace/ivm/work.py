"""What a tick costs, as it is counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Work:
    """What Spark was asked to do, counted where it is asked: a hidden job would not show here, and is a bug."""

    jobs: int = 0
    rows: int = 0
    planning: float = 0.0  # seconds in which Spark planned what stays on the driver
