"""Stopping what a session runs, from another thread: because its client asks, or because the server ends.

An interruption never hits a later statement: it is delivered while the statement is known to run, or not at
all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from tailrace.server.reports import Cancelled, ShuttingDown

log = logging.getLogger("tailrace.server")


class Interruption:
    def __init__(self, cancel_engine: Callable[[], None]) -> None:
        self.is_final = False
        self._cancel_engine = cancel_engine
        self._requested = False
        self._possible = False
        self._lock = Lock()
        self.is_waiting = False  # for data of a COPY: there is something to cancel though nothing runs

    def cancel(self) -> None:
        """Ends the statement that runs, if one does."""
        with self._lock:
            if not self._possible and not self.is_waiting:
                return
            self._requested = True
            try:
                self._cancel_engine()
            except Exception:  # the statement still ends, between two batches
                log.exception("engine not cancelled cleanly")

    def terminate(self) -> None:
        """Ends the statement that runs, or the next one, and the session with it."""
        self.is_final = True
        self.cancel()

    @contextmanager
    def possible(self) -> Iterator[None]:
        """While this is open there is something to interrupt."""
        with self._lock:
            self._possible, self._requested = True, self._requested and self.is_waiting
        try:
            yield
        finally:
            with self._lock:
                self._possible = False

    def check(self) -> None:
        """Called between batches: an engine may be slow to notice."""
        if self.is_final:
            raise ShuttingDown
        if self._requested:
            raise Cancelled

    def reason(self, error: Exception) -> Exception:
        """Why the statement ended.  If the server ends, that is why, whatever the engine says."""
        return ShuttingDown() if self.is_final else error
