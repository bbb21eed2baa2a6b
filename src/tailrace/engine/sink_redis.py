"""Redis connections and sinks: from statements to what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.catalog.items import Item
from tailrace.engine.secrets import revealed
from tailrace.engine.sink_key import key_places
from tailrace.engine.sink_request import SinkKind, SinkRequest
from tailrace.errors import SqlError
from tailrace.sinks.redis import ChunkSize, RedisSink
from tailrace.sinks.redis_connection import RedisConnection
from tailrace.sinks.redis_definition import RedisSinkDefinition
from tailrace.statements.connections.redis import RedisDetails
from tailrace.statements.sinks.redis import RedisTarget
from tailrace.testing import defences

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine


def connection(engine: Engine, item: Item) -> RedisConnection:
    """The Redis connection of a catalog item, ready to use."""
    details = item.statement.details
    if not isinstance(details, RedisDetails):
        raise SqlError(f"{item.name} is not a REDIS CONNECTION", sqlstate="42809")
    return RedisConnection(
        name=item.name.item,
        host=details.host,
        port=details.port,
        database=details.database,
        user=revealed(engine, details.user),
        password=revealed(engine, details.password),
        ssl_mode=details.ssl_mode,
        ssl_certificate_authority=revealed(engine, details.ssl_certificate_authority),
    )


def validate(engine: Engine, item: Item) -> None:
    connection(engine, item).open().close()


def _define(request: SinkRequest) -> RedisSinkDefinition:
    target, schema = request.statement.target, request.relation.schema
    assert isinstance(target, RedisTarget)
    assert schema is not None
    places = dict(zip(target.key.columns, key_places(schema, target.key), strict=True))
    return RedisSinkDefinition(
        id=request.identity.id,
        name=str(request.identity.name),
        connection=connection(request.engine, request.connection),
        region=request.engine.region,
        schema=schema,
        template=tuple((text, None if column is None else places[column]) for text, column in target.template),
        format=target.format.lower(),
        sole=request.statement.snapshot and not target.key.enforced,
        proven=target.key.enforced,
    )


def _open(engine: Engine, definition: RedisSinkDefinition) -> RedisSink:
    return RedisSink(
        definition,
        engine.views.large,
        small=engine.views.small,
        small_rows=engine.sizes.small_rows,
        chunk=ChunkSize.of_rows(engine.sizes.slot_rows, definition),
        defences=defences.of_redis_sinks(),
    )


KIND = SinkKind(define=_define, open=_open)
