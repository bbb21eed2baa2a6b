"""Errors and notices as the fields that clients show: severity, SQLSTATE, message, detail, hint, position.

An error that is not ours to explain becomes XX000 with a short id; its trace goes to the log under that id,
and its own words, which may hold anything, go nowhere else.
"""

from __future__ import annotations

import logging
import secrets

from tailrace.errors import InternalError, TailraceError
from tailrace.server.messages import ErrorResponse, Fields, NoticeResponse
from tailrace.statements.contract import Notice

log = logging.getLogger("tailrace.server")

_SEVERITIES = ("DEBUG", "LOG", "NOTICE", "WARNING", "ERROR")


class Cancelled(TailraceError):
    """The client asked for it, or left."""

    sqlstate = "57014"

    def __init__(self) -> None:
        super().__init__("canceling statement due to user request")


class ShuttingDown(TailraceError):
    sqlstate = "57P01"

    def __init__(self) -> None:
        super().__init__("terminating connection due to administrator command")


class IdleInTransaction(TailraceError):
    sqlstate = "25P03"

    def __init__(self) -> None:
        super().__init__("terminating connection due to idle-in-transaction timeout")


def error_response(error: Exception, *, severity: str = "ERROR", offset: int = 0) -> ErrorResponse:
    """`offset` counts the characters before the statement in the text that the client sent."""
    if not isinstance(error, TailraceError) or isinstance(error, InternalError):
        error = _unexplained(error)
    position = None if error.position is None else str(error.position + offset)
    return ErrorResponse((*_fields(severity, error), *_given(("P", position))))


def notice_response(notice: Notice) -> NoticeResponse:
    return NoticeResponse(_fields(notice.severity, notice))


def is_wanted(notice: Notice, least: str) -> bool:
    """Whether `client_min_messages` lets it through.  Severities that we do not know always pass."""
    if notice.severity.upper() not in _SEVERITIES or least.upper() not in _SEVERITIES:
        return True
    return _SEVERITIES.index(notice.severity.upper()) >= _SEVERITIES.index(least.upper())


def _unexplained(error: Exception) -> TailraceError:
    short_id = secrets.token_hex(4)
    log.error("internal error id=%s", short_id, exc_info=error)
    return InternalError(
        f"internal error {short_id}", hint=f"The server's log says more: look for id={short_id}."
    )


def _fields(severity: str, said: TailraceError | Notice) -> Fields:
    """S may be translated and V never is, so that drivers read V; both are the same here."""
    always = (("S", severity), ("V", severity), ("C", said.sqlstate), ("M", said.message))
    return (*always, *_given(("D", said.detail), ("H", said.hint)))


def _given(*coded: tuple[str, str | None]) -> Fields:
    return tuple((code, value) for code, value in coded if value is not None)
