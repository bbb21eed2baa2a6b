"""Every number and path that the harness takes for granted, in one place."""

from __future__ import annotations

import os
from pathlib import Path

from tailrace.jars import cache_directory

BOOTSTRAP = os.environ.get("BENCH_BOOTSTRAP", "127.0.0.1:9092")  # __main__.py starts a broker and sets it
PARTITIONS = 4
PARALLELISM = 2  # workers that every system gets
JVM_HEAP = "4g"  # the same ceiling for every JVM under test
SEED = 20261115

HOME = Path(
    os.environ.get("BENCH_HOME", cache_directory() / "bench")
)  # environments, expectations, run folders
PACKAGE = Path(__file__).parent
RESULTS = PACKAGE / "results"

# A run counts as disturbed when others used more than this share of the machine.  A latency run leaves the machine
# half idle and bears more than a catch-up, which wants all of it.
DISTURBED_SHARE = {"throughput": 0.05, "latency": 0.25}

# Throughput
POLL_SECONDS = 0.025  # how often the last stable offsets are asked for
QUIET_SECONDS = 5.0  # no new committed output for this long: look whether the answer is complete
DEADLINE_SECONDS = 170.0

# Latency
RATE = 1000  # messages per second
WARM_UP_SECONDS = 15
MEASURED_SECONDS = 40
DRAIN_SECONDS = 20.0
