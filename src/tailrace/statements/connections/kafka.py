"""CREATE CONNECTION … TO KAFKA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tailrace.errors import InvalidOption
from tailrace.sql.kinds import OBJECT, SECRET, SECRET_OR_TEXT, TEXT, Integer, Kind, Several, Unusable
from tailrace.sql.names import Name, SecretRef
from tailrace.sql.options import Option, Options
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer
from tailrace.statements.connections.contract import ConnectionType
from tailrace.statements.topic_name import TOPIC_NAME


@dataclass(frozen=True, slots=True)
class Broker:
    """`'host:port'`, perhaps `USING SSH TUNNEL name`."""

    address: str
    tunnel: Name | None = None


class BrokerAddress(Kind[Broker]):
    shown = "'host:port'"

    def parse(self, p: Parser) -> Broker:
        if TEXT.is_next(p) and not p.token.value.strip():
            raise Unusable("cannot be empty")
        address = TEXT.parse(p)
        tunnel = None
        if p.accept("USING"):
            p.expect("SSH", "TUNNEL")
            tunnel = p.name("connection name")
        return Broker(address, tunnel)

    def show(self, value: Broker, printer: Printer) -> str:
        using = "" if value.tunnel is None else f" USING SSH TUNNEL {printer.name(value.tunnel)}"
        return printer.text(value.address) + using


BROKER = Option("BROKER", BrokerAddress(), doc="One broker to begin with, as 'host:port'.")
BROKERS = Option("BROKERS", Several(BrokerAddress()), doc="Several brokers to begin with.")
AWS_PRIVATELINK = Option("AWS PRIVATELINK", OBJECT, doc="An AWS PrivateLink connection to go through.")
SSH_TUNNEL = Option("SSH TUNNEL", OBJECT, doc="An SSH tunnel connection to go through.")
SECURITY_PROTOCOL = Option(
    "SECURITY PROTOCOL",
    TEXT,
    doc="PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.  Default: SASL_SSL with a SASL option, else SSL.",
)
SASL_MECHANISMS = Option("SASL MECHANISMS", TEXT, doc="PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.")
SASL_USERNAME = Option("SASL USERNAME", SECRET_OR_TEXT, doc="The user to log in as.")
SASL_PASSWORD = Option("SASL PASSWORD", SECRET, doc="The user's password.")
SSL_KEY = Option("SSL KEY", SECRET, doc="The client's private key, PEM.")
SSL_CERTIFICATE = Option("SSL CERTIFICATE", SECRET_OR_TEXT, doc="The client's certificate, PEM.")
SSL_CERTIFICATE_AUTHORITY = Option(
    "SSL CERTIFICATE AUTHORITY", SECRET_OR_TEXT, doc="Who must have signed the brokers' certificates, PEM."
)
AWS_CONNECTION = Option("AWS CONNECTION", OBJECT, doc="An AWS connection to authenticate with (MSK IAM).")
PROGRESS_TOPIC = Option("PROGRESS TOPIC", TOPIC_NAME, doc="Where sinks keep their progress.")
PROGRESS_TOPIC_REPLICATION_FACTOR = Option(
    "PROGRESS TOPIC REPLICATION FACTOR", Integer(), doc="Of a progress topic that we create."
)

OPTIONS: tuple[Option[Any], ...] = (
    *(BROKER, BROKERS, AWS_PRIVATELINK, SSH_TUNNEL, SECURITY_PROTOCOL),
    *(SASL_MECHANISMS, SASL_USERNAME, SASL_PASSWORD),
    *(SSL_KEY, SSL_CERTIFICATE, SSL_CERTIFICATE_AUTHORITY, AWS_CONNECTION),
    *(PROGRESS_TOPIC, PROGRESS_TOPIC_REPLICATION_FACTOR),
)
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_SASL = (SASL_MECHANISMS, SASL_USERNAME, SASL_PASSWORD, AWS_CONNECTION)
_SSL = (SSL_KEY, SSL_CERTIFICATE, SSL_CERTIFICATE_AUTHORITY)


@dataclass(frozen=True, kw_only=True, slots=True)
class KafkaDetails:
    """How to reach a Kafka cluster; secrets are still names."""

    options: Options
    brokers: tuple[Broker, ...]
    security_protocol: str
    sasl_mechanism: str | None
    sasl_username: str | SecretRef | None
    sasl_password: SecretRef | None
    ssl_key: SecretRef | None
    ssl_certificate: str | SecretRef | None
    ssl_certificate_authority: str | SecretRef | None
    aws_connection: Name | None
    aws_privatelink: Name | None
    ssh_tunnel: Name | None
    progress_topic: str | None
    progress_topic_replication_factor: int | None


def build(options: Options) -> KafkaDetails:
    protocol = _protocol(options)
    _check_protocol_takes(options, protocol)
    _check_sasl(options, protocol)
    _check_ssl(options)
    _check_replication_factor(options)
    return KafkaDetails(
        options=options,
        brokers=_brokers(options),
        security_protocol=protocol,
        sasl_mechanism=_mechanism(options),
        sasl_username=options.get(SASL_USERNAME),
        sasl_password=options.get(SASL_PASSWORD),
        ssl_key=options.get(SSL_KEY),
        ssl_certificate=options.get(SSL_CERTIFICATE),
        ssl_certificate_authority=options.get(SSL_CERTIFICATE_AUTHORITY),
        aws_connection=options.get(AWS_CONNECTION),
        aws_privatelink=options.get(AWS_PRIVATELINK),
        ssh_tunnel=options.get(SSH_TUNNEL),
        progress_topic=options.get(PROGRESS_TOPIC),
        progress_topic_replication_factor=options.get(PROGRESS_TOPIC_REPLICATION_FACTOR),
    )


def _brokers(options: Options) -> tuple[Broker, ...]:
    ways = [option for option in (BROKER, BROKERS, AWS_PRIVATELINK) if options.has(option)]
    if len(ways) != 1:
        verb = "can only" if ways else "must"
        raise InvalidOption(
            f"invalid CONNECTION: {verb} set one of BROKER, BROKERS, or AWS PRIVATELINK",
            position=options.position(ways[-1]) if ways else None,
        )
    broker = options.get(BROKER)
    brokers = (broker,) if broker is not None else options.get(BROKERS) or ()
    for each in brokers:
        if "," in each.address:
            raise InvalidOption(
                "invalid CONNECTION: cannot specify multiple Kafka broker addresses in one string",
                hint="Use BROKERS with a string for each, e.g. BROKERS ('kafka:9092', 'kafka:9093').",
                position=options.position(ways[0]),
            )
    return brokers


def _protocol(options: Options) -> str:
    given = options.get(SECURITY_PROTOCOL)
    if given is None:
        return "SASL_SSL" if any(options.has(option) for option in _SASL) else "SSL"
    if given.upper() not in PROTOCOLS:
        raise InvalidOption(
            f"unknown security protocol: {given}",
            hint=f"The protocols are {', '.join(PROTOCOLS)}.",
            position=options.position(SECURITY_PROTOCOL),
        )
    return given.upper()


def _check_protocol_takes(options: Options, protocol: str) -> None:
    taken = (_SASL if protocol.startswith("SASL") else ()) + (_SSL if protocol.endswith("SSL") else ())
    for option in (*_SASL, *_SSL):
        if options.has(option) and option not in taken:
            raise InvalidOption(
                f"option {option.name} not supported with this configuration",
                detail=f"The security protocol is {protocol}.",
                position=options.position(option),
            )


def _check_sasl(options: Options, protocol: str) -> None:
    if not protocol.startswith("SASL") or options.has(AWS_CONNECTION):
        return
    for option in (SASL_MECHANISMS, SASL_USERNAME, SASL_PASSWORD):
        if not options.has(option):
            raise InvalidOption(f"{option.name} must be specified")


def _mechanism(options: Options) -> str | None:
    given = options.get(SASL_MECHANISMS)
    if given is not None and given.upper() not in MECHANISMS:
        raise InvalidOption(
            f"invalid SASL MECHANISMS: {given}",
            hint=f"Use one of {', '.join(MECHANISMS)}.",
            position=options.position(SASL_MECHANISMS),
        )
    return None if given is None else given.upper()


def _check_ssl(options: Options) -> None:
    for given, needed in ((SSL_CERTIFICATE, SSL_KEY), (SSL_KEY, SSL_CERTIFICATE)):
        if options.has(given) and not options.has(needed):
            message = f"{needed.name} must be specified with {given.name}"
            raise InvalidOption(message, position=options.position(given))


def _check_replication_factor(options: Options) -> None:
    factor = options.get(PROGRESS_TOPIC_REPLICATION_FACTOR)
    if factor is not None and factor <= 0:
        raise InvalidOption(
            "invalid CONNECTION: PROGRESS TOPIC REPLICATION FACTOR must be greater than 0",
            position=options.position(PROGRESS_TOPIC_REPLICATION_FACTOR),
        )


TYPE = ConnectionType(
    name="KAFKA",
    options=OPTIONS,
    build=build,
    unalterable=(PROGRESS_TOPIC, PROGRESS_TOPIC_REPLICATION_FACTOR),
)
