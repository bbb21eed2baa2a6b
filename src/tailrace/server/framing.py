"""Cuts a client's byte stream into messages.  Lengths are checked before anything is waited for.

Three phases: start-up packets (no tag), answers to authentication requests, and then everything else.
"""

from __future__ import annotations

from enum import Enum, auto
from struct import Struct

from tailrace.server.fields import ProtocolViolation
from tailrace.server.messages import (
    STARTUP_LIMIT,
    Message,
    PasswordMessage,
    decode,
    decode_startup,
    length_limit,
)

DEFAULT_LIMIT = 64 * 1024 * 1024

_LENGTH = Struct(">i")


class Phase(Enum):
    STARTUP = auto()
    AUTHENTICATION = auto()
    SESSION = auto()


class Framer:
    """Feed it bytes, take messages out.  `limit` is the most that a query or a set of parameters may take."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.phase = Phase.STARTUP
        self._limit = limit
        self._held = bytearray()
        self._violation: ProtocolViolation | None = None

    @property
    def held(self) -> int:
        """Bytes not yet taken out."""
        return len(self._held)

    def feed(self, data: bytes) -> None:
        self._held += data

    def next(self) -> Message | None:
        """The next whole message, or None if more bytes are needed.  Raises ProtocolViolation, then again."""
        if self._violation is not None:
            raise self._violation
        try:
            return self._next()
        except ProtocolViolation as violation:
            self._violation = violation
            raise

    def _next(self) -> Message | None:
        start = 0 if self.phase is Phase.STARTUP else 1
        tag = bytes(self._held[:start])
        if len(tag) < start:
            return None
        limit = self._limit_of(tag)  # an unknown tag need not be waited for
        if self.held < start + 4:
            return None
        (length,) = _LENGTH.unpack_from(self._held, start)
        if not 4 <= length <= limit:
            raise ProtocolViolation("invalid message length", detail=f"It claims to have {length} bytes.")
        if self.held < start + length:
            return None
        body = bytes(self._held[start + 4 : start + length])
        del self._held[: start + length]
        return decode(tag, body) if tag else decode_startup(body)

    def _limit_of(self, tag: bytes) -> int:
        match self.phase:
            case Phase.STARTUP:
                return STARTUP_LIMIT
            case Phase.AUTHENTICATION if tag != PasswordMessage.tag:
                raise ProtocolViolation("expected an answer to the authentication request")
            case Phase.SESSION if tag == PasswordMessage.tag:
                raise ProtocolViolation("unexpected answer to an authentication request")
        return length_limit(tag, self._limit)
