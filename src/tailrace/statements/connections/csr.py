"""CREATE CONNECTION … TO CONFLUENT SCHEMA REGISTRY."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from tailrace.errors import InvalidOption
from tailrace.sql.kinds import POSITIVE, SECRET, SECRET_OR_TEXT, TEXT
from tailrace.sql.names import Name, SecretRef
from tailrace.sql.options import Option, Options
from tailrace.statements.connections.contract import ConnectionType
from tailrace.statements.connections.kafka import AWS_PRIVATELINK, SSH_TUNNEL

URL = Option("URL", TEXT, doc="The registry's.  Without a scheme: https if a TLS option is given, else http.")
PORT = Option("PORT", POSITIVE, doc="In place of the URL's.")
USERNAME = Option("USERNAME", SECRET_OR_TEXT, aliases=("USER",), doc="The user to log in as.")
PASSWORD = Option("PASSWORD", SECRET, doc="The user's password.")
SSL_KEY = Option("SSL KEY", SECRET, doc="The client's private key, PEM.")
SSL_CERTIFICATE = Option("SSL CERTIFICATE", SECRET_OR_TEXT, doc="The client's certificate, PEM.")
SSL_CERTIFICATE_AUTHORITY = Option(
    "SSL CERTIFICATE AUTHORITY", SECRET_OR_TEXT, doc="Who must have signed the registry's certificate, PEM."
)

OPTIONS: tuple[Option[Any], ...] = (
    *(URL, PORT, USERNAME, PASSWORD, SSL_KEY, SSL_CERTIFICATE, SSL_CERTIFICATE_AUTHORITY),
    *(AWS_PRIVATELINK, SSH_TUNNEL),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class CsrDetails:
    """How to reach a schema registry; secrets are still names.

    `url` has a scheme; `scheme_assumed` says that it was our guess, which the creator is told in a notice.
    """

    options: Options
    url: str
    scheme_assumed: bool
    username: str | SecretRef | None
    password: SecretRef | None
    ssl_key: SecretRef | None
    ssl_certificate: str | SecretRef | None
    ssl_certificate_authority: str | SecretRef | None
    aws_privatelink: Name | None
    ssh_tunnel: Name | None


def build(options: Options) -> CsrDetails:
    if options.has(SSL_KEY) != options.has(SSL_CERTIFICATE):
        raise InvalidOption(
            "invalid CONNECTION: authentication with TLS requires both SSL KEY and SSL CERTIFICATE",
            position=options.position(SSL_KEY) or options.position(SSL_CERTIFICATE),
        )
    url, scheme_assumed = _url(options)
    return CsrDetails(
        options=options,
        url=url,
        scheme_assumed=scheme_assumed,
        username=options.get(USERNAME),
        password=options.get(PASSWORD),
        ssl_key=options.get(SSL_KEY),
        ssl_certificate=options.get(SSL_CERTIFICATE),
        ssl_certificate_authority=options.get(SSL_CERTIFICATE_AUTHORITY),
        aws_privatelink=options.get(AWS_PRIVATELINK),
        ssh_tunnel=options.get(SSH_TUNNEL),
    )


def _url(options: Options) -> tuple[str, bool]:
    """With a scheme and the PORT option's port.  A path is allowed: Apicurio's Confluent API has one."""
    given = options.get(URL)
    if not given:
        raise InvalidOption("invalid CONNECTION: must specify URL", position=options.position(URL))
    assumed = "://" not in given
    tls = any(options.has(option) for option in (SSL_KEY, SSL_CERTIFICATE, SSL_CERTIFICATE_AUTHORITY))
    full = f"{'https' if tls else 'http'}://{given}" if assumed else given
    parts = _split(full, options)
    port = options.get(PORT)
    if port is not None:
        parts = parts._replace(netloc=f"{parts.netloc.rsplit(':', 1)[0]}:{port}")
    return parts.geturl(), assumed


def _split(url: str, options: Options) -> SplitResult:
    position = options.position(URL)
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidOption(f"invalid CONNECTION: invalid URL: {error}", position=position) from None
    if parts.scheme not in ("http", "https"):
        message = f"invalid CONNECTION: URL has the unknown scheme {parts.scheme}"
        raise InvalidOption(message, hint="Use http or https.", position=position)
    if not host:
        raise InvalidOption("invalid CONNECTION: URL must specify domain name", position=position)
    return parts


TYPE = ConnectionType(name="CONFLUENT SCHEMA REGISTRY", options=OPTIONS, build=build)
