"""Connections as clients need them: options of the statement, secrets looked up, defaults filled in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tailrace.catalog.items import Item
from tailrace.engine import aws, sink_iceberg, sink_postgres, sink_redis
from tailrace.engine.secrets import revealed
from tailrace.errors import NotSupported, SqlError, TailraceError
from tailrace.formats import registry as schema_registry
from tailrace.formats.registry import RegistryConnection
from tailrace.kafka.admin import Topics
from tailrace.kafka.connection import KafkaConnection
from tailrace.sql.names import SecretRef
from tailrace.statements.connections.contract import ConnectionDetails
from tailrace.statements.connections.csr import CsrDetails
from tailrace.statements.connections.iceberg import IcebergDetails
from tailrace.statements.connections.kafka import KafkaDetails

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine



def kafka(engine: Engine, item: Item) -> KafkaConnection:
    """The Kafka connection of a catalog item, ready to use."""
    details = item.statement.details
    if not isinstance(details, KafkaDetails):
        raise SqlError(f"{item.name} is not a KAFKA CONNECTION", sqlstate="42809")
    for option, name in (("SSH TUNNEL", details.ssh_tunnel), ("AWS PRIVATELINK", details.aws_privatelink)):
        if name is not None:
            raise NotSupported(f"{option} of Kafka connections not yet supported")
    if details.aws_connection is not None:
        raise NotSupported("AWS CONNECTION of Kafka connections not yet supported")
    return KafkaConnection(
        id=item.id,
        name=item.name.item,
        brokers=tuple(broker.address for broker in details.brokers),
        security_protocol=details.security_protocol,
        sasl_mechanism=details.sasl_mechanism,
        sasl_username=revealed(engine, details.sasl_username),
        sasl_password=revealed(engine, details.sasl_password),
        ssl_key=revealed(engine, details.ssl_key),
        ssl_certificate=revealed(engine, details.ssl_certificate),
        ssl_certificate_authority=revealed(engine, details.ssl_certificate_authority),
        progress_topic=details.progress_topic or f"_materialize-progress-{engine.region}-{item.id}",
        progress_topic_replication_factor=details.progress_topic_replication_factor,
    )


def registry(engine: Engine, item: Item) -> RegistryConnection:
    """The schema registry connection of a catalog item, ready to use."""
    details = item.statement.details
    if not isinstance(details, CsrDetails):
        raise SqlError(f'"{item.name}" is not a schema registry connection', sqlstate="42809")
    for option, name in (("SSH TUNNEL", details.ssh_tunnel), ("AWS PRIVATELINK", details.aws_privatelink)):
        if name is not None:
            raise NotSupported(f"{option} of schema registry connections not yet supported")
    return RegistryConnection(
        name=item.name.item,
        url=details.url,
        username=revealed(engine, details.username),
        password=revealed(engine, details.password),
        ssl_key=revealed(engine, details.ssl_key),
        ssl_certificate=revealed(engine, details.ssl_certificate),
        ssl_certificate_authority=revealed(engine, details.ssl_certificate_authority),
    )


def needs_of(engine: Engine, details: ConnectionDetails) -> frozenset[str]:
    """Ids of the secrets, and of the connection to its files, that a connection needs: it depends on them."""
    found = set()
    if isinstance(details, IcebergDetails) and details.aws_connection is not None:
        name = details.aws_connection
        found.add(engine.catalog.expect(name.parts, ("connection",), name.position).id)
    for given in details.options.given:
        if isinstance(given.value, SecretRef):
            name = given.value.name
            found.add(engine.catalog.expect(name.parts, ("secret",), name.position).id)
    return frozenset(found)


def validate(engine: Engine, item: Item) -> None:
    """Connects as a source or sink would.  Raises what went wrong."""
    CHECKS[item.statement.type.name](engine, item)


def _check_kafka(engine: Engine, item: Item) -> None:
    Topics(kafka(engine, item)).check_reachable()


def _check_registry(engine: Engine, item: Item) -> None:
    """GET /subjects, with the user's name and password if there are any."""
    connection = registry(engine, item)
    try:
        schema_registry.subjects(connection)
    except TailraceError as error:
        raise type(error)(
            "CONFLUENT SCHEMA REGISTRY validation: list subjects failed",
            detail=f"{connection.url}: {error.message}",
            hint="WITH (VALIDATE = false) creates the connection without trying it.",
            sqlstate=error.sqlstate,
        ) from error


CHECKS: dict[str, Callable[[Engine, Item], None]] = {
    "KAFKA": _check_kafka,
    "CONFLUENT SCHEMA REGISTRY": _check_registry,
    "POSTGRES": sink_postgres.validate,
    "REDIS": sink_redis.validate,
    "AWS": aws.validate,
    "ICEBERG CATALOG": sink_iceberg.validate,
}
"""How each type of connection is tried: one line for each."""
