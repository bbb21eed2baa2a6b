"""A Kafka source as the catalog keeps it, and the relation it makes: key, value, metadata columns, in this
order.

ENVELOPE NONE: every message is a row.  ENVELOPE UPSERT: the last message of each key is; the key's columns
are the relation's key.  A changelog's messages say which rows come and which leave.

A Flink table lays these columns out anew, and so does ENVELOPE DEBEZIUM: their `layout` says how.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import Enum
from typing import TypeAlias, assert_never

from tailrace.errors import DuplicateColumn, SqlError
from tailrace.formats.decode_contract import Decoder
from tailrace.kafka.connection import KafkaConnection
from tailrace.types.core import (
    BIGINT,
    BYTEA,
    INTEGER,
    TEXT,
    TIMESTAMP,
    UINT8,
    Column,
    ListOf,
    MapOf,
    Record,
    Schema,
)


class Envelope(Enum):
    NONE = "NONE"
    UPSERT = "UPSERT"
    CHANGELOG = "CHANGELOG"  # each message says which rows come and which leave


class BadMessages(Enum):
    """What happens to a message that cannot be decoded."""

    DEAD_LETTER = "dead_letter"  # it goes to the source's dead letters, the rest goes on
    STOP = "stop"  # the source fails at it


@dataclass(frozen=True, slots=True)
class IncludeKey:
    """Without a name, the columns have the names of the key's format."""

    name: str | None = None


@dataclass(frozen=True, slots=True)
class IncludePartition:
    name: str = "partition"


@dataclass(frozen=True, slots=True)
class IncludeOffset:
    name: str = "offset"


@dataclass(frozen=True, slots=True)
class IncludeTimestamp:
    name: str = "timestamp"


@dataclass(frozen=True, slots=True)
class IncludeHeaders:
    name: str = "headers"


@dataclass(frozen=True, slots=True)
class IncludeHeader:
    """The last header with this key; a message without one is an error."""

    key: str
    name: str
    as_bytes: bool = False


@dataclass(frozen=True, slots=True)
class IncludeTopic:
    name: str = "topic"


@dataclass(frozen=True, slots=True)
class IncludeTimestampType:
    """NoTimestampType, CreateTime or LogAppendTime."""

    name: str = "timestamp-type"


@dataclass(frozen=True, slots=True)
class IncludeLeaderEpoch:
    """Always NULL: not every reader is told it, and a row must not depend on who read it."""

    name: str = "leader-epoch"


@dataclass(frozen=True, slots=True)
class IncludeHeaderMap:
    """Headers by key; of several with one key the last one."""

    name: str = "headers"


Metadata: TypeAlias = (
    IncludePartition
    | IncludeOffset
    | IncludeTimestamp
    | IncludeHeaders
    | IncludeHeader
    | IncludeTopic
    | IncludeTimestampType
    | IncludeLeaderEpoch
    | IncludeHeaderMap
)
Include: TypeAlias = IncludeKey | Metadata


@dataclass(frozen=True, slots=True)
class Laid:
    """A column of the relation, and the Spark text of its value over c0 …, the key, value and metadata columns."""

    column: Column
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class KafkaSourceDefinition:
    """Everything CREATE SOURCE said, with names looked up and the start fixed as offsets.

    `start_offsets` comes from `kafka_start.resolve_start`.  A partition it does not name starts at 0.
    `end_offsets`, if there are any: where each partition ends for ever; one that is not named is not read.
    `layout`: the columns of the relation, if they are not simply those of key, value and metadata; `key_places` are
    then the places of an upsert source's key among them.
    """

    id: str  # catalog id
    name: str  # qualified, for messages
    connection: KafkaConnection
    region_id: str
    topic: str
    topic_id: str | None = None  # as found at CREATE; a topic with another id is another topic
    value_format: Decoder
    key_format: Decoder | None = None
    envelope: Envelope = Envelope.NONE
    include: tuple[Include, ...] = ()
    column_names: tuple[str, ...] = ()  # given in CREATE SOURCE: they rename the first columns
    start_offsets: Mapping[int, int] = field(default_factory=dict)
    group_id_prefix: str | None = None
    metadata_refresh: timedelta = timedelta(seconds=30)
    bad_messages: BadMessages = BadMessages.DEAD_LETTER
    end_offsets: Mapping[int, int] | None = None
    group: str | None = None
    layout: tuple[Laid, ...] = ()
    key_places: tuple[int, ...] = ()
    tasks: int = 1  # that read a large step, at least

    @property
    def group_id(self) -> str:
        """Where our progress can be seen.  We are no member of this group and never read its offsets."""
        if self.group is not None:
            return self.group
        default = f"materialize-{self.region_id}-{self.connection.id}-"
        return (self.group_id_prefix if self.group_id_prefix is not None else default) + self.id

    @property
    def metadata(self) -> tuple[Metadata, ...]:
        return tuple(item for item in self.include if not isinstance(item, IncludeKey))

    @property
    def includes_key(self) -> bool:
        return self.envelope is Envelope.UPSERT or any(isinstance(item, IncludeKey) for item in self.include)

    @property
    def key_record(self) -> str | None:
        """The name of the one column that holds all fields of a key, if there is such a column."""
        named = [item.name for item in self.include if isinstance(item, IncludeKey) and item.name is not None]
        fields = self.key_format is not None and not self.key_format.is_single
        return named[0] if named and fields else None


DEAD_LETTERS: Schema = (
    Column("partition", INTEGER, nullable=False),
    Column("offset", BIGINT, nullable=False),
    Column("timestamp", TIMESTAMP, nullable=False),
    Column("key", BYTEA),
    Column("value", BYTEA),
    Column("error", TEXT, nullable=False),
)

HEADERS = ListOf(Record((Column("key", TEXT, nullable=False), Column("value", BYTEA))))


def source_schema(definition: KafkaSourceDefinition) -> Schema:
    """The relation's columns.  Raises SqlError for a definition that does not make one."""
    if definition.layout:
        return tuple(laid.column for laid in definition.layout)
    return renamed(message_schema(definition), definition)


def source_keys(definition: KafkaSourceDefinition) -> frozenset[frozenset[int]]:
    """Sets of places that identify a row.  ENVELOPE NONE: none, messages may repeat."""
    if definition.layout:
        return frozenset({frozenset(definition.key_places)}) if definition.key_places else frozenset()
    if definition.envelope is not Envelope.UPSERT:
        return frozenset()
    return frozenset({frozenset(range(len(key_columns(definition))))})


def message_schema(definition: KafkaSourceDefinition) -> Schema:
    """The columns of key, value and metadata, in this order, under whatever names."""
    metadata = tuple(_metadata_column(item) for item in definition.metadata)
    return (*key_columns(definition), *definition.value_format.schema, *metadata)


def key_columns(definition: KafkaSourceDefinition) -> Schema:
    """The first columns: what INCLUDE KEY and UPSERT make of the message's key."""
    if not definition.includes_key:
        return ()
    if definition.key_format is None:
        raise SqlError(_no_key_format(definition))
    nullable = definition.envelope is not Envelope.UPSERT
    fields = tuple(replace(column, nullable=nullable) for column in definition.key_format.schema)
    if definition.key_record is not None:
        return (Column(definition.key_record, Record(definition.key_format.schema), nullable),)
    if definition.key_format.is_single:
        return (Column(_key_name(definition), fields[0].type, nullable),)
    return fields


def _key_name(definition: KafkaSourceDefinition) -> str:
    names = [item.name for item in definition.include if isinstance(item, IncludeKey)]
    return (names[0] if names else None) or "key"


def _no_key_format(definition: KafkaSourceDefinition) -> str:
    if definition.envelope is Envelope.UPSERT:
        return "ENVELOPE [DEBEZIUM] UPSERT requires that KEY FORMAT be specified"
    return "INCLUDE KEY requires specifying KEY FORMAT .. VALUE FORMAT, got bare FORMAT"


def _metadata_column(item: Metadata) -> Column:
    match item:
        case IncludePartition(name=name):
            return Column(name, INTEGER, nullable=False)
        case IncludeOffset(name=name):
            return Column(name, UINT8, nullable=False)
        case IncludeTimestamp(name=name):
            return Column(name, TIMESTAMP, nullable=False)
        case IncludeHeaders(name=name):
            return Column(name, HEADERS, nullable=False)
        case IncludeHeader(name=name, as_bytes=as_bytes):
            return Column(name, BYTEA if as_bytes else TEXT)
        case IncludeTopic(name=name) | IncludeTimestampType(name=name):
            return Column(name, TEXT, nullable=False)
        case IncludeLeaderEpoch(name=name):
            return Column(name, INTEGER)
        case IncludeHeaderMap(name=name):
            return Column(name, MapOf(BYTEA), nullable=False)
        case _:
            assert_never(item)


def renamed(columns: Schema, definition: KafkaSourceDefinition) -> Schema:
    """With the names that CREATE SOURCE gives to the first columns; none may be there twice."""
    given, there = len(definition.column_names), len(columns)
    if given > there:
        source = f"source {definition.name}"
        raise SqlError(
            f"{source} definition names {_columns(given)}, but {source} has {_columns(there)}",
            sqlstate="42601",
        )
    first = [
        replace(column, name=name) for column, name in zip(columns, definition.column_names, strict=False)
    ]
    columns = (*first, *columns[given:])
    repeated = [name for name, count in Counter(column.name for column in columns).items() if count > 1]
    if repeated:
        raise DuplicateColumn(
            f'column "{repeated[0]}" specified more than once',
            hint="Give the columns other names: CREATE SOURCE name (column, …), or AS after INCLUDE.",
        )
    return columns


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"
