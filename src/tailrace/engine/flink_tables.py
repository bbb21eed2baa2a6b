"""Flink's Kafka tables: from CREATE TABLE … WITH ('connector' = …) to a relation that is read when somebody asks.

Until then nothing is known of the topic, not even that it exists: a table that is only written to is never read.  The
first reader (a SELECT, a view, an INSERT that selects from it) fixes where reading begins and ends, durably, in the
table's facts; from then on all readers share it, and a restart goes on with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from tailrace.catalog.items import FullName, Item
from tailrace.engine import flink_connections, flink_formats
from tailrace.engine.define import Identity
from tailrace.engine.flink_layout import lay, watermark_text
from tailrace.engine.flink_settings import IDLE_TIMEOUT
from tailrace.engine.sources import SharedOffsets, dead_letters
from tailrace.errors import DuplicateObject, SqlError
from tailrace.kafka import java_properties
from tailrace.kafka.admin import Topics
from tailrace.kafka.connection import KafkaConnection
from tailrace.secret import Secret
from tailrace.sources.contract import Source
from tailrace.sources.kafka import KafkaSource
from tailrace.sources.kafka_definition import (
    BadMessages,
    Envelope,
    IncludeKey,
    KafkaSourceDefinition,
    source_keys,
    source_schema,
)
from tailrace.sources.kafka_several import SeveralTopics, offsets_of, places_of
from tailrace.sources.kafka_start import (
    Start,
    StartGroup,
    StartLatest,
    StartSpecific,
    StartTimestamp,
    Topic,
    resolve_end,
    resolve_start,
    validate_topic,
)
from tailrace.sources.kafka_upsert import UpsertSource
from tailrace.statements.contract import Result
from tailrace.statements.flink.format_options import IGNORE_PARSE_ERRORS
from tailrace.statements.flink.kinds import DURATION
from tailrace.statements.flink.table_options import Position, TableOptions
from tailrace.ticks.watermarks import Watermarks
from tailrace.types.core import Schema

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine
    from tailrace.engine.session import EngineSession
    from tailrace.statements.create_flink_table import CreateFlinkTable

CONNECTOR = "connector"
"""The fact by which a table of Flink's is known in the catalog."""

_NEVER = timedelta(days=365_000)


def is_flink(item: Item) -> bool:
    return CONNECTOR in item.facts


def create(session: EngineSession, statement: CreateFlinkTable, *, of: Item | None = None) -> Result:
    """CREATE TABLE: checks what can be checked without a broker.  Its dead letters come with it, if it has any.

    `of`: the table that this one is, but for options that a query asked for.
    """
    engine = session.engine
    _refuse_similar(engine, session.catalog.full_name(statement.name.parts), statement)
    sensitive = statement.options.sensitive()
    for name in statement.options.properties():
        if (note := java_properties.note(name)) is not None:
            session.notice(note)

    def define(identity: Identity) -> Item:
        facts = {CONNECTOR: statement.options.connector, **_idle(session, statement)}
        facts |= {} if of is None else {"hinted": of.id}
        return item(session, statement, Identity(id=identity.id, name=identity.name, facts=facts))

    def also(table: Item) -> list[Item]:
        if _bad_messages(statement.settings) is BadMessages.STOP:
            return []
        name = replace(table.name, item=f"{table.name.item}_dead_letters")
        facts = {"dead_letters_of": table.id}
        return [dead_letters(table, Identity(id=engine.storage.next_id(), name=name, facts=facts))]

    return session.create(
        "table",
        statement.name,
        define,
        if_not_exists=statement.if_not_exists,
        also=also,
        secret=Secret(json.dumps(sensitive)) if sensitive else None,
    )


def _idle(session: EngineSession, statement: CreateFlinkTable) -> dict[str, Any]:
    """After how many milliseconds a partition is idle: the table's own option, or the session's setting."""
    length = statement.settings.idle_timeout
    if statement.watermark is not None and length is None:
        length = DURATION.read(session.settings.get(IDLE_TIMEOUT, "0")).length
    return {"idle": int(length / timedelta(milliseconds=1))} if length else {}


def _refuse_similar(engine: Engine, full: FullName, statement: CreateFlinkTable) -> None:
    """Names that differ in case alone could not be told apart by a query without quotes."""
    for other in engine.catalog.by_name:
        folded = replace(full, item=full.item.lower())
        if other != full and replace(other, item=other.item.lower()) == folded:
            raise DuplicateObject(
                f'"{other.item}" already exists, which differs from "{full.item}" in case alone',
                position=statement.name.position,
            )


def item(session: EngineSession, statement: CreateFlinkTable, identity: Identity) -> Item:
    nothing = Topic(name="", partitions=0, id=None)
    definition = definition_of(session.engine, statement, identity, nothing, 0, flink_connections.NOWHERE)
    schema = source_schema(definition)
    if statement.watermark is not None:
        watermark_text(session.engine, statement, schema)
    return Item(
        id=identity.id,
        kind="table",
        name=identity.name,
        statement=statement,
        create_sql=statement.create_sql(session.printer()),
        depends_on=frozenset({identity.facts["hinted"]} if "hinted" in identity.facts else ()),
        schema=schema,
        keys=source_keys(definition),
        append_only=not statement.settings.is_changelog,
        watermark=_watermark_place(statement, schema),
        cluster=(cluster := identity.facts.get("cluster") or session.variables.get("cluster")),
        facts={**identity.facts, "cluster": cluster},
    )


def _watermark_place(statement: CreateFlinkTable, schema: Schema) -> int | None:
    """Rows of a changelog come and go: there is no time after which they are complete."""
    if statement.watermark is None or statement.settings.is_changelog:
        return None
    return [column.name for column in schema].index(statement.watermark.column)


def watermarks(engine: Engine, table: Item, source: Source) -> Watermarks | None:
    """What a running table knows of its watermark; nothing is asked before somebody waits for it."""
    if table.watermark is None:
        return None
    return Watermarks(
        source=table.id,
        read=source.placed,
        start=source.start(),
        is_done=source.is_done,
        expression=watermark_text(engine, table.statement, table.schema or ()),
        idle=table.facts.get("idle"),
        log=engine.log,
        store=engine.store,
    )


def definition_of(
    engine: Engine,
    statement: CreateFlinkTable,
    identity: Identity,
    topic: Topic,
    number: int,
    connection: KafkaConnection,
) -> KafkaSourceDefinition:
    """The table as a source of one of its topics."""
    settings = statement.settings
    is_form_only = connection is flink_connections.NOWHERE
    registries = flink_connections.Registries(engine, statement, None if is_form_only else identity.id)
    laying = flink_formats.laying(statement, registries)
    bare = KafkaSourceDefinition(
        id=identity.id,
        name=str(identity.name),
        connection=connection,
        region_id=engine.region,
        topic=topic.name,
        topic_id=topic.id,
        value_format=laying.value,
        key_format=laying.key,
        envelope=_envelope(settings),
        include=(*((IncludeKey(),) if laying.key is not None else ()), *laying.metadata),
        start_offsets=offsets_of(number, _places(identity.facts.get("start") or {})),
        end_offsets=_end_offsets(identity.facts, number),
        group=group_of(statement, identity),
        metadata_refresh=_NEVER if settings.discovery is None or settings.is_bounded else settings.discovery,
        bad_messages=_bad_messages(settings),
        tasks=settings.scan_parallelism or 1,
    )
    layout = lay(engine, statement, laying)
    names = [laid.column.name for laid in layout]
    return replace(bare, layout=layout, key_places=tuple(names.index(name) for name in statement.primary_key))


def _envelope(settings: TableOptions) -> Envelope:
    if settings.is_upsert:
        return Envelope.UPSERT
    return Envelope.CHANGELOG if settings.value_format.is_changelog else Envelope.NONE


def _bad_messages(settings: TableOptions) -> BadMessages:
    """Flink's job fails at a message that it cannot read, unless it was told to ignore such."""
    formats = (settings.key_format, settings.value_format)
    ignores = (format is not None and format.get(IGNORE_PARSE_ERRORS) for format in formats)
    return BadMessages.DEAD_LETTER if any(ignores) else BadMessages.STOP


def group_of(statement: CreateFlinkTable, identity: Identity) -> str:
    return statement.settings.group_id or f"KafkaSource-{identity.name}"


# ── reading begins ──


def begin(engine: Engine, ids: Iterable[str]) -> None:
    """Makes sure that these tables are being read; other ids do not matter.  Asks the broker the first time.

    On return a first tick has read what was there.  Not for the tick loop's own thread.
    """
    began = False
    with engine.running.beginning:
        for id in ids:
            found = engine.catalog.items.get(id)
            if found is not None and "dead_letters_of" in found.facts:
                found = engine.catalog.items.get(found.facts["dead_letters_of"])
            if found is not None and is_flink(found) and "start" not in found.facts:
                _begin(engine, found)
                began = True
    if began:
        engine.loop.change(dict)


def _begin(engine: Engine, table: Item) -> None:
    topics = _topics(engine, table)
    facts = dict(table.facts) | {"topics": [], "start": {}, "end": {} if _settings(table).is_bounded else None}
    for topic in topics:
        _resolve(engine, table, topic, facts)
    begun = replace(table, facts=facts)
    engine.swap(begun)
    letters = [each for each in engine.catalog.dependants(table.id) if each.facts.get("dead_letters_of") == table.id]
    for each in (begun, *letters):
        engine.loop.do(partial(engine.running.start, each))


def _resolve(engine: Engine, table: Item, topic: Topic, facts: dict[str, Any], *, late: bool = False) -> int:
    """Adds a topic to the facts: its number, where it begins and where it ends.  A late one is read whole."""
    connection = flink_connections.connection(engine, table.statement, table.id)
    settings, number = _settings(table), len(facts["topics"])
    start = resolve_start(connection, topic, None if late else _start(table, settings.start))
    facts["topics"] = [*facts["topics"], [topic.name, topic.id]]
    facts["start"] = facts["start"] | {str(place): o for place, o in places_of(number, start).items()}
    if facts["end"] is not None:
        end = resolve_end(connection, topic, _start(table, settings.end), start)
        facts["end"] = facts["end"] | {str(place): o for place, o in places_of(number, end).items()}
    return number


def _start(table: Item, position: Position) -> Start:
    identity = Identity(id=table.id, name=table.name, facts=table.facts)
    group = group_of(table.statement, identity)
    match position.mode:
        case "earliest-offset":
            return None
        case "latest-offset":
            return StartLatest()
        case "timestamp":
            return StartTimestamp(position.milliseconds or 0)
        case "specific-offsets":
            return StartSpecific(position.offsets, group)
        case _:
            reset = table.statement.options.properties().get("auto.offset.reset")
            return StartGroup(group, reset if reset in ("earliest", "latest") else None)


def _topics(engine: Engine, table: Item) -> list[Topic]:
    """The topics that the table has now.  Raises SqlError if there are none."""
    settings = _settings(table)
    connection = flink_connections.connection(engine, table.statement, table.id)
    names = settings.topics or _matching(engine, table, settings)
    if not names:
        raise SqlError(
            f"no topic matches 'topic-pattern' = '{settings.pattern}'",
            hint="A table cannot be read before there is a topic.",
            sqlstate="42704",
        )
    return [validate_topic(connection, name) for name in names]


def _matching(engine: Engine, table: Item, settings: TableOptions) -> list[str]:
    connection = flink_connections.connection(engine, table.statement, table.id)
    pattern = re.compile(settings.pattern or "")
    return sorted(name for name in Topics(connection).names() if pattern.fullmatch(name))


# ── reading goes on ──


def open_table(engine: Engine, table: Item, offsets: SharedOffsets) -> KafkaSource | UpsertSource | SeveralTopics:
    """The running source of a table that is being read."""
    settings = _settings(table)
    opened = [_open(engine, table, number, offsets) for number in range(len(table.facts["topics"]))]
    if len(opened) == 1 and settings.pattern is None:
        return opened[0]
    logs: Mapping[int, Source] = {number: log for number, log in enumerate(opened) if isinstance(log, KafkaSource)}
    discovers = settings.pattern is not None and settings.discovery is not None and not settings.is_bounded
    return SeveralTopics(
        len(table.schema or ()),
        logs,
        partial(_discover, engine, table.id, offsets) if discovers else None,
        settings.discovery.total_seconds() if settings.discovery else 0.0,
    )


def _open(engine: Engine, table: Item, number: int, offsets: SharedOffsets) -> KafkaSource | UpsertSource:
    name, topic_id = table.facts["topics"][number]
    identity = Identity(id=table.id, name=table.name, facts=table.facts)
    topic = Topic(name=name, partitions=0, id=topic_id)
    connection = flink_connections.connection(engine, table.statement, table.id)
    definition = definition_of(engine, table.statement, identity, topic, number, connection)
    kind = UpsertSource if definition.envelope is Envelope.UPSERT else KafkaSource
    return kind(definition, offsets.of(definition.connection))


def _discover(engine: Engine, id: str, offsets: SharedOffsets) -> Mapping[int, Source]:
    """Topics that match and are new: written down first, then opened.  For the tick loop."""
    table = engine.catalog.items[id]
    known = {name for name, _ in table.facts["topics"]}
    new = [name for name in _matching(engine, table, _settings(table)) if name not in known]
    facts, numbers = dict(table.facts), []
    connection = flink_connections.connection(engine, table.statement, table.id)
    for name in new:
        numbers.append(_resolve(engine, table, validate_topic(connection, name), facts, late=True))
    if not numbers:
        return {}
    grown = replace(table, facts=facts)
    engine.swap(grown)
    opened = {number: _open(engine, grown, number, offsets) for number in numbers}
    return {number: log for number, log in opened.items() if isinstance(log, KafkaSource)}


def _settings(table: Item) -> TableOptions:
    settings: TableOptions = table.statement.settings
    return settings


def _places(stored: Mapping[str, int]) -> Mapping[int, int]:
    return {int(place): offset for place, offset in stored.items()}


def _end_offsets(facts: Mapping[str, Any], number: int) -> Mapping[int, int] | None:
    end = facts.get("end")
    return None if end is None else offsets_of(number, _places(end))
