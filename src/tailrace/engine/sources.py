"""Sources: from CREATE SOURCE to a relation that the tick loop reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tailrace.catalog.items import Item
from tailrace.engine import avro_sources, connections, generated_sources, privileges
from tailrace.engine.define import Identity, made_with
from tailrace.errors import InvalidOption, NotSupported, SqlError, UnknownColumn
from tailrace.formats.decode_bytes import BytesDecoder
from tailrace.formats.decode_contract import Decoder
from tailrace.formats.decode_csv import CsvDecoder
from tailrace.formats.decode_json import JsonDecoder
from tailrace.formats.decode_regex import RegexDecoder
from tailrace.formats.decode_text import TextDecoder
from tailrace.formats.inline_errors import InlineErrors
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
from tailrace.sources.progress import PROGRESS
from tailrace.sql.names import Name, QueryText
from tailrace.sql.unparse import quote_literal
from tailrace.statements import formats, ingest
from tailrace.statements.contract import Result
from tailrace.statements.ingest import EnvelopeKind
from tailrace.statements.sources.kafka import KafkaOrigin
from tailrace.statements.sources.load_generator import LoadGeneratorOrigin
from tailrace.types.core import BOOLEAN, Schema

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine
    from tailrace.engine.session import EngineSession
    from tailrace.statements.create_source import CreateSource
    from tailrace.statements.create_table_from_source import CreateTableFromSource

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
    """CREATE SOURCE: looks the topic up, fixes the start, and makes the relation of its dead letters too.

    Without a FORMAT it is no relation: it is there for the tables that are made from it.
    """
    engine = session.engine
    _check_progress(statement)
    if statement.timestamp_interval is not None:
        session.notice("TIMESTAMP INTERVAL has no effect: all sources share the ticks of their cluster")
    if isinstance(statement.origin, LoadGeneratorOrigin):
        return generated_sources.create(session, statement)
    if statement.progress is not None and len(statement.progress.parts) == 1:  # it is where its source is
        full = session.catalog.full_name(statement.name.parts)
        beside = Name(replace(full, item=statement.progress.item).parts, statement.progress.position)
        statement = replace(statement, progress=beside)

    def define(identity: Identity) -> Item:
        privileges.check_new(session, _unread(session, statement, identity))
        origin = _kafka(statement)
        connection = connections.kafka(engine, session.resolve(origin.connection, "connection"))
        check_patterns(session, statement.ingest)
        topic = validate_topic(connection, origin.topic)
        start = resolve_start(connection, topic, start_of(origin.start_offset or None, origin.start_timestamp))
        facts = {"start": {str(p): o for p, o in start.items()}, "topic_id": topic.id}
        facts |= avro_sources.schemas(engine, statement.ingest, origin.topic)
        return item(session, statement, Identity(id=identity.id, name=identity.name, facts=facts))

    def also(source: Item) -> list[Item]:
        if source.schema is None:
            return []
        facts = {"dead_letters_of": source.id}
        letters = replace(source.name, item=f"{source.name.item}_dead_letters")
        made = [dead_letters(source, Identity(id=engine.storage.next_id(), name=letters, facts=facts))]
        if statement.progress is not None:
            name, facts = session.catalog.full_name(statement.progress.parts), {"progress_of": source.id}
            made.append(progress(source, Identity(id=engine.storage.next_id(), name=name, facts=facts)))
        return made

    return session.create("source", statement.name, define, if_not_exists=statement.if_not_exists, also=also)


def _check_progress(statement: CreateSource) -> None:
    if statement.progress is None or (isinstance(statement.origin, KafkaOrigin) and statement.ingest.formats):
        return
    raise NotSupported(
        "EXPOSE PROGRESS AS not yet supported here",
        detail="A LOAD GENERATOR has no offsets, and a source without a FORMAT is read by each of its tables.",
        hint="mz_internal.mz_source_statistics says how far sources are.",
        position=statement.progress.position,
    )


def item(session: EngineSession, statement: CreateSource, identity: Identity) -> Item:
    if isinstance(statement.origin, LoadGeneratorOrigin):
        return generated_sources.item(session, statement, identity)
    if statement.ingest.formats is not None:
        return _relation(session, statement, identity, "source", statement)
    return _unread(session, statement, identity)


def _unread(session: EngineSession, statement: CreateSource, identity: Identity) -> Item:
    """The source as far as nobody outside needs to be asked: it is no relation."""
    connection = session.resolve(_kafka(statement).connection, "connection")
    return Item(
        id=identity.id,
        kind="source",
        name=identity.name,
        statement=statement,
        create_sql=statement.create_sql(session.printer()),
        depends_on=frozenset({connection.id, *_registries(session, statement)}),
        cluster=statement.cluster or session.variables.get("cluster"),
        facts=identity.facts,
    )


def unread_table(session: EngineSession, table: CreateTableFromSource, source: Item, identity: Identity) -> Item:
    """What is known of it before anybody outside has been asked."""
    made = _unread(session, _as_source(table, source), identity)
    return replace(made, depends_on=made.depends_on | {source.id})


def table_item(session: EngineSession, table: CreateTableFromSource, source: Item, identity: Identity) -> Item:
    """A Kafka source read in a table's own way."""
    made = _relation(session, _as_source(table, source), identity, "table", table)
    return replace(made, depends_on=made.depends_on | {source.id})


def _as_source(table: CreateTableFromSource, source: Item) -> CreateSource:
    """The source that would be the table's relation."""
    statement: CreateSource = source.statement
    return replace(statement, ingest=table.ingest, columns=table.columns, key=table.key)


def _relation(
    session: EngineSession,
    statement: CreateSource,
    identity: Identity,
    kind: str,
    written: CreateSource | CreateTableFromSource,
) -> Item:
    connection = session.resolve(_kafka(statement).connection, "connection")
    definition = definition_of(session.engine, statement, identity, connections.kafka(session.engine, connection))
    return Item(
        id=identity.id,
        kind=kind,
        name=identity.name,
        statement=written,
        create_sql=written.create_sql(session.printer()),
        depends_on=frozenset({connection.id, *_registries(session, statement)}),
        schema=(schema := source_schema(definition)),
        keys=source_keys(definition) | declared_key(schema, statement.key),
        append_only=definition.envelope is Envelope.NONE,
        cluster=statement.cluster or session.variables.get("cluster"),
        facts=identity.facts,
    )


def declared_key(schema: Schema, key: tuple[str, ...] | None) -> frozenset[frozenset[int]]:
    """PRIMARY KEY (…) NOT ENFORCED, as places."""
    if key is None:
        return frozenset()
    names = [column.name for column in schema]
    for name in key:
        if name not in names:
            raise UnknownColumn(f'column "{name}" named in key does not exist')
    return frozenset({frozenset(names.index(name) for name in key)})


def _registries(session: EngineSession, statement: CreateSource) -> list[str]:
    """Ids of the schema registry connections that the formats name."""
    both = (avro_sources.format_of(statement.ingest, side) for side in (avro_sources.KEY, avro_sources.VALUE))
    names = [format.connection for format in both if isinstance(format, formats.AvroRegistry)]
    return [session.resolve(name, "connection").id for name in names]


def dead_letters(owner: Item, identity: Identity) -> Item:
    """The relation of a source's messages that could not be decoded."""
    return made_with(owner, identity, DEAD_LETTERS, append_only=True)


def progress(owner: Item, identity: Identity) -> Item:
    """The relation of how far a source has been read."""
    return replace(made_with(owner, identity, PROGRESS, append_only=False), keys=frozenset({frozenset({0})}))


def definition_of(
    engine: Engine, statement: CreateSource, identity: Identity, connection: KafkaConnection
) -> KafkaSourceDefinition:
    origin, clauses = _kafka(statement), statement.ingest
    if clauses.formats is None:
        hint = "Add FORMAT JSON, AVRO, TEXT, BYTES, CSV or REGEX."
        raise SqlError("a relation of a Kafka source needs a FORMAT", hint=hint, sqlstate="42601")
    if clauses.envelope.kind not in _ENVELOPES:
        raise NotSupported(f"{clauses.envelope.sql()} not yet supported")
    key_format = avro_sources.format_of(clauses, avro_sources.KEY)
    changes = clauses.envelope.kind is EnvelopeKind.DEBEZIUM
    decoders = {
        side: _decoder(engine, format, side, identity.facts, changes=changes and side == avro_sources.VALUE)
        for side, format in ((avro_sources.KEY, key_format), (avro_sources.VALUE, clauses.formats.value))
        if format is not None
    }
    if clauses.envelope.error_column is not None:
        decoders[avro_sources.VALUE] = InlineErrors(decoders[avro_sources.VALUE], clauses.envelope.error_column)
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
    """The running source of a catalog item: a source, or a table made from one."""
    statement = source.statement
    if "source" in source.facts:
        statement = _as_source(statement, engine.catalog.items[source.facts["source"]])
    origin = _kafka(statement)
    connection = connections.kafka(engine, engine.catalog.resolve(origin.connection.parts))
    identity = Identity(id=source.id, name=source.name, facts=source.facts)
    definition = definition_of(engine, statement, identity, connection)
    kind = UpsertSource if definition.envelope is Envelope.UPSERT else KafkaSource
    return kind(definition, offsets.of(connection))


def _kafka(statement: CreateSource) -> KafkaOrigin:
    assert isinstance(statement.origin, KafkaOrigin)
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
        case formats.Csv(position=position):
            raise NotSupported(
                "CSV WITH HEADER in Kafka sources not supported",
                detail="Each message is one record, and none is a header.",
                hint="Write CSV WITH n COLUMNS, and their names behind the source's: CREATE SOURCE s (a, b) ….",
                position=position,
            )
        case formats.Regex(pattern=pattern):
            return RegexDecoder.of(pattern)
        case _:
            raise formats.refused(format, "sources")


def check_patterns(session: EngineSession, clauses: ingest.Ingest) -> None:
    """Refuses a REGEX that is none, or has no groups.  Runs one Spark job if there is one."""
    from tailrace.engine import evaluate  # queries read sources

    both = clauses.formats
    for format in () if both is None else (both.key, both.value):
        if not isinstance(format, formats.Regex):
            continue
        decoder = RegexDecoder.of(format.pattern)
        if not decoder.names:
            raise InvalidOption(
                "the pattern of FORMAT REGEX has no groups",
                hint="Each group is a column: (?P<name>…) has a name, (…) is called by its place.",
                position=format.position,
            )
        try:
            evaluate.constant(session, QueryText(f"'' ~ {quote_literal(decoder.pattern)}", 0), BOOLEAN)
        except SqlError as wrong:
            wrong.position = format.position
            raise


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
