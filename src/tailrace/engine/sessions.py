"""The sessions of clients: who is connected, and how to stop what one of them runs."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession


@dataclass(frozen=True, kw_only=True, slots=True)
class Connected:
    session: EngineSession
    address: str
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    since: float = field(default_factory=time.time)


class Sessions:
    """By number, which is what `pg_backend_pid()` says."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._open: dict[int, Connected] = {}

    def add(self, session: EngineSession, address: str) -> None:
        with self._lock:
            session.pid = next(self._numbers)
            self._open[session.pid] = Connected(session=session, address=address)

    def remove(self, session: EngineSession) -> None:
        with self._lock:
            self._open.pop(session.pid, None)

    def open(self) -> list[Connected]:
        with self._lock:
            return list(self._open.values())

    def cancel(self, pid: int) -> bool:
        with self._lock:
            connected = self._open.get(pid)
        if connected is None:
            return False
        connected.session.cancel()
        return True
