"""Results on disk: one small JSON file per run, with the versions and settings it was measured with."""

from __future__ import annotations

import json
import os
import platform
import time
from functools import cache

from benchmarks.settings import (
    DISTURBED_SHARE,
    JVM_HEAP,
    MEASURED_SECONDS,
    PARALLELISM,
    PARTITIONS,
    RESULTS,
    SEED,
)
from benchmarks.systems.contract import System
from benchmarks.workloads.contract import Workload


def describe(system: System, variant: str, workload: Workload, mode: str, started: float) -> dict:
    return {
        "system": system.name,
        "variant": variant,
        "workload": workload.name,
        "mode": mode,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "versions": _versions(system),
        "machine": {"cores": os.cpu_count(), "platform": platform.platform()},
        "settings": {"partitions": PARTITIONS, "parallelism": PARALLELISM, "heap": JVM_HEAP, "seed": SEED},
    }


def save(result: dict) -> None:
    RESULTS.mkdir(exist_ok=True)
    stamp = result["started"].replace(":", "").replace("-", "")
    name = "-".join((result["system"], result["variant"], result["workload"], result["mode"], stamp))
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1, sort_keys=True) + "\n")


def load_all() -> list[dict]:
    return [json.loads(file.read_text()) for file in sorted(RESULTS.glob("*.json"))]


def was_disturbed(result: dict) -> bool:
    """Whether other work on the machine took more than its share while this run was measured."""
    seconds = MEASURED_SECONDS if result["mode"] == "latency" else result.get("seconds_including_start", 0)
    allowed = DISTURBED_SHARE[result["mode"]] * seconds * result["machine"]["cores"]
    return result.get("other_cpu_seconds", 0) > allowed


@cache
def _versions(system: System) -> dict[str, str]:
    return dict(system.versions())
