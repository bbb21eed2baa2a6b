"""The sessions of clients: who is connected, and how to stop what one of them runs."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession


def _nothing() -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Connected:
    """`cancel` ends what the session runs, `terminate` all of it."""

    session: EngineSession
    address: str
    cancel: Callable[[], None] = _nothing
    terminate: Callable[[], None] = _nothing
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    since: float = field(default_factory=time.time)


@dataclass(frozen=True, kw_only=True, slots=True)
class Following:
    """A SUBSCRIBE that is open."""

    id: str
    session: EngineSession
    relations: tuple[str, ...]
    since: float = field(default_factory=time.time)


class Sessions:
    """By number, which is what `pg_backend_pid()` says."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._open: dict[int, Connected] = {}
        self._following: dict[str, Following] = {}

    def add(self, session: EngineSession, address: str) -> None:
        with self._lock:
            session.pid = next(self._numbers)
            self._open[session.pid] = Connected(session=session, address=address)

    def attach(self, session: EngineSession, cancel: Callable[[], None], terminate: Callable[[], None]) -> int:
        with self._lock:
            known = self._open[session.pid]
            self._open[session.pid] = replace(known, cancel=cancel, terminate=terminate)
        return session.pid

    def remove(self, session: EngineSession) -> None:
        with self._lock:
            self._open.pop(session.pid, None)

    def open(self) -> list[Connected]:
        with self._lock:
            return list(self._open.values())

    def follow(self, following: Following) -> None:
        with self._lock:
            self._following[following.id] = following

    def unfollow(self, id: str) -> None:
        with self._lock:
            self._following.pop(id, None)

    def following(self) -> list[tuple[Following, Connected]]:
        with self._lock:
            by_session = {connected.session: connected for connected in self._open.values()}
            each = list(self._following.values())
            return [(one, by_session[one.session]) for one in each if one.session in by_session]

    def find(self, pid: int) -> Connected | None:
        with self._lock:
            return self._open.get(pid)
