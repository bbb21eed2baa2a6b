"""What librdkafka says, without its repetitions.

While a broker is away every client says so with every try, several times a second.  The sink's or source's status
says it once and lasting; in the log it is enough to see it when it begins, and from time to time that it goes on.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable

_AGAIN_SECONDS = 60.0
_MOST = 1_000  # lines remembered: who talks of ever new things may repeat himself
_VARYING = re.compile(r"\d+")


class Seldom(logging.Filter):
    """Lets a line pass once a minute, whatever numbers are in it, and says how often it came meanwhile."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._said: dict[str, tuple[float, int]] = {}
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        text, now = record.getMessage(), self._now()
        kind = _VARYING.sub("0", text)
        with self._lock:
            last, unsaid = self._said.get(kind, (float("-inf"), 0))
            if now - last < _AGAIN_SECONDS:
                self._said[kind] = (last, unsaid + 1)
                return False
            if len(self._said) >= _MOST:
                self._said.clear()
            self._said[kind] = (now, 0)
        if unsaid:
            record.msg, record.args = f"{text} (and {unsaid} times before)", ()
        return True


CLIENT_LOG = logging.getLogger("tailrace.kafka.librdkafka")
CLIENT_LOG.addFilter(Seldom())
