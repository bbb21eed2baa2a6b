"""Who may have a session.  An `Authenticator` holds the conversation; it knows no sockets."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol, TypeAlias

from tailrace.errors import SqlError
from tailrace.server.messages import Authentication
from tailrace.server.startup import StartupInfo

Conversation: TypeAlias = Generator[Authentication, bytes, Authentication | None]
"""Yields requests, is sent the client's answers, and returns, with or without a last word, to let it in."""


class AuthenticationFailed(SqlError):
    """Says the same for an unknown user and a wrong password."""

    sqlstate = "28P01"

    def __init__(self, user: str) -> None:
        super().__init__(f'password authentication failed for user "{user}"')


class Authenticator(Protocol):
    @property
    def needs_password(self) -> bool:
        """Without one, the server listens on loopback only."""

    def converse(self, startup: StartupInfo) -> Conversation:
        """Raises AuthenticationFailed, or ProtocolViolation for answers that are none."""


class Trust:
    """Lets in everyone who reaches the socket, as whom they say they are."""

    needs_password = False

    def converse(self, startup: StartupInfo) -> Conversation:
        yield from ()
        return None
