"""Sinks: from CREATE SINK to a target that the tick loop delivers to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tailrace.catalog.items import Item
from tailrace.engine import avro_sinks, connections
from tailrace.engine.contents import wait_until_filled
from tailrace.engine.define import Identity, scan_of
from tailrace.engine.partition_by import partition_by
from tailrace.errors import (
    DuplicateColumn,
    KeyNotUnique,
    NotSupported,
    TypeMismatch,
    UnknownColumn,
    WrongObjectType,
)
from tailrace.formats.encode_contract import Encoder
from tailrace.formats.encoders import encoder
from tailrace.kafka.admin import ASK_THE_BROKER, TopicLayout
from tailrace.kafka.connection import KafkaConnection
from tailrace.plan.nodes import Key
from tailrace.sinks.contract import Sink
from tailrace.sinks.envelope import DEBEZIUM, UPSERT
from tailrace.sinks.kafka import KafkaSink
from tailrace.sinks.kafka_definition import KafkaSinkDefinition
from tailrace.statements import formats
from tailrace.statements.contract import Result
from tailrace.statements.sinks.kafka import KafkaTarget, SinkEnvelope, SinkKey
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
        made = item(session, statement, Identity(id=identity.id, name=identity.name, facts=facts))
        for connection in _connections(session, statement):
            connections.validate(engine, connection)
        return made

    with engine.cluster.pinned() as done:  # until the sink itself says from which tick on it wants single ticks
        return session.create("sink", statement.name, define, if_not_exists=statement.if_not_exists)


def checked(session: EngineSession, statement: CreateSink) -> tuple[Item, KafkaTarget]:
    """The relation and the target of a new sink, if they go together; comments are copied into the target."""
    relation, target = _relation(session, statement), _target(statement)
    target.check()
    if target.key is not None and target.envelope is SinkEnvelope.UPSERT:
        if target.key.enforced:
            check_key(relation, target.key)
        else:
            session.notice("upsert key not validated to be unique")
    return relation, avro_sinks.checked(session.engine, target, relation)


def _relation(session: EngineSession, statement: CreateSink) -> Item:
    relation = session.resolve(statement.relation)
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
    """To Kafka, and to the schema registries of the formats; each one once."""
    target = _target(statement)
    both = (target.formats.of_key, target.formats.value)
    names = [target.connection, *(each.connection for each in both if isinstance(each, formats.AvroRegistry))]
    return list({item.id: item for item in (session.resolve(name, "connection") for name in names)}.values())


def item(session: EngineSession, statement: CreateSink, identity: Identity) -> Item:
    relation = session.resolve(statement.relation)
    used = _connections(session, statement)
    definition_of(session.engine, statement, identity, relation, connections.kafka(session.engine, used[0]))
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


def open_sink(engine: Engine, sink: Item, relation: Item) -> Sink:
    """The running sink of a catalog item."""
    target = _target(sink.statement)
    connection = connections.kafka(engine, engine.catalog.resolve(target.connection.parts))
    identity = Identity(id=sink.id, name=sink.name, facts=sink.facts)
    definition = definition_of(engine, sink.statement, identity, relation, connection)
    limits, small = engine.sizes.of_kafka_sinks, engine.views.small
    return KafkaSink(definition, engine.spark, limits, defences.of_kafka_sinks(), small=small)


def definition_of(
    engine: Engine, statement: CreateSink, identity: Identity, relation: Item, connection: KafkaConnection
) -> KafkaSinkDefinition:
    target = _target(statement)
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
    )


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


def key_places(schema: Schema, key: SinkKey) -> tuple[int, ...]:
    names = [column.name for column in schema]
    for i, name in enumerate(key.columns):
        if name in key.columns[:i]:
            raise DuplicateColumn(f"duplicate column referenced in KEY: {name}", position=key.position)
        if name not in names:
            raise UnknownColumn(f"column referenced in KEY does not exist: {name}", position=key.position)
    return tuple(names.index(name) for name in key.columns)


def check_key(relation: Item, key: SinkKey) -> None:
    """The key must contain columns that are known to identify a row."""
    assert relation.schema is not None
    places = frozenset(key_places(relation.schema, key))
    if any(known <= places for known in relation.keys):
        return
    specified = ", ".join(f'"{name}"' for name in key.columns)
    raise KeyNotUnique(
        "upsert key could not be validated as unique",
        detail=(
            f"Tailrace could not prove that the specified upsert envelope key ({specified}) is a unique key of the"
            f" upstream relation. {_known_keys(relation.schema, relation.keys)}"
        ),
        hint="Use one of the known keys, or add NOT ENFORCED if you know the rows to be unique.",
        position=key.position,
    )


def _known_keys(schema: Schema, keys: frozenset[Key]) -> str:
    if not keys:
        return "There are no known valid unique keys for the upstream relation."
    lines = sorted("  (" + ", ".join(f'"{schema[i].name}"' for i in sorted(key)) + ")" for key in keys)
    return "\n".join(["The following keys are known to be unique for the upstream relation:", *lines])


def _target(statement: CreateSink) -> KafkaTarget:
    return statement.target


def encoder_of(engine: Engine, target: KafkaTarget, side: str, relation: Item) -> Encoder:
    """Of the keys or of the values."""
    format = target.formats.of_key if side == avro_sinks.KEY else target.formats.value
    match format:
        case formats.Json() | formats.Text() | formats.Bytes():
            return encoder(type(format).__name__.lower())
        case formats.AvroRegistry():
            return avro_sinks.encoder(engine, format, side, target.topic, relation)
        case _:
            raise NotSupported(f"{type(format).__name__} format in sinks not yet supported")
