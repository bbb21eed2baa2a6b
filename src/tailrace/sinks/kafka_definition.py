"""A Kafka sink as the catalog keeps it, and every name it uses on the wire, in one place."""

from __future__ import annotations

from dataclasses import dataclass, field

from tailrace.formats.encode_contract import Encoder, Origin
from tailrace.kafka.admin import TopicLayout
from tailrace.kafka.connection import KafkaConnection
from tailrace.sinks.envelope import Envelope
from tailrace.sinks.kafka_outlet import SEAHASH, Routes
from tailrace.sinks.kafka_writer import LARGE_SECONDS
from tailrace.types.core import Schema

EXACTLY_ONCE, AT_LEAST_ONCE = "exactly-once", "at-least-once"


@dataclass(frozen=True, kw_only=True, slots=True)
class KafkaSinkDefinition:
    """Which relation goes to which topic, and how.  One that exists is valid.

    `atomic` keeps every tick in one transaction, however large; otherwise a large one is committed in slots.
    `version` grows when the sink is altered; a writer that meets a later version in the topic stops.
    """

    id: str
    name: str
    connection: KafkaConnection
    region: str
    topic: str
    schema: Schema
    key: tuple[int, ...] | None
    key_format: Encoder
    value_format: Encoder
    envelope: str  # one of envelope.UPSERT, DEBEZIUM, APPEND, CHANGELOG
    headers: int | None = None
    partition_by: str | None = None
    timestamp: int | None = None
    routed_by: int | None = None
    origin: Origin | None = None  # see Envelope, of all four
    partitioner: str = SEAHASH
    routes: Routes | None = None  # with `routed_by`; `topic` is then only how errors call it
    tells_tick: bool = True  # in a header of each message
    watches_key: bool = False  # which was not proven to be one
    slots: int | None = None  # of a large tick; None: as many as its rows need
    compression: str = "lz4"
    topic_layout: TopicLayout = field(default_factory=TopicLayout)
    topic_refresh_seconds: float = 30.0
    transactional_id_prefix: str = ""
    progress_group_id_prefix: str = ""
    guarantee: str = EXACTLY_ONCE
    atomic: bool = False
    version: int = 0

    def __post_init__(self) -> None:
        self.told_as.check()

    @property
    def told_as(self) -> Envelope:
        return Envelope(
            kind=self.envelope,
            schema=self.schema,
            key=self.key,
            key_format=self.key_format,
            value_format=self.value_format,
            headers=self.headers,
            partition_by=self.partition_by,
            timestamp=self.timestamp,
            topic=self.routed_by,
            origin=self.origin,
        )

    @property
    def base(self) -> str:
        """Also the client's id."""
        return f"materialize-{self.region}-{self.connection.id}-{self.id}"

    @property
    def transactional_id(self) -> str:
        """Of the driver's writer."""
        return self.transactional_id_prefix + self.base

    def slot_transactional_id(self, slot: int) -> str:
        """Rights that are granted by prefix cover these too."""
        return f"{self.transactional_id}-{slot}"

    @property
    def progress_group(self) -> str:
        return self.progress_group_id_prefix + self.base

    @property
    def progress_key(self) -> str:
        """Of the sink's own progress record; those of its slots, and of its plans for them, begin with it."""
        return f"mz-sink-{self.id}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Up to `small_rows` a tick is written by the driver; far beyond, a slot gets about `slot_rows` of them.

    `transaction_seconds`: what a large transaction may take, a slot or, if the sink is atomic, a whole tick.
    """

    small_rows: int = 20_000
    slot_rows: int = 1_000_000
    most_slots: int = 256
    transaction_seconds: float = LARGE_SECONDS


@dataclass(frozen=True, kw_only=True, slots=True)
class Defences:
    """What exactly-once rests on.  Each can be switched off, by tests alone.

    A fault test that passes proves little until the same test fails without the defence it is about.
    """

    progress_record: bool = True
    fence_before_progress: bool = True
