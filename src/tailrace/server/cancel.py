"""Process ids and secrets: what a client shows, on another connection, to stop what its session runs."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass

_SHORT, _LONG = 4, 32  # bytes of a secret up to protocol 3.0, and from 3.2 on


@dataclass(frozen=True, slots=True)
class Key:
    """A session's own process id, and its secret."""

    pid: int
    secret: bytes

    def __repr__(self) -> str:
        return f"Key(pid={self.pid}, secret=***)"


class CancelKeys:
    """The keys of all open sessions.  Used from the listener's thread only."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[bytes, Callable[[], None]]] = {}

    def issue(self, pid: int, cancel: Callable[[], None], *, long: bool = False) -> Key:
        """`pid` is what `pg_backend_pid()` tells the session."""
        key = Key(pid, secrets.token_bytes(_LONG if long else _SHORT))
        self._open[key.pid] = (key.secret, cancel)
        return key

    def revoke(self, key: Key) -> None:
        self._open.pop(key.pid, None)

    def find(self, pid: int, secret: bytes) -> Callable[[], None] | None:
        """How to cancel that session; None if there is none, or the secret is wrong."""
        known, cancel = self._open.get(pid, (b"", None))
        return cancel if hmac.compare_digest(known, secret) else None
