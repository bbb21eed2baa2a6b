"""Postgres connections and sinks: from statements to what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.catalog.items import Item
from tailrace.engine.secrets import needed, revealed
from tailrace.engine.sink_key import key_places
from tailrace.engine.sink_request import SinkKind, SinkRequest
from tailrace.errors import NotSupported, SqlError
from tailrace.sinks.postgres import PostgresSink
from tailrace.sinks.postgres_connection import PostgresConnection
from tailrace.sinks.postgres_definition import PostgresSinkDefinition
from tailrace.statements.connections.postgres import PostgresDetails
from tailrace.statements.sinks.postgres import PostgresTarget
from tailrace.testing import defences

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine


def connection(engine: Engine, item: Item) -> PostgresConnection:
    """The Postgres connection of a catalog item, ready to use."""
    details = item.statement.details
    if not isinstance(details, PostgresDetails):
        raise SqlError(f"{item.name} is not a POSTGRES CONNECTION", sqlstate="42809")
    for option, name in (("SSH TUNNEL", details.ssh_tunnel), ("AWS PRIVATELINK", details.aws_privatelink)):
        if name is not None:
            raise NotSupported(f"{option} of Postgres connections not yet supported")
    return PostgresConnection(
        name=item.name.item,
        host=details.host,
        port=details.port,
        database=details.database,
        user=needed(engine, details.user),
        password=revealed(engine, details.password),
        ssl_mode=details.ssl_mode,
        ssl_key=revealed(engine, details.ssl_key),
        ssl_certificate=revealed(engine, details.ssl_certificate),
        ssl_certificate_authority=revealed(engine, details.ssl_certificate_authority),
    )


def validate(engine: Engine, item: Item) -> None:
    connection(engine, item).open("tailrace validation").close()


def _define(request: SinkRequest) -> PostgresSinkDefinition:
    target, schema = request.statement.target, request.relation.schema
    assert isinstance(target, PostgresTarget)
    assert schema is not None
    return PostgresSinkDefinition(
        id=request.identity.id,
        name=str(request.identity.name),
        connection=connection(request.engine, request.connection),
        region=request.engine.region,
        table=target.table,
        schema=schema,
        key=key_places(schema, target.key),
        sole=request.statement.snapshot and not target.key.enforced,
        proven=target.key.enforced,
    )


def _open(engine: Engine, definition: PostgresSinkDefinition) -> PostgresSink:
    return PostgresSink(
        definition,
        engine.views.large,
        small=engine.views.small,
        small_rows=engine.sizes.small_rows,
        defences=defences.of_postgres_sinks(),
    )


KIND = SinkKind(define=_define, open=_open)
