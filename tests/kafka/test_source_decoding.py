"""Messages become rows, broken ones dead letters, on a real topic and in both ways of reading."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

from kafka.source_of import LARGE, SMALL, dead_letters_of, definition_of, opened, rows_of, sorted_rows
from tailrace.formats.decode_json import JsonDecoder
from tailrace.formats.decode_text import TextDecoder
from tailrace.ivm.views import Views
from tailrace.sources.kafka_definition import (
    BadMessages,
    Envelope,
    IncludeHeader,
    IncludeKey,
    KafkaSourceDefinition,
)
from tailrace.sources.kafka_offsets import LatestOffsets
from tailrace.sources.kafka_upsert import UpsertSource
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.topics import produce

BOTH = pytest.mark.parametrize("small_rows", [SMALL, LARGE], ids=["driver", "spark"])


@BOTH
def test_broken_json_goes_to_the_dead_letters(
    broker: Broker, topic: TopicFactory, spark: SparkSession, small_rows: int
) -> None:
    name = topic()
    messages = [(None, '{"a": 1}'), ("k", "{"), (None, None), (None, "[1]"), (None, b'"\xff"'), (None, "1 2")]
    produce(broker.bootstrap, name, messages)
    with opened(definition_of(broker, name, JsonDecoder()), small_rows) as source:
        end = source.latest({})
        assert rows_of(source, {}, end, spark) == [("[1]", 1), ('{"a": 1}', 1)]
        letters = dead_letters_of(source, {}, end, spark)
        assert [(p, offset, key, value, weight) for p, offset, _, key, value, _, weight in letters] == [
            (0, 1, b"k", b"{", 1),
            (0, 4, None, b'"\xff"', 1),
            (0, 5, None, b"1 2", 1),
        ]
        assert [letter[5] for letter in letters] == [
            "Decode error: JSON: not a valid document (original text: {)",
            "Decode error: JSON: not a valid document (original bytes: 22ff22)",
            "Decode error: JSON: not a valid document (original text: 1 2)",
        ]


def test_good_messages_need_no_job_to_have_no_dead_letters(
    broker: Broker, topic: TopicFactory, spark: SparkSession
) -> None:
    name = topic()
    produce(broker.bootstrap, name, [(None, '{"a": 1}'), (None, "2"), (None, None)])
    with opened(definition_of(broker, name, JsonDecoder())) as source:
        assert source.dead_letters({}, source.latest({}), Views(spark)).is_empty


@BOTH
def test_a_source_told_to_stop_stops(
    broker: Broker, topic: TopicFactory, spark: SparkSession, small_rows: int
) -> None:
    name = topic()
    produce(broker.bootstrap, name, [(None, "1"), (None, "{")])
    definition = definition_of(broker, name, JsonDecoder(), bad_messages=BadMessages.STOP)
    with opened(definition, small_rows) as source:
        assert rows_of(source, {}, {0: 1}, spark) == [("1", 1)]
        with pytest.raises(Exception, match="source messages: partition 0 offset 1: Decode error: JSON"):
            rows_of(source, {}, {0: 2}, spark)


@BOTH
def test_headers_are_columns(
    broker: Broker, topic: TopicFactory, spark: SparkSession, small_rows: int
) -> None:
    name = topic()
    produce(broker.bootstrap, name, [("k", "a", {"h": "1"}), ("k", "b", {"g": "2"}), (None, "c", {"h": "3"})])
    include = (IncludeKey(), IncludeHeader("h", "h"))
    with opened(definition_of(broker, name, key_format=TextDecoder(), include=include), small_rows) as source:
        end = source.latest({})
        assert rows_of(source, {}, end, spark) == [("k", "a", "1", 1), (None, "c", "3", 1)]
        [letter] = dead_letters_of(source, {}, end, spark)
        assert letter[5] == "A header with key 'h' was not found in the message headers"


@contextmanager
def upsert(definition: KafkaSourceDefinition, small_rows: int) -> Iterator[UpsertSource]:
    source = UpsertSource(definition, LatestOffsets(definition.connection), small_rows)
    try:
        yield source
    finally:
        source.close()


@BOTH
def test_upsert_gives_the_last_message_of_each_key(
    broker: Broker, topic: TopicFactory, spark: SparkSession, small_rows: int
) -> None:
    name = topic(partitions=2)
    definition = definition_of(
        broker, name, JsonDecoder(), key_format=TextDecoder(), envelope=Envelope.UPSERT
    )
    produce(
        broker.bootstrap, name, [("a", "1", {}, 0), ("b", "2", {}, 1), ("a", "3", {}, 0), ("c", "4", {}, 0)]
    )
    produce(broker.bootstrap, name, [("b", None, {}, 1), ("c", "{", {}, 0), (None, "5", {}, 0)])
    views = Views(spark)
    with upsert(definition, small_rows) as source, views.scratch():
        end = source.latest({})
        messages = source.messages({}, end, views)
        assert source.key == (0,)
        assert messages.rows == 7
        assert sorted_rows(views.large.sql(messages.sql).collect()) == [
            ("a", "3", False),
            ("b", None, True),
            ("c", "4", False),
        ]
        letters = source.dead_letters({}, end, views)
        assert letters.sql is not None
        assert sorted(row.c1 for row in views.large.sql(letters.sql).collect()) == [3, 4]
        nothing = source.messages(end, end, views)
        assert (nothing.rows, views.small.sql(nothing.sql).collect()) == (0, [])


@BOTH
def test_a_key_in_several_partitions_has_the_row_of_the_later_tick(
    broker: Broker, topic: TopicFactory, spark: SparkSession, small_rows: int
) -> None:
    """A step over several ticks comes to what the ticks one by one come to."""
    name = topic(partitions=2)
    definition = definition_of(
        broker, name, JsonDecoder(), key_format=TextDecoder(), envelope=Envelope.UPSERT
    )
    produce(broker.bootstrap, name, [("a", "1", {}, 1), ("b", "1", {}, 0), ("c", "1", {}, 1)])
    views = Views(spark)
    with upsert(definition, small_rows) as source, views.scratch():
        first = source.latest({})
        produce(broker.bootstrap, name, [("a", "2", {}, 0), ("c", "2", {}, 0), ("c", "3", {}, 1)])
        second = source.latest(first)
        produce(broker.bootstrap, name, [("b", "3", {}, 1)])
        end = source.latest(second)
        one_by_one: dict[str, tuple[object, ...]] = {}
        for since, until in (({}, first), (first, second), (second, end)):
            for row in views.large.sql(source.messages(since, until, views).sql).collect():
                one_by_one[row[0]] = tuple(row)
        fused = source.messages({}, end, views, [first, second])
        assert {row[0]: tuple(row) for row in views.large.sql(fused.sql).collect()} == one_by_one
        assert one_by_one["a"] == ("a", "2", False)
        forgetful = source.messages({}, end, views)
        assert {row[0]: tuple(row) for row in views.large.sql(forgetful.sql).collect()} != one_by_one
