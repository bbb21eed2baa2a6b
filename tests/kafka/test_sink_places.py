"""Large ticks of an append-only topic: each partition is a slot, read and written by one task without a shuffle."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pytest

from kafka import sink_of, source_of
from kafka.sink_of import records, told
from kafka.test_sink_slots import allow_wide_messages
from tailrace.errors import InternalError, SqlError
from tailrace.ivm.views import Views
from tailrace.ivm.zset import ZSet
from tailrace.kafka.admin import TopicLayout
from tailrace.sinks.contract import Progress
from tailrace.sinks.kafka import KafkaSink
from tailrace.sinks.kafka_definition import KafkaSinkDefinition, Limits
from tailrace.sources import kafka_scan
from tailrace.testing.topics import produce
from tailrace.types.core import TEXT, Column, Tick

LARGE = Limits(small_rows=10, slot_rows=100)
TEXTS = [f"m{i}" for i in range(90)]
WIDE = "".join(chr(ord("a") + i * i % 23) for i in range(50_000))


@contextmanager
def change_of(broker, spark, name: str) -> Iterator[ZSet]:
    """All of a topic as a change, read by Spark."""
    with source_of.opened(source_of.definition_of(broker, name), source_of.LARGE) as source:
        views = Views(spark)
        with views.scratch():
            yield source.changes(source.start(), source.latest({}), views)


def filled(broker, topic, partitions: int, texts: Sequence[str] = TEXTS, into: Sequence[int] | None = None) -> str:
    name = topic(partitions=partitions)
    places = into or range(partitions)
    produce(broker.bootstrap, name, [(None, text, {}, places[i % len(places)]) for i, text in enumerate(texts)])
    return name


def texts_told(sink: KafkaSinkDefinition) -> Counter[str]:
    return Counter(json.loads(each.value)["text"] for each in told(sink))


def sink_to(broker, **more) -> KafkaSinkDefinition:
    return sink_of.definition_of(broker, schema=(Column("text", TEXT),), **more)


def started(definition: KafkaSinkDefinition, spark, limits: Limits = LARGE) -> KafkaSink:
    sink = KafkaSink(definition, spark, limits)
    sink.progress()
    return sink


def test_each_partition_is_a_slot_and_nothing_is_shuffled(broker, topic, spark):
    sink = sink_to(broker)
    with change_of(broker, spark, filled(broker, topic, 3)) as change:
        assert "Exchange" not in spark.sql(sink.told_as.in_place(change.placed))._jdf.queryExecution().toString()
        started(sink, spark).write(Tick(10), change)
    assert texts_told(sink) == Counter(TEXTS)
    written = records(sink)
    assert (written[0][1]["placed"], written[0][1]["slots"]) == (True, 3)
    assert sorted(key for key, _ in written[1:-1]) == [f"mz-sink-u7-{slot}" for slot in range(3)]


def test_a_partition_with_nothing_new_is_no_slot(broker, topic, spark):
    sink = sink_to(broker)
    with change_of(broker, spark, filled(broker, topic, 5, into=(1, 3, 4))) as change:
        started(sink, spark).write(Tick(10), change)
    assert texts_told(sink) == Counter(TEXTS)
    assert sorted(key for key, _ in records(sink)[1:-1]) == [f"mz-sink-u7-{slot}" for slot in (1, 3, 4)]


@pytest.mark.parametrize(("partitions", "into"), [(3, (1,)), (40, None)])
def test_too_uneven_or_too_many_partitions_go_by_their_bytes(broker, topic, spark, partitions, into):
    sink = sink_to(broker)
    with change_of(broker, spark, filled(broker, topic, partitions, into=into)) as change:
        started(sink, spark).write(Tick(10), change)
    assert texts_told(sink) == Counter(TEXTS)
    assert records(sink)[0][1]["placed"] is False


@pytest.mark.parametrize("limits", [LARGE, Limits(small_rows=10, slot_rows=10), Limits(small_rows=10**9)])
def test_a_replay_writes_only_the_missing_slots_whatever_it_would_choose_itself(broker, topic, spark, limits):
    sink = sink_to(broker, topic_layout=TopicLayout(config={"max.message.bytes": "20000"}), compression="none")
    texts = [WIDE if text == "m40" else text for text in TEXTS]
    name = filled(broker, topic, 3, texts)
    with change_of(broker, spark, name) as change, pytest.raises(SqlError, match="a message is too large"):
        started(sink, spark).write(Tick(10), change)
    before = texts_told(sink)
    assert 0 < before.total() < len(texts)
    allow_wide_messages(sink)
    successor = KafkaSink(sink, spark, limits)
    assert successor.progress() == Progress(tick=None, unfinished=Tick(10))
    with change_of(broker, spark, name) as change:
        written = successor.write(Tick(10), change)
    assert written.messages == len(texts) - before.total()
    assert texts_told(sink) == Counter(texts)


def test_a_partition_that_several_tasks_could_read_is_still_read_by_one(broker, topic, spark, monkeypatch):
    monkeypatch.setattr(kafka_scan, "_ROWS_PER_TASK", 1)
    with change_of(broker, spark, filled(broker, topic, 1)) as change:
        split, whole = (spark.sql(each).rdd.getNumPartitions() for each in (change.sql, change.placed.sql))
        assert (split, whole) == (2, 1)


def test_a_place_in_two_tasks_is_noticed_before_anything_is_written(broker, topic, spark):
    sink = sink_to(broker)
    with change_of(broker, spark, filled(broker, topic, 3)) as change:
        torn = f"SELECT /*+ REPARTITION(5) */ * FROM ({change.placed.sql})"
        with pytest.raises(InternalError, match="3 places are read by 5 tasks"):
            started(sink, spark).write(Tick(10), replace(change, placed=replace(change.placed, sql=torn)))
    assert told(sink) == []
