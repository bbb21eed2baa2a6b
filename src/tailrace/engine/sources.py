"""Sources: from CREATE SOURCE to a relation that the tick loop reads."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tailrace.catalog.items import FullName, Item
from tailrace.engine import avro_sources, connections
from tailrace.engine.define import Identity
from tailrace.errors import NotSupported
from tailrace.formats.decode_bytes import BytesDecoder
from tailrace.formats.decode_contract import Decoder
from tailrace.formats.decode_csv import CsvDecoder
from tailrace.formats.decode_json import JsonDecoder
from tailrace.formats.decode_text import TextDecoder
from tailrace.kafka.connection import KafkaConnection
from tailrace.sources.kafka import KafkaSource
from tailrace.sources.kafka_debezium import laid_out
from tailrace.sources.kafka_definition import (
    DEAD_LETTERS,
    Envelope,
    Include,
    IncludeHeader,
    IncludeHeaders,
    IncludeKey,
    IncludeOffset,
    IncludePartition,
    IncludeTimestamp,
    KafkaSourceDefinition,
    source_keys,
    source_schema,
)
from tailrace.sources.kafka_offsets import LatestOffsets
from tailrace.sources.kafka_start import resolve_start, start_of, validate_topic
from tailrace.sources.kafka_upsert import UpsertSource
from tailrace.statements import formats, ingest
from tailrace.statements.contract import Result
from tailrace.statements.ingest import EnvelopeKind
from tailrace.statements.sources.kafka import KafkaOrigin

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine
    from tailrace.engine.session import EngineSession
    from tailrace.statements.create_source import CreateSource

_ENVELOPES = {
    EnvelopeKind.NONE: Envelope.NONE,
    EnvelopeKind.UPSERT: Envelope.UPSERT,
    EnvelopeKind.DEBEZIUM: Envelope.UPSERT,
}


class SharedOffsets:
    """One question for end offsets per connection, however many sources it has."""

    def __init__(self) -> None:
        self._by_connection: dict[KafkaConnection, LatestOffsets] = {}

    def of(self, connection: KafkaConnection) -> LatestOffsets:
        if connection not in self._by_connection:
            self._by_connection[connection] = LatestOffsets(connection)
        return self._by_connection[connection]

    def close(self) -> None:
        self._by_connection.clear()


def create(session: EngineSession, statement: CreateSource) -> Result:
    """CREATE SOURCE: looks the topic up, fixes the start, and makes the relation of its dead letters too."""
    engine = session.engine
    full = engine.catalog.full_name(statement.name.parts)
    letters = FullName(full.database, full.schema, f"{full.item}_dead_letters")

    def define(identity: Identity) -> Item:
        origin = _kafka(statement)
        connection = connections.kafka(engine, session.resolve(origin.connection, "connection"))
        topic = validate_topic(connection, origin.topic)
        start = resolve_start(connection, topic, start_of(origin.start_offset or None, origin.start_timestamp))
        facts = {"start": {str(p): o for p, o in start.items()}, "topic_id": topic.id}
        facts |= avro_sources.schemas(engine, statement.ingest, origin.topic)
        return item(session, statement, Identity(id=identity.id, name=identity.name, facts=facts))

    def also(source: Item) -> list[Item]:
        facts = {"dead_letters_of": source.id}
        return [dead_letters(source, Identity(id=engine.storage.next_id(), name=letters, facts=facts))]

    return session.create("source", statement.name, define, if_not_exists=statement.if_not_exists, also=also)


def item(session: EngineSession, statement: CreateSource, identity: Identity) -> Item:
    connection = session.resolve(_kafka(statement).connection, "connection")
    definition = definition_of(session.engine, statement, identity, connections.kafka(session.engine, connection))
    return Item(
        id=identity.id,
        kind="source",
        name=identity.name,
        statement=statement,
        create_sql=statement.create_sql(session.printer()),
        depends_on=frozenset({connection.id, *_registries(session, statement)}),
        schema=source_schema(definition),
        keys=source_keys(definition),
        append_only=definition.envelope is Envelope.NONE,
        cluster=statement.cluster or session.variables.get("cluster"),
        facts=identity.facts,
    )


def _registries(session: EngineSession, statement: CreateSource) -> list[str]:
    """Ids of the schema registry connections that the formats name."""
    both = (avro_sources.format_of(statement.ingest, side) for side in (avro_sources.KEY, avro_sources.VALUE))
    names = [format.connection for format in both if isinstance(format, formats.AvroRegistry)]
    return [session.resolve(name, "connection").id for name in names]


def dead_letters(owner: Item, identity: Identity) -> Item:
    """The relation of a source's messages that could not be decoded."""
    return Item(
        id=identity.id,
        kind="source",
        name=identity.name,
        statement=None,
        create_sql=f"-- made by CREATE SOURCE {owner.name}",
        depends_on=frozenset({owner.id}),
        schema=DEAD_LETTERS,
        append_only=True,
        cluster=owner.cluster,
        facts=identity.facts,
    )


def definition_of(
    engine: Engine, statement: CreateSource, identity: Identity, connection: KafkaConnection
) -> KafkaSourceDefinition:
    origin, clauses = _kafka(statement), statement.ingest
    if clauses.formats is None:
        hint = "Add FORMAT JSON, AVRO, TEXT, BYTES or CSV."
        raise NotSupported("CREATE SOURCE without FORMAT not yet supported", hint=hint)
    if clauses.envelope.kind not in _ENVELOPES or clauses.envelope.error_column is not None:
        raise NotSupported(f"{clauses.envelope.sql()} not yet supported")
    key_format = avro_sources.format_of(clauses, avro_sources.KEY)
    changes = clauses.envelope.kind is EnvelopeKind.DEBEZIUM
    decoders = {
        side: _decoder(engine, format, side, identity.facts, changes=changes and side == avro_sources.VALUE)
        for side, format in ((avro_sources.KEY, key_format), (avro_sources.VALUE, clauses.formats.value))
        if format is not None
    }
    definition = KafkaSourceDefinition(
        id=identity.id,
        name=str(identity.name),
        connection=connection,
        region_id=engine.region,
        topic=origin.topic,
        value_format=decoders[avro_sources.VALUE],
        key_format=decoders.get(avro_sources.KEY),
        envelope=_ENVELOPES[clauses.envelope.kind],
        include=tuple(_include(each) for each in clauses.include),
        column_names=statement.columns,
        start_offsets={int(p): offset for p, offset in identity.facts.get("start", {}).items()},
        topic_id=identity.facts.get("topic_id"),
        group_id_prefix=origin.group_id_prefix,
        metadata_refresh=origin.topic_metadata_refresh_interval or timedelta(seconds=30),
    )
    return laid_out(definition) if changes else definition


def open_source(engine: Engine, source: Item, offsets: SharedOffsets) -> KafkaSource | UpsertSource:
    """The running source of a catalog item."""
    origin = _kafka(source.statement)
    connection = connections.kafka(engine, engine.catalog.resolve(origin.connection.parts))
    identity = Identity(id=source.id, name=source.name, facts=source.facts)
    definition = definition_of(engine, source.statement, identity, connection)
    kind = UpsertSource if definition.envelope is Envelope.UPSERT else KafkaSource
    return kind(definition, offsets.of(connection))


def _kafka(statement: CreateSource) -> KafkaOrigin:
    if not isinstance(statement.origin, KafkaOrigin):
        raise NotSupported("FROM LOAD GENERATOR not yet supported")
    return statement.origin


def _decoder(
    engine: Engine, format: formats.Format, side: str, facts: Mapping[str, Any], *, changes: bool
) -> Decoder:
    match format:
        case formats.AvroRegistry() | formats.AvroSchema():
            return avro_sources.decoder(engine, format, side, facts, changes=changes)
        case formats.Json():
            return JsonDecoder()
        case formats.Text():
            return TextDecoder()
        case formats.Bytes():
            return BytesDecoder()
        case formats.Csv(columns=int() as count, delimiter=delimiter):
            return CsvDecoder.with_columns(count, delimiter)
        case _:
            raise NotSupported(f"{type(format).__name__} format in sources not yet supported")


def _include(item: ingest.Include) -> Include:
    kinds = ingest.Metadata
    match item.metadata:
        case kinds.KEY:
            return IncludeKey(item.alias)
        case kinds.PARTITION:
            return IncludePartition(item.alias or "partition")
        case kinds.OFFSET:
            return IncludeOffset(item.alias or "offset")
        case kinds.TIMESTAMP:
            return IncludeTimestamp(item.alias or "timestamp")
        case kinds.HEADERS:
            return IncludeHeaders(item.alias or "headers")
        case kinds.HEADER:
            return IncludeHeader(item.header or "", item.alias or "header", item.as_bytes)
