"""Small ticks: one transaction on the driver, told to a reader of committed messages."""

import json

import pytest

from kafka.sink_of import SCHEMA, changes, definition_of, records, told, upserts, zset
from tailrace.formats.encoders import encoder
from tailrace.ivm.zset import ZSet
from tailrace.sinks.contract import Progress
from tailrace.sinks.kafka import KafkaSink
from tailrace.types.core import INTEGER, Column, Tick


@pytest.fixture
def definition(broker):
    return definition_of(broker)


def started(definition, spark, **more) -> KafkaSink:
    sink = KafkaSink(definition, spark, **more)
    sink.progress()
    return sink


def test_a_fresh_sink_holds_nothing(definition, spark):
    assert KafkaSink(definition, spark).progress() == Progress(tick=None)


def test_updates_become_upserts_and_deletions_tombstones(definition, spark):
    sink = started(definition, spark)
    sink.write(Tick(10), zset((1, "a", 1), (2, "b", 1), positive=True))
    written = sink.write(Tick(20), zset((1, "a", -1), (1, "A", 1), (2, "b", -1), (3, "c", 1), (3, "c", -1)))
    assert changes(definition) == upserts({1: "a", 2: "b"}, 10) + upserts({1: "A", 2: None}, 20)
    assert written.messages == 2
    assert [each.value for each in told(definition) if each.key == b'{"k":2}'] == [b'{"k":2,"v":"b"}', None]


def test_progress_is_told_with_the_messages(definition, spark):
    sink = started(definition, spark)
    sink.write(Tick(10), zset((1, "a", 1)))
    sink.write(Tick(20), ZSet.empty(2))
    assert records(definition) == [
        ("mz-sink-u7", {"frontier": [11], "version": 0}),
        ("mz-sink-u7", {"frontier": [21], "version": 0}),
    ]
    assert KafkaSink(definition, spark).progress() == Progress(tick=Tick(20))


def test_the_key_decides_the_partition_by_seahash(broker, spark, topic):
    definition = definition_of(broker, topic=topic("six", partitions=6), schema=(Column("id", INTEGER),))
    started(definition, spark).write(
        Tick(1), ZSet(arity=1, sql="SELECT 42 AS c0, 1L AS weight", rows=1, positive=True)
    )
    [message] = told(definition)
    assert (message.key, message.partition) == (b'{"id":42}', 2)  # the published vector


def test_without_a_key_all_goes_to_partition_0_and_nothing_is_paired(broker, spark, topic):
    definition = definition_of(broker, topic=topic("three", partitions=3), key=None, envelope="debezium")
    sink = started(definition, spark)
    sink.write(Tick(1), zset((1, "a", 2), (2, "b", -1)))
    values = sorted(json.dumps(json.loads(each.value)) for each in told(definition))
    assert values == [
        '{"before": null, "after": {"k": 1, "v": "a"}}',
        '{"before": null, "after": {"k": 1, "v": "a"}}',
        '{"before": {"k": 2, "v": "b"}, "after": null}',
    ]
    assert {(each.partition, each.key) for each in told(definition)} == {(0, None)}


def test_debezium_tells_both_sides_of_an_update(broker, spark):
    definition = definition_of(broker, envelope="debezium")
    sink = started(definition, spark)
    sink.write(Tick(5), zset((1, "a", -1), (1, "A", 1), (2, None, 1)))
    values = {each.key: json.loads(each.value) for each in told(definition)}
    assert values == {
        b'{"k":1}': {"before": {"k": 1, "v": "a"}, "after": {"k": 1, "v": "A"}},
        b'{"k":2}': {"before": None, "after": {"k": 2, "v": None}},
    }


def test_a_null_in_text_format_is_an_empty_part_and_not_a_tombstone(broker, spark):
    definition = definition_of(
        broker, schema=SCHEMA[1:], key=(0,), key_format=encoder("bytes"), value_format=encoder("text")
    )
    rows = ZSet(arity=1, sql="SELECT CAST(NULL AS string) AS c0, 1L AS weight", rows=1, positive=True)
    started(definition, spark).write(Tick(1), rows)
    assert [(each.key, each.value) for each in told(definition)] == [(b"", b"")]


def test_at_least_once_writes_the_messages_and_then_the_record(broker, spark):
    definition = definition_of(broker, guarantee="at-least-once")
    sink = started(definition, spark)
    sink.write(Tick(1), zset((1, "a", 1)))
    sink.write(Tick(2), zset(*((k, "b", 1) for k in range(10)), large=True))
    assert changes(definition) == upserts({1: "a"}, 1) + upserts(dict.fromkeys(range(10), "b"), 2)
    assert KafkaSink(definition, spark).progress() == Progress(tick=Tick(2))
