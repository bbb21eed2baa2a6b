"""Sinks: from CREATE SINK to a target that the tick loop delivers to."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tailrace.catalog.items import Item, whole
from tailrace.engine import avro_sinks, connections, sink_iceberg, sink_postgres, sink_redis
from tailrace.engine.contents import wait_until_filled
from tailrace.engine.define import Identity, scan_of
from tailrace.engine.partition_by import partition_by
from tailrace.engine.sink_key import check_key, key_places
from tailrace.engine.sink_request import SinkKind, SinkRequest
from tailrace.engine.widening import read_by
from tailrace.errors import NotSupported, TypeMismatch, UnknownColumn, WrongObjectType
from tailrace.formats.encode_contract import Encoder, Origin
from tailrace.formats.encoders import encoder
from tailrace.kafka.admin import ASK_THE_BROKER, TopicLayout
from tailrace.kafka.connection import KafkaConnection
from tailrace.sinks.contract import Sink
from tailrace.sinks.envelope import DEBEZIUM, UPSERT
from tailrace.sinks.kafka import KafkaSink
from tailrace.sinks.kafka_definition import KafkaSinkDefinition
from tailrace.statements import formats
from tailrace.statements.contract import Result
from tailrace.statements.sinks.contract import SinkEnvelope
from tailrace.statements.sinks.kafka import KafkaTarget
from tailrace.statements.sinks.registry import Target
from tailrace.testing import defences
from tailrace.types.core import BEGINNING, BYTEA, TEXT, MapOf, Schema

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine
    from tailrace.engine.session import EngineSession
    from tailrace.statements.create_sink import CreateSink

_SINKABLE = ("table", "source", "materialized view")


def create(session: EngineSession, statement: CreateSink) -> Result:
    """CREATE SINK: checks what can be checked without touching the target; the running sink does the rest."""
    engine = session.engine
    relation, target = checked(session, statement)
    statement = replace(statement, target=target)
    if not statement.snapshot:
        wait_until_filled(engine, scan_of(relation))

    def define(identity: Identity) -> Item:
        facts = {"from": relation.id, "start": BEGINNING if statement.snapshot else done}
        return item(session, statement, Identity(id=identity.id, name=identity.name, facts=facts))

    def try_out(_: Item) -> None:
        for connection in _connections(session, statement):
            if connection.statement.type.validated:  # others can be used even if they cannot be tried
                connections.validate(engine, connection)

    with engine.cluster.pinned() as done:  # until the sink itself says from which tick on it wants single ticks
        return session.create(
            "sink", statement.name, define, if_not_exists=statement.if_not_exists, try_out=try_out
        )


def checked(session: EngineSession, statement: CreateSink) -> tuple[Item, Target]:
    """The relation and the target of a new sink, if they go together; comments are copied into the target."""
    relation, target = _relation(session, statement), statement.target
    target.check()
    if target.key is not None and target.envelope is SinkEnvelope.UPSERT:
        if target.key.enforced:
            check_key(relation, target.key)
        else:
            session.notice("upsert key not validated to be unique")
    if isinstance(target, KafkaTarget):
        target = avro_sinks.checked(session.engine, target, relation)
    return relation, target


def _relation(session: EngineSession, statement: CreateSink) -> Item:
    relation = whole(session.resolve(statement.relation))
    if relation.kind == "system table":
        raise NotSupported("creating a sink directly on a catalog object not yet supported")
    if relation.kind not in _SINKABLE:
        raise WrongObjectType(
            f"{relation.kind} {relation.name.item} cannot be exported as a sink",
            hint="Create a materialized view of it." if relation.kind == "view" else None,
            position=statement.relation.position,
        )
    return relation


def _connections(session: EngineSession, statement: CreateSink) -> list[Item]:
    """To the target, and to what else it needs; each one once."""
    items = (session.resolve(name, "connection") for name in statement.target.connections)
    return list({item.id: item for item in items}.values())


def item(session: EngineSession, statement: CreateSink, identity: Identity) -> Item:
    relation = read_by(identity.facts, whole(session.resolve(statement.relation)))
    used = _connections(session, statement)
    request = SinkRequest(
        engine=session.engine, statement=statement, identity=identity, relation=relation, connection=used[0]
    )
    _kind(statement).define(request)  # a definition that can be made is valid
    return Item(
        id=identity.id,
        kind="sink",
        name=identity.name,
        statement=statement,
        create_sql=statement.create_sql(session.printer()),
        depends_on=frozenset({relation.id, *(connection.id for connection in used)}),
        cluster=statement.cluster or session.variables.get("cluster"),
        facts=identity.facts,
    )


def alter(session: EngineSession, sink: Item, statement: CreateSink) -> None:
    """The same sink with another interval: what waits for the old one to pass is written at once."""
    engine = session.engine
    engine.swap(replace(sink, statement=statement, create_sql=statement.create_sql(session.printer())))
    work = partial(engine.cluster.deliveries[sink.id].begin_interval, statement.commit_interval)
    engine.loop.do(work, lanes=engine.cluster.lanes.of([sink.id]))


def open_sink(engine: Engine, sink: Item, relation: Item) -> Sink:
    """The running sink of a catalog item."""
    return _kind(sink.statement).open(engine, definition(engine, sink, relation))


def definition(engine: Engine, sink: Item, relation: Item) -> Any:
    """What a catalog item of a sink means, as its kind defines it."""
    statement: CreateSink = sink.statement
    request = SinkRequest(
        engine=engine,
        statement=statement,
        identity=Identity(id=sink.id, name=sink.name, facts=sink.facts),
        relation=relation,
        connection=engine.catalog.resolve(statement.target.connection.parts),
    )
    return _kind(statement).define(request)


def _kafka_definition(request: SinkRequest) -> KafkaSinkDefinition:
    connection = connections.kafka(request.engine, request.connection)
    return definition_of(request.engine, request.statement, request.identity, request.relation, connection)


def _open_kafka(engine: Engine, definition: KafkaSinkDefinition) -> Sink:
    limits, small = engine.sizes.of_kafka_sinks, engine.views.small
    return KafkaSink(definition, engine.views.large, limits, defences.of_kafka_sinks(), small=small)


KINDS: dict[str, SinkKind[Any]] = {
    "kafka": SinkKind(define=_kafka_definition, open=_open_kafka),
    "iceberg": sink_iceberg.KIND,
    "postgres": sink_postgres.KIND,
    "redis": sink_redis.KIND,
}
"""By the type of the statement's target: one file and one line for each."""


def _kind(statement: CreateSink) -> SinkKind[Any]:
    return KINDS[statement.target.type]


def definition_of(
    engine: Engine, statement: CreateSink, identity: Identity, relation: Item, connection: KafkaConnection
) -> KafkaSinkDefinition:
    target = statement.target
    assert isinstance(target, KafkaTarget)
    assert relation.schema is not None
    key = None if target.key is None else key_places(relation.schema, target.key)
    return KafkaSinkDefinition(
        id=identity.id,
        name=str(identity.name),
        connection=connection,
        region=engine.region,
        topic=target.topic,
        schema=relation.schema,
        key=key,
        headers=headers_place(relation.schema, target),
        partition_by=_partition_by(engine, target, relation.schema, key),
        key_format=encoder_of(engine, target, avro_sinks.KEY, relation),
        value_format=encoder_of(engine, target, avro_sinks.VALUE, relation),
        envelope=UPSERT if target.envelope is SinkEnvelope.UPSERT else DEBEZIUM,
        watches_key=target.envelope is SinkEnvelope.UPSERT and target.key is not None and not target.key.enforced,
        origin=_origin(target, relation),
        compression=target.compression_type,
        topic_layout=TopicLayout(
            partitions=target.topic_partition_count or ASK_THE_BROKER,
            replication_factor=target.topic_replication_factor or ASK_THE_BROKER,
            config=dict(target.topic_config),
        ),
        topic_refresh_seconds=target.topic_metadata_refresh_interval.total_seconds(),
        transactional_id_prefix=target.transactional_id_prefix or "",
        progress_group_id_prefix=target.progress_group_id_prefix or "",
        guarantee=statement.delivery_guarantee.value,
        atomic=statement.atomic,
        version=identity.facts.get("version", 0),
    )


def _origin(target: KafkaTarget, relation: Item) -> Origin | None:
    if not target.tells_origin:
        return None
    name = relation.name
    return Origin(name="materialize", database=name.database, schema=name.schema, table=name.item)


def headers_place(schema: Schema, target: KafkaTarget) -> int | None:
    if target.headers is None:
        return None
    place = next((i for i, column in enumerate(schema) if column.name == target.headers), None)
    if place is None:
        raise UnknownColumn(f"HEADERS column ({target.headers}) is unknown", position=target.headers_position)
    if schema[place].type not in (MapOf(TEXT), MapOf(BYTEA)):
        raise TypeMismatch(
            "HEADERS column must have type map[text => text] or map[text => bytea]",
            detail=f'Column "{target.headers}" has type {schema[place].type}.',
            position=target.headers_position,
        )
    return place


def _partition_by(engine: Engine, target: KafkaTarget, schema: Schema, key: tuple[int, ...] | None) -> str | None:
    """With UPSERT any column can be used, with DEBEZIUM those of the key."""
    if target.partition_by is None:
        return None
    of_key = target.envelope is SinkEnvelope.DEBEZIUM
    allowed = frozenset(key or () if of_key else range(len(schema)))
    return partition_by(target.partition_by, schema, allowed, engine.catalog)


def encoder_of(engine: Engine, target: KafkaTarget, side: str, relation: Item) -> Encoder:
    """Of the keys or of the values."""
    format = target.formats.of_key if side == avro_sinks.KEY else target.formats.value
    match format:
        case formats.Json() | formats.Text() | formats.Bytes():
            return encoder(type(format).__name__.lower())
        case formats.AvroRegistry():
            return avro_sinks.encoder(engine, format, side, target, relation)
        case _:
            raise formats.refused(format, "sinks")
