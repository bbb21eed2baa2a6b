"""CREATE SINK … INTO KAFKA CONNECTION name (TOPIC 's', …) [KEY (…)] [HEADERS c] FORMAT f
ENVELOPE UPSERT | DEBEZIUM [(METADATA [= bool])]."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar

from tailrace.errors import InvalidOption, NotSupported, SqlError
from tailrace.sql.kinds import BOOLEAN, EXPRESSION, POSITIVE, TEXT, TEXT_MAP
from tailrace.sql.names import Name, QueryText
from tailrace.sql.options import Option, Options, Texts, parse_options
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer, quote_ident
from tailrace.statements.avro_options import KEY_FULLNAME, AvroSinkOptions
from tailrace.statements.formats import AvroRegistry, Formats, parse_formats
from tailrace.statements.sinks.contract import SinkEnvelope, SinkKey, parse_key, refuse_repeated
from tailrace.statements.topic_name import TOPIC_NAME
from tailrace.statements.topic_refresh import TOPIC_METADATA_REFRESH_INTERVAL, refresh_interval

TOPIC = Option("TOPIC", TOPIC_NAME, required=True, doc="The topic to write to; created if it does not exist.")
COMPRESSION_TYPE = Option("COMPRESSION TYPE", TEXT, default="lz4", doc="none, gzip, snappy, lz4 or zstd.")
TRANSACTIONAL_ID_PREFIX = Option("TRANSACTIONAL ID PREFIX", TEXT, doc="How our transactional ids begin.")
PARTITION_BY = Option("PARTITION BY", EXPRESSION, doc="A number that chooses the partition, as uint8.")
PROGRESS_GROUP_ID_PREFIX = Option(
    "PROGRESS GROUP ID PREFIX", TEXT, doc="How the group that reads the progress topic is called at first."
)
TOPIC_REPLICATION_FACTOR = Option("TOPIC REPLICATION FACTOR", POSITIVE, doc="Of a topic that we create.")
TOPIC_PARTITION_COUNT = Option("TOPIC PARTITION COUNT", POSITIVE, doc="Of a topic that we create.")
TOPIC_CONFIG = Option("TOPIC CONFIG", TEXT_MAP, doc="Settings of a topic that we create.")
OPTIONS: tuple[Option[Any], ...] = (
    *(TOPIC, COMPRESSION_TYPE, TRANSACTIONAL_ID_PREFIX, PARTITION_BY, PROGRESS_GROUP_ID_PREFIX),
    *(TOPIC_REPLICATION_FACTOR, TOPIC_PARTITION_COUNT, TOPIC_CONFIG, TOPIC_METADATA_REFRESH_INTERVAL),
)
METADATA = Option(
    "METADATA", BOOLEAN, default=False, doc="Changes say also `op`, `ts_ms` and `source`, as Debezium's do."
)
ENVELOPE_OPTIONS: tuple[Option[Any], ...] = (METADATA,)
COMPRESSION_TYPES = ("none", "gzip", "snappy", "lz4", "zstd")
_TEXTS = Texts(missing="KAFKA CONNECTION must specify TOPIC")


@dataclass(frozen=True, kw_only=True, slots=True)
class KafkaTarget:
    type: ClassVar[str] = "kafka"

    connection: Name
    options: Options
    topic: str
    compression_type: str
    transactional_id_prefix: str | None
    progress_group_id_prefix: str | None
    partition_by: QueryText | None
    topic_replication_factor: int | None
    topic_partition_count: int | None
    topic_config: tuple[tuple[str, str], ...]
    topic_metadata_refresh_interval: timedelta
    key: SinkKey | None
    headers: str | None
    formats: Formats
    envelope: SinkEnvelope
    envelope_options: Options = field(default_factory=Options)
    headers_position: int | None = field(default=None, compare=False)
    envelope_position: int | None = field(default=None, compare=False)

    @property
    def connections(self) -> list[Name]:
        """To Kafka, and to the schema registries of the formats."""
        both = (self.formats.of_key, self.formats.value)
        return [self.connection, *(each.connection for each in both if isinstance(each, AvroRegistry))]

    def clauses(self, printer: Printer) -> list[str | None]:
        return [
            f"INTO KAFKA CONNECTION {printer.name(self.connection)} {self.options.show(printer)}",
            None if self.key is None else self.key.clause(printer),
            None if self.headers is None else f"HEADERS {quote_ident(self.headers)}",
            self.formats.sql(printer),
            self.envelope_options.clause(printer, f"ENVELOPE {self.envelope.value} ")
            or f"ENVELOPE {self.envelope.value}",
        ]

    @property
    def tells_origin(self) -> bool:
        """Changes say what they did, to what, and when."""
        return self.envelope_options.value(METADATA)

    def check(self) -> None:
        """What the clauses must mean together, whatever the catalog holds.  CREATE SINK calls this first."""
        refuse_repeated(self.key)
        if self.headers is not None and self.envelope is SinkEnvelope.DEBEZIUM:
            message = "HEADERS option is not supported with ENVELOPE DEBEZIUM"
            raise NotSupported(message, position=self.headers_position)
        if self.key is None and self.envelope is SinkEnvelope.UPSERT:
            raise SqlError(
                "upsert sinks must specify a key",
                hint="Add KEY (column, …) before FORMAT.",
                position=self.envelope_position,
            )
        for format_ in (self.formats.of_key, self.formats.value):
            if isinstance(format_, AvroRegistry):
                self._check_fullnames(format_.options)

    def _check_fullnames(self, avro: AvroSinkOptions) -> None:
        if avro.key_fullname is not None and self.key is None:
            raise InvalidOption(
                "Cannot specify AVRO KEY FULLNAME without a corresponding KEY field",
                position=avro.options.position(KEY_FULLNAME),
            )
        needs_both = self.key is not None and self.formats.key is None
        if needs_both and (avro.key_fullname is None) != (avro.value_fullname is None):
            raise InvalidOption(
                "Must specify both AVRO KEY FULLNAME and AVRO VALUE FULLNAME when specifying generated "
                "schema names"
            )


def parse(p: Parser) -> KafkaTarget:
    """After INTO."""
    p.expect("KAFKA", "CONNECTION")
    connection = p.name("connection name")
    options = parse_options(p, OPTIONS, _TEXTS)
    key = parse_key(p)
    headers_position = p.position
    headers = p.identifier("column name") if p.accept("HEADERS") else None
    formats = _formats(p)
    envelope_position = p.position
    envelope = _envelope(p)
    envelope_options = Options()
    if envelope is SinkEnvelope.DEBEZIUM and p.at("("):
        envelope_options = parse_options(p, ENVELOPE_OPTIONS)
    return KafkaTarget(
        connection=connection,
        options=options,
        topic=options.value(TOPIC),
        compression_type=_compression(options),
        transactional_id_prefix=options.get(TRANSACTIONAL_ID_PREFIX),
        progress_group_id_prefix=options.get(PROGRESS_GROUP_ID_PREFIX),
        partition_by=options.get(PARTITION_BY),
        topic_replication_factor=options.get(TOPIC_REPLICATION_FACTOR),
        topic_partition_count=options.get(TOPIC_PARTITION_COUNT),
        topic_config=options.get(TOPIC_CONFIG) or (),
        topic_metadata_refresh_interval=refresh_interval(options),
        key=key,
        headers=headers,
        formats=formats,
        envelope=envelope,
        envelope_options=envelope_options,
        headers_position=headers_position,
        envelope_position=envelope_position,
    )


def _formats(p: Parser) -> Formats:
    position = p.position
    formats = parse_formats(p, "sinks")
    if formats is None:
        if not (p.at_end() or p.at("ENVELOPE") or p.at("WITH") or p.at("MODE")):
            raise p.expected("one of KEY or HEADERS or FORMAT")
        raise NotSupported("sink without format not yet supported", position=position)
    return formats


def _envelope(p: Parser) -> SinkEnvelope:
    if p.at("MODE"):
        message = "MODE is not supported for Kafka sinks, use ENVELOPE instead"
        raise NotSupported(message, position=p.position)
    if not p.accept("ENVELOPE"):
        if not (p.at_end() or p.at("WITH")):
            raise p.expected("ENVELOPE")
        raise SqlError("ENVELOPE clause is required", sqlstate="42601", position=p.position)
    return SinkEnvelope(p.keyword(*(envelope.value for envelope in SinkEnvelope)))


def _compression(options: Options) -> str:
    given = options.value(COMPRESSION_TYPE)
    if given.lower() not in COMPRESSION_TYPES:
        raise InvalidOption(
            f"invalid COMPRESSION TYPE: {given}",
            hint=f"Use one of {', '.join(COMPRESSION_TYPES)}.",
            position=options.position(COMPRESSION_TYPE),
        )
    return given.lower()
