"""CREATE SOURCE … FROM KAFKA CONNECTION name (TOPIC 's', …)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tailrace.errors import InvalidOption
from tailrace.sql.kinds import INTEGER, TEXT, Several
from tailrace.sql.names import Name
from tailrace.sql.options import Option, Options, Texts, parse_options
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer
from tailrace.statements.topic_name import TOPIC_NAME
from tailrace.statements.topic_refresh import TOPIC_METADATA_REFRESH_INTERVAL, refresh_interval

TOPIC = Option("TOPIC", TOPIC_NAME, required=True, doc="The topic to read.")
GROUP_ID_PREFIX = Option("GROUP ID PREFIX", TEXT, doc="How the consumer group's name begins.")
START_OFFSET = Option("START OFFSET", Several(INTEGER), doc="The first offset of partition 0, 1, …")
START_TIMESTAMP = Option(
    "START TIMESTAMP", INTEGER, doc="Milliseconds since 1970, or before now if negative; looked up once."
)
OPTIONS: tuple[Option[Any], ...] = (
    *(TOPIC, GROUP_ID_PREFIX, START_OFFSET, START_TIMESTAMP, TOPIC_METADATA_REFRESH_INTERVAL),
)
_TEXTS = Texts(missing="KAFKA CONNECTION without TOPIC")


@dataclass(frozen=True, kw_only=True, slots=True)
class KafkaOrigin:
    connection: Name
    options: Options
    topic: str
    group_id_prefix: str | None
    start_offset: tuple[int, ...]
    start_timestamp: int | None
    topic_metadata_refresh_interval: timedelta

    def sql(self, printer: Printer) -> str:
        return f"FROM KAFKA CONNECTION {printer.name(self.connection)} {self.options.show(printer)}"


def parse(p: Parser) -> KafkaOrigin:
    """After FROM."""
    p.expect("KAFKA", "CONNECTION")
    connection = p.name("connection name")
    options = parse_options(p, OPTIONS, _TEXTS)
    _check_start(options)
    return KafkaOrigin(
        connection=connection,
        options=options,
        topic=options.value(TOPIC),
        group_id_prefix=options.get(GROUP_ID_PREFIX),
        start_offset=options.get(START_OFFSET) or (),
        start_timestamp=options.get(START_TIMESTAMP),
        topic_metadata_refresh_interval=refresh_interval(options),
    )


def _check_start(options: Options) -> None:
    if options.has(START_OFFSET) and options.has(START_TIMESTAMP):
        message = "cannot specify START TIMESTAMP and START OFFSET at same time"
        raise InvalidOption(message, position=options.position(START_TIMESTAMP))
    if any(offset < 0 for offset in options.get(START_OFFSET) or ()):
        message = "START OFFSET must be a nonnegative integer"
        raise InvalidOption(message, position=options.position(START_OFFSET))
