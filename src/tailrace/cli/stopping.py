"""What asks a process to stop: SIGTERM, and Ctrl-C."""

from __future__ import annotations

import signal
import threading


def heed_signals(stopping: threading.Event) -> None:
    """Sets `stopping` when one comes.  To be called before Spark starts, and after: PySpark takes SIGINT for itself."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
