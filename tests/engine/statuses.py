"""What tests wait for: that an object says how it is."""

from __future__ import annotations

import time

from tailrace.engine.engine import Engine
from tailrace.ticks.status import Status

PATIENCE_SECONDS = 120.0


def await_status(engine: Engine, name: str, status: str) -> Status:
    """All that the object says, when it has come to this status."""
    id, deadline = engine.catalog.resolve((name,)).id, time.monotonic() + PATIENCE_SECONDS
    while True:
        now = engine.statuses.of(id)
        if now.status == status:
            return now
        assert time.monotonic() < deadline, now
        time.sleep(0.02)
