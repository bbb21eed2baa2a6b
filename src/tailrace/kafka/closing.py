"""Ending a consumer without waiting for it forever.

When its broker has gone away and come back with another password, the client has been seen to wait for an end that
never came, and with it the tick loop.  We commit no positions to a group, so nothing depends on how it ends.
"""

from __future__ import annotations

import logging
import threading
from typing import Protocol

log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 5.0


class Closeable(Protocol):
    def close(self) -> None: ...


def close(consumer: Closeable) -> None:
    """Returns when it has ended, or is left to end by itself."""
    closing = threading.Thread(target=consumer.close, name="kafka-close", daemon=True)
    closing.start()
    closing.join(_PATIENCE_SECONDS)
    if closing.is_alive():
        log.warning("a consumer did not end seconds=%s", _PATIENCE_SECONDS)
