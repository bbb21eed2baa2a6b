"""Large ticks: written in slots by Spark tasks, each slot once, whoever dies, comes back or repeats."""

import json
import time
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from kafka.sink_of import changes, definition_of, numbers, records, told, upserts, zset
from tailrace.errors import Fenced, InternalError, SqlError, TailraceError, Unavailable
from tailrace.kafka.admin import TopicLayout, Topics
from tailrace.sinks.arrow_stream import stream
from tailrace.sinks.contract import Progress
from tailrace.sinks.kafka import KafkaSink
from tailrace.sinks.kafka_definition import AT_LEAST_ONCE, EXACTLY_ONCE, Limits
from tailrace.sinks.kafka_slots import SlotTask, _Slot
from tailrace.sinks.kafka_writer import TransactionalWriter
from tailrace.types.core import Tick

FOUR_SLOTS = Limits(slot_rows=2_500_000)  # of the ten million rows that `large` pretends
ROWS = 500
EXPECTED = upserts({k: f"v{k}" for k in range(ROWS)}, 10)


@pytest.fixture
def definition(broker):
    return definition_of(broker, topic_layout=TopicLayout(partitions=3))


def started(definition, spark, limits=FOUR_SLOTS) -> KafkaSink:
    sink = KafkaSink(definition, spark, limits)
    sink.progress()
    return sink


def test_a_large_tick_is_planned_written_in_slots_and_settled(definition, spark):
    written = started(definition, spark).write(Tick(10), numbers(ROWS, large=True))
    assert changes(definition) == EXPECTED
    assert written.messages == ROWS
    assert written.bytes == sum(len(each.key) + len(each.value) for each in told(definition))
    keys = [key for key, _ in records(definition)]
    assert (keys[0], keys[-1]) == ("mz-sink-u7-slots", "mz-sink-u7")
    assert sorted(keys[1:-1]) == [f"mz-sink-u7-{slot}" for slot in range(4)]
    assert KafkaSink(definition, spark).progress() == Progress(tick=Tick(10))


def test_large_and_small_ticks_choose_the_same_partitions(definition, spark):
    sink = started(definition, spark)
    sink.write(Tick(10), numbers(50, large=True))
    sink.write(Tick(20), numbers(50))
    places = {(each.key, each.partition) for each in told(definition)}
    assert len(places) == 50


@pytest.mark.slow
def test_a_function_of_ones_own_places_messages_also_in_slots(broker, spark, tmp_path):
    """By Spark's Python workers, from a module that they are given; if it answers nonsense, nothing is written."""
    module = tmp_path / "placing_in_slots.py"
    module.write_text(
        "from tailrace.kafka.partitioner import partitioner\n"
        "@partitioner\n"
        "def by_length(keys, values, partitions):\n"
        "    return [len(value) % partitions for value in values.to_pylist()]\n"
        "@partitioner\n"
        "def nowhere(keys, values, partitions):\n"
        "    return [partitions] * len(values)\n"
    )
    spark.sparkContext.addPyFile(str(module))
    three = TopicLayout(partitions=3)
    definition = definition_of(broker, topic_layout=three, partitioner="placing_in_slots:by_length")
    sink = started(definition, spark)
    sink.write(Tick(10), numbers(ROWS, large=True))
    sink.write(Tick(20), numbers(50))
    assert changes(definition) == EXPECTED + upserts({k: f"v{k}" for k in range(50)}, 20)
    assert {each.partition - len(each.value) % 3 for each in told(definition)} == {0}
    wrong = definition_of(broker, topic_layout=three, partitioner="placing_in_slots:nowhere")
    with pytest.raises(SqlError, match="gave no partition of each message"):
        started(wrong, spark).write(Tick(10), numbers(ROWS, large=True))
    assert told(wrong) == []


def test_updates_and_deletions_are_paired_also_in_slots(broker, spark):
    definition = definition_of(broker, envelope="debezium")
    delta = zset((1, "a", -1), (1, "A", 1), (2, "b", -2), (3, "c", 1), (3, "c", -1), large=True)
    started(definition, spark).write(Tick(10), delta)
    found = Counter((each.key, json.dumps(json.loads(each.value))) for each in told(definition))
    assert found == {
        (b'{"k":1}', '{"before": {"k": 1, "v": "a"}, "after": {"k": 1, "v": "A"}}'): 1,
        (b'{"k":2}', '{"before": {"k": 2, "v": "b"}, "after": null}'): 2,
    }


def test_rows_without_a_key_are_spread_over_slots_too(broker, spark):
    definition = definition_of(broker, key=None, envelope="debezium")
    started(definition, spark).write(Tick(10), numbers(ROWS, large=True))
    found = Counter(json.loads(each.value)["after"]["k"] for each in told(definition))
    assert found == Counter(range(ROWS))
    assert len(records(definition)) == 6


def test_a_slot_whose_task_died_is_not_left_open_when_its_sink_is_closed(definition, spark, monkeypatch):
    """Readers would wait for it until its time-out."""

    def die(task: SlotTask) -> None:
        slot = TransactionalWriter(task.outlet, f"{task.transactional_id}-0", task.time_out)
        slot.begin()
        slot.send(pa.record_batch({"key": [b"{}"], "value": [b"{}"], "copies": [1]}), 10, 3)
        slot.flush()
        raise Unavailable("the task is gone")

    sink = started(definition, spark)
    monkeypatch.setattr("tailrace.sinks.kafka_plans.SlotTask", lambda **given: die(SlotTask(**given)))
    with pytest.raises(Unavailable):
        sink.write(Tick(10), numbers(ROWS, large=True))
    sink.close()
    assert told(definition) == []


def broken_at_one_slot(broker, spark, limits=FOUR_SLOTS):
    """A sink that has written all slots of tick 10 but the one with a message that the topic refuses."""
    definition = definition_of(broker, topic_layout=TopicLayout(config={"max.message.bytes": "20000"}))
    sink = started(definition, spark, limits)
    with pytest.raises(SqlError, match="a message is too large"):
        sink.write(Tick(10), with_one_wide_row())
    return definition, sink


def with_one_wide_row():
    noise = "array_join(transform(sequence(1, 1000), i -> sha2(string(i), 256)), '')"
    return numbers(ROWS, large=True, sql=f"CASE WHEN id = 77 THEN {noise} ELSE concat('v', id) END")


def allow_wide_messages(definition) -> None:
    entry = ConfigEntry("max.message.bytes", "1000000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, definition.topic, incremental_configs=[entry])
    topics = Topics(definition.connection)
    topics.client.incremental_alter_configs([resource])[resource].result()
    while topics.config(definition.topic)["max.message.bytes"] != "1000000":
        time.sleep(0.01)


def keys_told(definition) -> Counter[bytes | None]:
    return Counter(each.key for each in told(definition))


EVERY_KEY_ONCE = Counter(f'{{"k":{k}}}'.encode() for k in range(ROWS))


@pytest.mark.parametrize("limits", [FOUR_SLOTS, Limits(slot_rows=1_000_000), Limits(small_rows=10**9)])
def test_a_replay_writes_only_the_missing_slots_whatever_it_would_choose_itself(broker, spark, limits):
    definition, _ = broken_at_one_slot(broker, spark)
    before = keys_told(definition)
    assert 0 < len(before) < ROWS
    allow_wide_messages(definition)
    successor = KafkaSink(definition, spark, limits)
    assert successor.progress() == Progress(tick=None, unfinished=Tick(10))
    written = successor.write(Tick(10), with_one_wide_row())
    assert written.messages == ROWS - len(before)
    assert keys_told(definition) == EVERY_KEY_ONCE
    assert KafkaSink(definition, spark).progress() == Progress(tick=Tick(10))


def test_an_unfinished_tick_must_be_finished_first(broker, spark):
    _, sink = broken_at_one_slot(broker, spark)
    assert sink.progress().unfinished == Tick(10)
    with pytest.raises(InternalError, match="must finish tick 10 and was given 20"):
        sink.write(Tick(20), numbers(1))


def test_slots_that_are_done_stay_done_over_many_failures(broker, spark):
    definition, sink = broken_at_one_slot(broker, spark)
    for _ in range(2):
        assert sink.progress().unfinished == Tick(10)
        with pytest.raises(SqlError, match="a message is too large"):
            sink.write(Tick(10), with_one_wide_row())
    allow_wide_messages(definition)
    assert sink.progress().unfinished == Tick(10)
    sink.write(Tick(10), with_one_wide_row())
    assert keys_told(definition) == EVERY_KEY_ONCE


def planned(definition, spark) -> tuple[KafkaSink, SlotTask]:
    """A sink that has planned the slots of tick 10, and the task that it would have sent to executors."""
    sink = started(definition, spark)
    plans = sink._plans
    plan = plans.begin(sink._writer, Tick(10), 4, 3)
    task = SlotTask(
        outlet=sink._outlet,
        progress=sink._progress,
        transactional_id=definition.transactional_id,
        plan=plan,
        owner=plan.owner,
        since=plans._since,
        time_out=60.0,
        engine=None,
    )
    return sink, task


def opened(task: SlotTask, number: int) -> _Slot:
    slot = _Slot(task, number)
    slot._opening.result()
    return slot


def messages_of(spark, definition, slot: int):
    sql = f"SELECT * FROM ({definition.told_as.slotted(numbers(ROWS, large=True), 4)}) WHERE slot = {slot}"
    [batch] = spark.sql(sql).toArrow().combine_chunks().to_batches()
    return batch


def test_a_plan_without_a_finished_slot_binds_nobody(definition, spark):
    planned(definition, spark)
    successor = KafkaSink(definition, spark)
    assert successor.progress() == Progress(tick=None)
    successor.write(Tick(10), numbers(ROWS))
    assert changes(definition) == EXPECTED


def test_a_slot_that_was_open_when_another_took_over_is_fenced(definition, spark):
    _, task = planned(definition, spark)
    open_slot = opened(task, 2)
    open_slot.send(messages_of(spark, definition, 2))
    open_slot._opening.result().flush()
    successor = started(definition, spark)
    with pytest.raises(Fenced):
        open_slot.commit()
    successor.write(Tick(10), numbers(ROWS, large=True))
    assert changes(definition) == EXPECTED


def test_a_slot_whose_record_hangs_does_not_hold_up_the_successor(definition, spark, monkeypatch):
    _, task = planned(definition, spark)
    slot = opened(task, 2)
    slot.send(messages_of(spark, definition, 2))
    slot._opening.result()._sender.record(definition.connection.progress_topic, *task.progress.records.slot(2, 10))
    slot._opening.result().flush()  # from here on, committed readers of the progress topic wait for this transaction
    monkeypatch.setattr("tailrace.sinks.kafka_progress._PATIENCE_SECONDS", 20.0)
    successor = KafkaSink(definition, spark, FOUR_SLOTS)
    assert successor.progress() == Progress(tick=None)
    successor.write(Tick(10), numbers(ROWS, large=True))
    assert changes(definition) == EXPECTED


def test_a_zombie_that_opens_a_slot_late_finds_another_owner(definition, spark):
    _, task = planned(definition, spark)
    successor = started(definition, spark)
    with pytest.raises(Fenced):
        opened(task, 1)
    successor.write(Tick(10), numbers(ROWS, large=True))
    with pytest.raises(Fenced):
        opened(task, 1)
    assert changes(definition) == EXPECTED


@pytest.mark.parametrize("most_kept", [0, 1 << 30], ids=["waits for its slot", "keeps messages until its slot is open"])
def test_a_task_that_spark_runs_twice_writes_once(definition, spark, monkeypatch, most_kept):
    monkeypatch.setattr("tailrace.sinks.kafka_slots._MOST_KEPT", most_kept)
    _, task = planned(definition, spark)
    batch = messages_of(spark, definition, 1)
    first, second = (next(task.run([batch])).to_pylist()[0] for _ in range(2))
    assert (first["messages"], first["failure"]) == (batch.num_rows, None)
    assert (second["messages"], second["failure"]) == (0, None)
    assert len(told(definition)) == batch.num_rows


def test_an_attempt_that_still_runs_is_fenced_by_its_repetition(definition, spark):
    _, task = planned(definition, spark)
    batch = messages_of(spark, definition, 1)
    straggler = opened(task, 1)
    straggler.send(batch)
    next(task.run([batch]))
    with pytest.raises(Fenced):
        straggler.commit()
    assert len(told(definition)) == batch.num_rows


def test_an_atomic_sink_writes_a_large_tick_in_one_transaction(broker, spark):
    definition = definition_of(broker, atomic=True, topic_layout=TopicLayout(partitions=3))
    started(definition, spark).write(Tick(10), numbers(ROWS, large=True))
    assert changes(definition) == EXPECTED
    assert [key for key, _ in records(definition)] == ["mz-sink-u7"]


def test_an_atomic_tick_that_fails_tells_nothing(broker, spark):
    layout = TopicLayout(config={"max.message.bytes": "20000"})
    definition = definition_of(broker, atomic=True, topic_layout=layout)
    sink = started(definition, spark)
    with pytest.raises(SqlError, match="a message is too large"):
        sink.write(Tick(10), with_one_wide_row())
    assert told(definition) == []
    allow_wide_messages(definition)
    assert sink.progress() == Progress(tick=None)
    sink.write(Tick(10), with_one_wide_row())
    assert keys_told(definition) == EVERY_KEY_ONCE


@pytest.mark.parametrize("guarantee", [EXACTLY_ONCE, AT_LEAST_ONCE])
def test_a_key_that_is_told_twice_in_a_tick_is_noticed_also_in_slots(broker, spark, guarantee):
    definition = definition_of(broker, watches_key=True, guarantee=guarantee)
    sink = started(definition, spark)
    assert sink.write(Tick(10), numbers(ROWS, large=True)).broken_key is None
    twice = zset((1, "a", 1), (1, "b", 1), (2, "c", 1), (3, "v3", -1), large=True)
    assert sink.write(Tick(20), twice).broken_key == '{"k":1}'
    assert Counter(each.key for each in told(definition)[ROWS:]) == {b'{"k":1}': 2, b'{"k":2}': 1, b'{"k":3}': 1}


def test_a_change_that_would_not_nearly_fill_a_slot_is_one_transaction_of_the_driver(definition, spark):
    some = replace(numbers(ROWS), rows=30_000)
    written = started(definition, spark).write(Tick(10), some)
    assert (written.messages, written.slots) == (ROWS, 0)
    assert changes(definition) == EXPECTED
    assert [key for key, _ in records(definition)] == ["mz-sink-u7"]


def test_a_change_of_few_rows_and_many_bytes_is_written_in_slots(definition, spark, monkeypatch):
    monkeypatch.setattr("tailrace.sinks.kafka._MOST_STREAMED", 1000)
    monkeypatch.setattr("tailrace.sinks.kafka._MOST_GATHERED", 1000)
    some = replace(numbers(ROWS), rows=30_000)
    sink = started(definition, spark)
    with pytest.raises(Unavailable, match="too large for one transaction"):
        sink.write(Tick(10), some)
    assert sink.progress() == Progress(tick=None)
    assert sink.write(Tick(10), some).slots == 2
    assert changes(definition) == EXPECTED


def test_a_transaction_that_has_waited_too_long_for_spark_does_not_wait_again(definition, spark, monkeypatch):
    """Some messages are sent while Spark makes the others; if that takes too long, it makes all of them first."""
    some = replace(numbers(ROWS), rows=30_000)
    sink = started(definition, spark, Limits(transaction_seconds=2.0))
    monkeypatch.setattr("tailrace.sinks.kafka.stream", slowly)
    with pytest.raises(TailraceError):
        sink.write(Tick(10), some)
    assert sink.progress() == Progress(tick=None)
    written = sink.write(Tick(10), some)
    assert (written.messages, written.slots) == (ROWS, 0)
    assert changes(definition) == EXPECTED


def slowly(frame):
    batches = stream(frame)
    yield next(batches)
    time.sleep(5)  # the broker ends a transaction after two
    yield from batches


def test_a_tick_that_was_thought_to_be_small_is_written_in_slots_if_it_is_not(definition, spark):
    sink = started(definition, spark, Limits(small_rows=100))
    assert sink.write(Tick(10), replace(numbers(2_500), rows=3)).slots == 10
    assert len({each.key for each in told(definition)}) == len(told(definition)) == 2_500


@pytest.mark.slow
def test_a_snapshot_may_take_longer_than_any_of_its_transactions(broker, spark):
    """Some 20 s here; each slot has 10."""
    rows = 2_000_000
    definition = definition_of(broker, topic_layout=TopicLayout(partitions=3))
    limits = Limits(small_rows=20_000, slot_rows=100_000, transaction_seconds=10.0)
    written = started(definition, spark, limits).write(Tick(10), numbers(rows))
    assert (written.messages, written.slots) == (rows, 20)
    keys = [int(each.key[5:-1]) for each in told(definition)]
    assert len(keys) == rows
    assert set(keys) == set(range(rows))
