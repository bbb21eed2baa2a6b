"""A PostgreSQL connection as the catalog keeps it, with secrets looked up, and the one way to open it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from tailrace.errors import SqlError, TailraceError, Unavailable
from tailrace.secret import Secret

_CONNECT_SECONDS = 10
# A peer that vanished without a word is noticed within half a minute, not after TCP's two hours.
_KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4, "tcp_user_timeout": 30_000}
# Whatever the role's own settings are: what we send is in these forms, and a snapshot takes the time it takes.
_SETTINGS = (
    "-c datestyle=ISO,YMD -c timezone=UTC -c intervalstyle=postgres -c client_encoding=UTF8"
    " -c statement_timeout=0 -c idle_in_transaction_session_timeout=0"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PostgresConnection:
    """How to reach a server.  One that exists is valid."""

    name: str
    host: str
    port: int
    database: str
    user: Secret
    password: Secret | None = None
    ssl_mode: str = "disable"  # disable, require, verify_ca, verify_full
    ssl_key: Secret | None = None
    ssl_certificate: Secret | None = None
    ssl_certificate_authority: Secret | None = None

    def open(self, application: str) -> psycopg.Connection:
        """A connection in autocommit mode.  Raises Unavailable, or SqlError if a person must act."""
        settings: dict[str, Any] = {
            "host": self.host,
            "port": self.port,
            "dbname": self.database,
            "user": self.user.reveal(),
            "password": None if self.password is None else self.password.reveal(),
            "sslmode": self.ssl_mode.replace("_", "-"),
            "application_name": application,
            "connect_timeout": _CONNECT_SECONDS,
            "options": _SETTINGS,
            **_KEEPALIVE,
        }
        try:
            with self._certificates() as files:
                return psycopg.connect(autocommit=True, **settings, **files)
        except psycopg.Error as error:
            raise translate(error, f'connecting as "{self.name}"', self) from error

    @contextmanager
    def _certificates(self) -> Iterator[dict[str, Any]]:
        """libpq reads keys and certificates from files only, and only while it connects."""
        parts = {
            "sslkey": self.ssl_key,
            "sslcert": self.ssl_certificate,
            "sslrootcert": self.ssl_certificate_authority,
        }
        given = {name: secret for name, secret in parts.items() if secret is not None}
        if not given:
            yield {}
            return
        with tempfile.TemporaryDirectory(prefix="tailrace-") as directory:  # for us alone: mode 0700
            for name, secret in given.items():
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
                with os.fdopen(os.open(f"{directory}/{name}", flags, 0o600), "w") as file:
                    file.write(secret.reveal())
            yield {name: f"{directory}/{name}" for name in given}


_MAY_PASS = ("08", "53", "57", "40", "55P03", "58")
"""SQLSTATEs, or their classes, after which trying again can help: connections, resources, shutdown, deadlocks."""


_NOT_WELCOME = ("authentication failed", "no pg_hba.conf entry", '" does not exist', "permission denied")
"""What the server says before there is a session; libpq passes on no SQLSTATE of it."""


_NOT_TRUSTED = ("certificate", "does not support SSL")
"""What libpq says of a server that is not the one it should be."""


def translate(error: psycopg.Error, doing: str, connection: PostgresConnection) -> TailraceError:
    """What the server or the client library said, as an error somebody can act on."""
    said = _said(error)
    if error.sqlstate is None and any(words in said for words in _NOT_WELCOME):
        return SqlError(f'could not log in to Postgres connection "{connection.name}"', detail=said, sqlstate="28000")
    if error.sqlstate is None and any(words in said for words in _NOT_TRUSTED):
        return SqlError(f'could not trust the server of Postgres connection "{connection.name}"', detail=said)
    if error.sqlstate is None:  # never reached the server, or the connection was lost
        hint = f"Does PostgreSQL listen at {connection.host}:{connection.port}, reachable from here?"
        return Unavailable(f"postgres: could not reach the server while {doing}", detail=said, hint=hint)
    if error.sqlstate.startswith("28"):
        return SqlError(f'could not log in to Postgres connection "{connection.name}"', detail=said, sqlstate="28000")
    family = Unavailable if error.sqlstate.startswith(_MAY_PASS) else SqlError
    return family(
        f"postgres: {error.diag.message_primary or said} while {doing}",
        detail=error.diag.message_detail or error.diag.context,
        hint=error.diag.message_hint,
        sqlstate=error.sqlstate,
    )


def _said(error: psycopg.Error) -> str:
    return " ".join(str(error).split())
