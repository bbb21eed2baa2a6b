"""Sources for tests: a definition on the test broker, and both ways of reading it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from tailrace.formats.decode_bytes import BytesDecoder
from tailrace.formats.decode_contract import Decoder
from tailrace.formats.decode_text import TextDecoder
from tailrace.ivm.views import Views
from tailrace.kafka.connection import KafkaConnection
from tailrace.sources.contract import Offsets
from tailrace.sources.kafka import KafkaSource
from tailrace.sources.kafka_definition import (
    IncludeHeaders,
    IncludeKey,
    IncludeOffset,
    IncludePartition,
    IncludeTimestamp,
    KafkaSourceDefinition,
)
from tailrace.sources.kafka_offsets import LatestOffsets
from tailrace.testing.broker import Broker

EVERYTHING = (IncludeKey(), IncludePartition(), IncludeOffset(), IncludeTimestamp(), IncludeHeaders())

SMALL, LARGE = 1_000_000, 0
"""Values of `small_rows` that make a source read everything on the driver, or everything by Spark."""

Rows = list[tuple[Any, ...]]


def connection_to(broker: Broker) -> KafkaConnection:
    return KafkaConnection(
        id="u1",
        name="kafka",
        brokers=(broker.bootstrap,),
        security_protocol="PLAINTEXT",
        progress_topic="progress",
    )


def definition_of(
    broker: Broker, topic: str, value_format: Decoder | None = None, **more: Any
) -> KafkaSourceDefinition:
    return KafkaSourceDefinition(
        id="u7",
        name="messages",
        connection=connection_to(broker),
        region_id="tests",
        topic=topic,
        value_format=value_format or TextDecoder(),
        **more,
    )


def everything_of(broker: Broker, topic: str) -> KafkaSourceDefinition:
    """Every part of every message as a column."""
    return definition_of(broker, topic, BytesDecoder(), key_format=BytesDecoder(), include=EVERYTHING)


@contextmanager
def opened(definition: KafkaSourceDefinition, small_rows: int = SMALL) -> Iterator[KafkaSource]:
    source = KafkaSource(definition, LatestOffsets(definition.connection), small_rows)
    try:
        yield source
    finally:
        source.close()


def rows_of(source: KafkaSource, since: Offsets, until: Offsets, spark: SparkSession) -> Rows:
    """The rows between two positions, in no order that means anything."""
    views = Views(spark)
    with views.scratch():
        change = source.changes(since, until, views)
        return [] if change.sql is None else sorted_rows(views.large.sql(change.sql).collect())


def dead_letters_of(source: KafkaSource, since: Offsets, until: Offsets, spark: SparkSession) -> Rows:
    views = Views(spark)
    with views.scratch():
        change = source.dead_letters(since, until, views)
        return [] if change.sql is None else sorted_rows(views.large.sql(change.sql).collect())


def sorted_rows(rows: Sequence[Any]) -> Rows:
    return sorted((tuple(map(_plain, row)) for row in rows), key=repr)


def _plain(value: Any) -> Any:
    if isinstance(value, bytearray):
        return bytes(value)
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value
