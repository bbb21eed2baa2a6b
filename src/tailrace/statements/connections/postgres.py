"""CREATE CONNECTION … TO POSTGRES."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tailrace.errors import InvalidOption
from tailrace.sql.kinds import POSITIVE, SECRET, SECRET_OR_TEXT, TEXT
from tailrace.sql.names import Name, SecretRef
from tailrace.sql.options import Option, Options
from tailrace.statements.connections.contract import ConnectionType
from tailrace.statements.connections.kafka import AWS_PRIVATELINK, SSH_TUNNEL

HOST = Option("HOST", TEXT, doc="The server's name or address.")
PORT = Option("PORT", POSITIVE, default=5432, doc="The server's port.")
DATABASE = Option("DATABASE", TEXT, doc="The database to connect to.")
USER = Option("USER", SECRET_OR_TEXT, doc="The user to log in as.")
PASSWORD = Option("PASSWORD", SECRET, doc="The user's password.")
SSL_MODE = Option("SSL MODE", TEXT, default="disable", doc="disable, require, verify_ca or verify_full.")
SSL_KEY = Option("SSL KEY", SECRET, doc="The client's private key, PEM.")
SSL_CERTIFICATE = Option("SSL CERTIFICATE", SECRET_OR_TEXT, doc="The client's certificate, PEM.")
SSL_CERTIFICATE_AUTHORITY = Option(
    "SSL CERTIFICATE AUTHORITY", SECRET_OR_TEXT, doc="Who must have signed the server's certificate, PEM."
)
OPTIONS: tuple[Option[Any], ...] = (
    *(HOST, PORT, DATABASE, USER, PASSWORD, SSL_MODE, SSL_KEY, SSL_CERTIFICATE, SSL_CERTIFICATE_AUTHORITY),
    *(AWS_PRIVATELINK, SSH_TUNNEL),
)
SSL_MODES = ("disable", "require", "verify_ca", "verify_full")


@dataclass(frozen=True, kw_only=True, slots=True)
class PostgresDetails:
    """How to reach a PostgreSQL server; secrets are still names."""

    options: Options
    host: str
    port: int
    database: str
    user: str | SecretRef
    password: SecretRef | None
    ssl_mode: str
    ssl_key: SecretRef | None
    ssl_certificate: str | SecretRef | None
    ssl_certificate_authority: str | SecretRef | None
    aws_privatelink: Name | None
    ssh_tunnel: Name | None


def build(options: Options) -> PostgresDetails:
    required: tuple[Option[Any], ...] = (HOST, DATABASE, USER)
    for option in required:
        if not options.get(option):
            raise InvalidOption(f"{option.name} option is required", position=options.position(option))
    return PostgresDetails(
        options=options,
        host=options.value(HOST),
        port=options.value(PORT),
        database=options.value(DATABASE),
        user=options.value(USER),
        password=options.get(PASSWORD),
        ssl_mode=_ssl_mode(options),
        ssl_key=options.get(SSL_KEY),
        ssl_certificate=options.get(SSL_CERTIFICATE),
        ssl_certificate_authority=options.get(SSL_CERTIFICATE_AUTHORITY),
        aws_privatelink=options.get(AWS_PRIVATELINK),
        ssh_tunnel=options.get(SSH_TUNNEL),
    )


def _ssl_mode(options: Options) -> str:
    given = options.value(SSL_MODE)
    mode = given.lower().replace("-", "_")
    if mode not in SSL_MODES:
        raise InvalidOption(
            f"invalid CONNECTION: unknown SSL MODE {given}",
            hint=f"Use one of {', '.join(SSL_MODES)}.",
            position=options.position(SSL_MODE),
        )
    if options.has(SSL_KEY) != options.has(SSL_CERTIFICATE):
        raise InvalidOption(
            "invalid CONNECTION: both SSL KEY and SSL CERTIFICATE are required",
            position=options.position(SSL_KEY) or options.position(SSL_CERTIFICATE),
        )
    if mode.startswith("verify") and not options.has(SSL_CERTIFICATE_AUTHORITY):
        raise InvalidOption(
            "invalid CONNECTION: SSL CERTIFICATE AUTHORITY is required",
            detail=f"SSL MODE {given} checks who signed the server's certificate.",
            position=options.position(SSL_MODE),
        )
    return mode


TYPE = ConnectionType(name="POSTGRES", options=OPTIONS, build=build)
