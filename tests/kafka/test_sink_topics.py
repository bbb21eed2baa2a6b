"""The sink's two topics, and what a person is told when they, or the messages, are not as they must be."""

import pytest
from confluent_kafka.admin import NewPartitions

from kafka.sink_of import definition_of, numbers, told, zset
from tailrace.errors import SqlError
from tailrace.kafka.admin import TopicLayout, Topics
from tailrace.sinks.kafka import KafkaSink
from tailrace.testing.topics import create_topic, delete_topic
from tailrace.types.core import Tick


def test_missing_topics_are_made_as_the_sink_says(broker, spark):
    layout = TopicLayout(partitions=3, replication_factor=1, config={"cleanup.policy": "compact"})
    definition = definition_of(broker, topic_layout=layout)
    KafkaSink(definition, spark).progress()
    topics = Topics(definition.connection)
    assert topics.partitions(definition.topic) == 3
    assert topics.config(definition.topic)["cleanup.policy"] == "compact"
    progress = definition.connection.progress_topic
    settings = topics.config(progress)
    assert topics.partitions(progress) == 1
    assert (settings["cleanup.policy"], settings["segment.bytes"]) == ("compact", "134217728")
    assert (settings["retention.ms"], settings["retention.bytes"]) == ("-1", "-1")


def test_what_the_sink_does_not_say_the_broker_decides(broker, spark):
    definition = definition_of(broker)
    KafkaSink(definition, spark).progress()
    assert Topics(definition.connection).partitions(definition.topic) == 1


def test_an_existing_topic_stays_as_it_is(broker, spark, topic):
    layout = TopicLayout(partitions=9)
    definition = definition_of(broker, topic=topic("four", partitions=4), topic_layout=layout)
    KafkaSink(definition, spark).progress()
    assert Topics(definition.connection).partitions(definition.topic) == 4


def test_bad_settings_for_a_new_topic_are_told_as_documented(broker, spark):
    definition = definition_of(broker, topic_layout=TopicLayout(config={"no.such.setting": "1"}))
    with pytest.raises(SqlError) as refusal:
        KafkaSink(definition, spark).progress()
    assert refusal.value.message == (
        f"kafka: Error creating topic {definition.topic} for sink:"
        " Admin operation error: InvalidConfig (Broker: Configuration is invalid)"
    )


def test_a_progress_topic_of_two_partitions_is_refused(broker, spark):
    definition = definition_of(broker)
    name = definition.connection.progress_topic
    create_topic(broker.bootstrap, name, 2, {"cleanup.policy": "compact"})
    text = f"Progress topic {name} should contain a single partition, but instead contains 2 partitions"
    with pytest.raises(SqlError, match=text):
        KafkaSink(definition, spark).progress()


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_a_progress_topic_that_forgets_is_refused(broker, spark, policy):
    definition = definition_of(broker)
    create_topic(broker.bootstrap, definition.connection.progress_topic, 1, {"cleanup.policy": policy})
    with pytest.raises(SqlError, match=f"should be compacted, but its cleanup.policy is {policy}"):
        KafkaSink(definition, spark).progress()


def test_a_topic_that_was_deleted_is_not_made_again(broker, spark):
    definition = definition_of(broker, topic_refresh_seconds=0.0)
    sink = KafkaSink(definition, spark)
    sink.progress()
    sink.write(Tick(1), zset((1, "a", 1)))
    delete_topic(broker.bootstrap, definition.topic)
    for attempt in (lambda: sink.write(Tick(2), zset((1, "a", 1))), sink.progress):
        with pytest.raises(SqlError, match=f"topic {definition.topic} does not exist"):
            attempt()
    assert Topics(definition.connection).partitions(definition.topic) is None


@pytest.mark.parametrize("written", [0, 1])  # by then the writer has not seen the topic yet, or has
def test_a_topic_that_vanishes_under_the_writer_is_named(broker, spark, written):
    definition = definition_of(broker)
    sink = KafkaSink(definition, spark)
    sink.progress()
    for tick in range(written):
        sink.write(Tick(tick), zset((1, "a", 1)))
    delete_topic(broker.bootstrap, definition.topic)
    with pytest.raises(SqlError, match=f"topic {definition.topic} does not exist"):
        sink.write(Tick(written), zset((1, "a", 1)))


@pytest.mark.parametrize("limit", ["1000", "5000000"])  # refused by the broker, and by the client itself
def test_a_message_that_is_too_large_is_told_and_nothing_of_its_tick(broker, spark, topic, limit):
    definition = definition_of(broker, topic=topic("narrow", config={"max.message.bytes": limit}))
    sink = KafkaSink(definition, spark)
    sink.progress()
    wide = numbers(3, sql=f"CASE WHEN id = 1 THEN {noise(1_200_000)} ELSE 'v' END")
    with pytest.raises(SqlError, match="a message is too large for topic") as refusal:
        sink.write(Tick(1), wide)
    assert "max.message.bytes" in refusal.value.hint
    assert told(definition) == []
    assert sink.progress().tick is None


def test_a_topic_may_get_more_partitions_while_the_sink_runs(broker, spark, topic):
    definition = definition_of(broker, topic=topic("growing"), topic_refresh_seconds=0.0)
    sink = KafkaSink(definition, spark)
    sink.progress()
    sink.write(Tick(1), numbers(20))
    grow(definition.connection, definition.topic, 4)
    sink.write(Tick(2), numbers(20))
    assert {each.partition for each in told(definition)} == {0, 1, 2, 3}


def noise(length: int) -> str:
    """Text that does not compress."""
    hashes = f"transform(sequence(1, {length // 60}), i -> sha2(string(i), 256))"
    return f"substring(array_join({hashes}, ''), 1, {length})"


def grow(connection, topic: str, partitions: int) -> None:
    topics = Topics(connection)
    topics.client.create_partitions([NewPartitions(topic, partitions)])[topic].result()
    while topics.partitions(topic) != partitions:
        pass
