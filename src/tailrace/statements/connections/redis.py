"""CREATE CONNECTION … TO REDIS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tailrace.errors import InvalidOption
from tailrace.sql.kinds import INTEGER, POSITIVE, SECRET, SECRET_OR_TEXT, TEXT
from tailrace.sql.names import SecretRef
from tailrace.sql.options import Option, Options
from tailrace.statements.connections.contract import ConnectionType

HOST = Option("HOST", TEXT, doc="The server's name or address.")
PORT = Option("PORT", POSITIVE, default=6379, doc="The server's port.")
DATABASE = Option("DATABASE", INTEGER, default=0, doc="The number of the database.")
USER = Option("USER", SECRET_OR_TEXT, doc="The user to log in as; without one, `default`.")
PASSWORD = Option("PASSWORD", SECRET, doc="The user's password.")
SSL_MODE = Option("SSL MODE", TEXT, default="disable", doc="disable, require, verify_ca or verify_full.")
SSL_CERTIFICATE_AUTHORITY = Option(
    "SSL CERTIFICATE AUTHORITY", SECRET_OR_TEXT, doc="Who must have signed the server's certificate, PEM."
)
OPTIONS: tuple[Option[Any], ...] = (
    *(HOST, PORT, DATABASE, USER, PASSWORD, SSL_MODE, SSL_CERTIFICATE_AUTHORITY),
)
SSL_MODES = ("disable", "require", "verify_ca", "verify_full")


@dataclass(frozen=True, kw_only=True, slots=True)
class RedisDetails:
    """How to reach a Redis server; secrets are still names."""

    options: Options
    host: str
    port: int
    database: int
    user: str | SecretRef | None
    password: SecretRef | None
    ssl_mode: str
    ssl_certificate_authority: str | SecretRef | None


def build(options: Options) -> RedisDetails:
    if not options.get(HOST):
        raise InvalidOption("HOST option is required", position=options.position(HOST))
    mode = options.value(SSL_MODE).lower().replace("-", "_")
    if mode not in SSL_MODES:
        raise InvalidOption(
            f"invalid CONNECTION: unknown SSL MODE {options.value(SSL_MODE)}",
            hint=f"Use one of {', '.join(SSL_MODES)}.",
            position=options.position(SSL_MODE),
        )
    if options.has(USER) and not options.has(PASSWORD):
        raise InvalidOption("invalid CONNECTION: USER needs a PASSWORD", position=options.position(USER))
    return RedisDetails(
        options=options,
        host=options.value(HOST),
        port=options.value(PORT),
        database=options.value(DATABASE),
        user=options.get(USER),
        password=options.get(PASSWORD),
        ssl_mode=mode,
        ssl_certificate_authority=options.get(SSL_CERTIFICATE_AUTHORITY),
    )


TYPE = ConnectionType(name="REDIS", options=OPTIONS, build=build)
