"""What the harness needs to know of a system in order to run a workload on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from benchmarks.verify import Envelope
from benchmarks.workloads.contract import Output


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run of one workload: its own id, folder and output topic."""

    id: str
    workload: str
    variant: str
    inputs: Mapping[str, str]  # role → topic, already filled as far as the mode wants
    output_topic: str
    output: Output
    folder: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """How to start the program under test.

    It runs as a subprocess in `run.folder`, writes `@bench engine_up` when its engine could take a query and
    `@bench job_running` when the query has been accepted and runs, and goes on until it is ended.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    envelope: Envelope


class System(Protocol):
    """A peer, or ours.  The first variant is the default.

    `launch` must set the system up for PARALLELISM parallel workers and at most JVM_HEAP of heap, reading the
    input topics from their beginning.
    """

    name: str
    variants: Mapping[str, str]  # name → one line that says what is promised and what is set

    def refusal(self, workload: str) -> str | None:
        """Why this system cannot run the workload at all, or None."""

    def remark(self, workload: str) -> str | None:
        """What had to be written differently from the workload's SQL, or None."""

    def launch(self, run: Run) -> Launch: ...

    def versions(self) -> Mapping[str, str]: ...
