"""Doubt, zombies and restarts: whatever happens, every tick is told once; and thanks to which defence."""

from collections import Counter
from contextlib import suppress

import pytest

from kafka.sink_of import changes, definition_of, numbers, records, told, upserts, zset
from tailrace.errors import Fenced, InternalError, Unavailable
from tailrace.sinks.contract import Progress
from tailrace.sinks.kafka import KafkaSink
from tailrace.sinks.kafka_definition import Defences
from tailrace.sinks.kafka_progress import ProgressTopic
from tailrace.sinks.kafka_writer import TransactionalWriter
from tailrace.testing.broker import Broker
from tailrace.testing.topics import transaction
from tailrace.types.core import Tick

FIRST, SECOND = zset((1, "a", 1), (2, "b", 1)), zset((1, "a", -1), (1, "A", 1))
TOLD = upserts({1: "a", 2: "b"}, 10) + upserts({1: "A"}, 20)


@pytest.fixture
def definition(broker):
    return definition_of(broker)


def started(definition, spark, **more) -> KafkaSink:
    sink = KafkaSink(definition, spark, **more)
    sink.progress()
    return sink


def deliver(sink: KafkaSink, *ticks: int) -> None:
    """As the loop does: ask what the target holds, then write what it lacks."""
    held = sink.progress().tick or 0
    for tick in ticks:
        if tick > held:
            sink.write(Tick(tick), FIRST if tick == 10 else SECOND)


def test_a_restarted_sink_writes_only_what_is_missing(definition, spark):
    deliver(KafkaSink(definition, spark), 10)
    deliver(KafkaSink(definition, spark), 10, 20)
    deliver(KafkaSink(definition, spark), 10, 20)
    assert changes(definition) == TOLD


def test_without_the_progress_record_a_restart_tells_all_again(definition, spark):
    off = Defences(progress_record=False)
    deliver(KafkaSink(definition, spark, defences=off), 10)
    deliver(KafkaSink(definition, spark, defences=off), 10, 20)
    assert changes(definition) != TOLD


def test_a_zombie_can_commit_nothing_once_another_has_taken_over(definition, spark):
    zombie = started(definition, spark)
    zombie.write(Tick(10), FIRST)
    successor = KafkaSink(definition, spark)
    assert successor.progress() == Progress(tick=Tick(10))
    with pytest.raises(Fenced):
        zombie.write(Tick(20), zset((9, "zombie", 1)))
    with pytest.raises(Unavailable, match="in doubt"):
        zombie.write(Tick(20), zset((9, "zombie", 1)))
    successor.write(Tick(20), SECOND)
    assert changes(definition) == TOLD


def zombie_with_an_open_transaction(definition, spark, monkeypatch):
    """A sink that has sent all messages of tick 10, and stops just before its record: the call to go on."""
    commits = []
    original = TransactionalWriter.commit

    def sent_but_not_committed(self, *arguments, **options):
        self.flush()
        commits.append(lambda: original(self, *arguments, **options))
        raise Unavailable("stopped here")

    zombie = started(definition, spark)
    monkeypatch.setattr(TransactionalWriter, "commit", sent_but_not_committed)
    monkeypatch.setattr(TransactionalWriter, "abort", lambda self: None)
    with pytest.raises(Unavailable, match="stopped here"):
        zombie.write(Tick(10), FIRST)
    monkeypatch.setattr(TransactionalWriter, "commit", original)
    return commits.pop()


def commit_after_the_first_read(monkeypatch, commit):
    """The worst moment: the successor has just read that nothing is held."""
    read, calls = ProgressTopic.read, []

    def read_then_zombie_commits(self, **options):
        held = read(self, **options)
        calls.append(held)
        if len(calls) == 1:
            with suppress(Fenced):
                commit()
        return held

    monkeypatch.setattr(ProgressTopic, "read", read_then_zombie_commits)


def test_what_a_zombie_left_open_cannot_be_committed_after_progress_was_read(definition, spark, monkeypatch):
    commit = zombie_with_an_open_transaction(definition, spark, monkeypatch)
    commit_after_the_first_read(monkeypatch, commit)
    deliver(KafkaSink(definition, spark), 10, 20)
    assert changes(definition) == TOLD


def test_with_progress_read_before_fencing_the_zombie_doubles_the_tick(definition, spark, monkeypatch):
    commit = zombie_with_an_open_transaction(definition, spark, monkeypatch)
    commit_after_the_first_read(monkeypatch, commit)
    off = Defences(fence_before_progress=False)
    deliver(KafkaSink(definition, spark, defences=off), 10, 20)
    assert changes(definition) == TOLD + upserts({1: "a", 2: "b"}, 10)


def test_a_commit_whose_answer_is_lost_is_not_repeated(definition, spark, monkeypatch):
    sink = started(definition, spark)
    original = TransactionalWriter.commit

    def answer_lost(self, *arguments, **options):
        original(self, *arguments, **options)
        raise Unavailable("the answer did not come")

    monkeypatch.setattr(TransactionalWriter, "commit", answer_lost)
    with pytest.raises(Unavailable):
        sink.write(Tick(10), FIRST)
    monkeypatch.setattr(TransactionalWriter, "commit", original)
    assert sink.progress() == Progress(tick=Tick(10))
    sink.write(Tick(20), SECOND)
    assert changes(definition) == TOLD


def test_a_slow_commit_is_a_doubtful_one(definition, spark, monkeypatch):
    sink = started(definition, spark)
    monkeypatch.setattr("tailrace.sinks.kafka_writer._QUICK_SECONDS", 0.0)
    with pytest.raises(Unavailable, match="was not quick and clean"):
        sink.write(Tick(10), FIRST)
    monkeypatch.undo()
    assert sink.progress() == Progress(tick=Tick(10))


def test_a_failed_query_leaves_nothing_open_and_the_next_try_succeeds(definition, spark):
    sink = started(definition, spark)
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        sink.write(Tick(10), numbers(3, sql="string(1 div (id - 1))"))
    deliver(sink, 10, 20)
    assert changes(definition) == TOLD


def test_a_newer_version_of_the_sink_fences_this_one(broker, spark):
    newer = definition_of(broker, version=3)
    deliver(KafkaSink(newer, spark), 10)
    older = definition_of(broker, version=2, connection=newer.connection, topic=newer.topic)
    with pytest.raises(Fenced, match=r"Fenced off by newer version of the sink\. ours=2 theirs=3"):
        KafkaSink(older, spark).progress()


def test_sinks_that_share_a_progress_topic_do_not_disturb_each_other(definition, broker, spark):
    other = definition_of(broker, id="u70", connection=definition.connection)
    deliver(KafkaSink(definition, spark), 10)
    deliver(KafkaSink(other, spark), 10, 20)
    assert KafkaSink(definition, spark).progress() == Progress(tick=Tick(10))
    assert changes(other) == TOLD


def test_progress_hidden_by_a_strange_transaction_is_not_taken_for_none(definition, spark, monkeypatch):
    deliver(KafkaSink(definition, spark), 10)
    monkeypatch.setattr("tailrace.sinks.kafka_progress._PATIENCE_SECONDS", 1.0)
    bootstrap = definition.connection.brokers[0]
    with transaction(bootstrap) as strange:
        strange.produce(definition.connection.progress_topic, [("strange", "{}")])
        with pytest.raises(Unavailable, match="could not be read to its end"):
            KafkaSink(definition, spark).progress()
    assert KafkaSink(definition, spark).progress() == Progress(tick=Tick(10))


def test_a_tick_that_is_held_already_is_not_accepted_again(definition, spark):
    sink = started(definition, spark)
    sink.write(Tick(10), FIRST)
    with pytest.raises(InternalError, match="holds tick 10 and was given 10"):
        sink.write(Tick(10), FIRST)


def test_records_of_older_formats_are_understood(definition, broker, spark):
    started(definition, spark)
    with transaction(broker.bootstrap) as other:
        other.produce(definition.connection.progress_topic, [(definition.progress_key, '{"timestamp":41}')])
    assert KafkaSink(definition, spark).progress() == Progress(tick=Tick(41))


def test_the_broker_may_go_and_come_back_between_ticks(spark):
    with Broker() as broker:
        definition = definition_of(broker)
        sink = started(definition, spark)
        sink.write(Tick(10), FIRST)
        broker.restart()
        try:
            sink.write(Tick(20), SECOND)
        except Unavailable:  # it may notice the lost connection, or not
            deliver(sink, 10, 20)
        broker.kill()
        broker.start()
        assert sink.progress() == Progress(tick=Tick(20))
        assert changes(definition) == TOLD
        assert Counter(key for key, _ in records(definition)) == {"mz-sink-u7": 2}
        assert len(told(definition)) == 3
