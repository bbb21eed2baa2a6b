"""Where a source begins, how far it can go, and when it must stop."""

import time
from dataclasses import replace
from datetime import timedelta

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]  # not marked as exported
from pyspark.sql import SparkSession

from kafka.source_of import LARGE, SMALL, connection_to, definition_of, everything_of, opened, rows_of
from tailrace.errors import InvalidOption, SqlError, Unavailable
from tailrace.sources import kafka_offsets, kafka_tail
from tailrace.sources.kafka import KafkaSource
from tailrace.sources.kafka_offsets import LatestOffsets
from tailrace.sources.kafka_start import StartOffset, StartTimestamp, resolve_start, validate_topic
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.topics import create_topic, delete_topic, produce


@pytest.fixture
def admin(broker: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap})


def truncate(admin: AdminClient, topic: str, offset: int) -> None:
    """Delete what lies before `offset` in partition 0, as retention would."""
    [done] = admin.delete_records([TopicPartition(topic, 0, offset)]).values()
    done.result()


def test_a_source_begins_with_the_first_message_still_there(
    broker: Broker, topic: TopicFactory, admin: AdminClient
) -> None:
    name = topic(partitions=2)
    produce(broker.bootstrap, name, [(None, str(i), {}, 0) for i in range(5)])
    truncate(admin, name, 3)
    found = validate_topic(connection_to(broker), name)
    assert found.partitions == 2
    assert resolve_start(connection_to(broker), found, None) == {0: 3, 1: 0}


def test_start_offset_names_the_first_partitions(broker: Broker, topic: TopicFactory) -> None:
    found = validate_topic(connection_to(broker), topic(partitions=3))
    assert resolve_start(connection_to(broker), found, StartOffset((4, 5))) == {0: 4, 1: 5, 2: 0}
    with pytest.raises(InvalidOption) as raised:
        resolve_start(connection_to(broker), found, StartOffset((1, 2, 3, 4)))
    assert raised.value.message == (
        f"START OFFSET specified more partitions (4) than topic ({found.name}) contains (3)"
    )


def test_start_timestamp_is_the_first_message_of_that_time_or_the_end(
    broker: Broker, topic: TopicFactory
) -> None:
    name = topic(partitions=3)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for partition, times in {0: (1000, 2000, 3000), 1: (1000,)}.items():
        for milliseconds in times:
            producer.produce(name, b"x", partition=partition, timestamp=milliseconds)
    now = int(time.time() * 1000)
    producer.produce(name, b"x", partition=2, timestamp=now - 3_600_000)
    producer.produce(name, b"x", partition=2, timestamp=now)
    producer.flush()
    connection, found = connection_to(broker), validate_topic(connection_to(broker), name)
    assert resolve_start(connection, found, StartTimestamp(1500)) == {0: 1, 1: 1, 2: 0}
    assert resolve_start(connection, found, StartTimestamp(-1_800_000)) == {0: 3, 1: 1, 2: 1}


def test_reading_begins_at_the_start(broker: Broker, topic: TopicFactory, spark: SparkSession) -> None:
    name = topic()
    produce(broker.bootstrap, name, [(None, str(i)) for i in range(4)])
    definition = definition_of(broker, name, start_offsets={0: 2})
    for small_rows in (SMALL, LARGE):
        with opened(definition, small_rows) as source:
            assert rows_of(source, source.start(), source.latest(source.start()), spark) == [
                ("2", 1),
                ("3", 1),
            ]


def test_a_start_in_the_future_waits_for_it(broker: Broker, topic: TopicFactory, spark: SparkSession) -> None:
    name = topic()
    with opened(definition_of(broker, name, start_offsets={0: 2})) as source:
        assert source.latest({0: 2}) == {0: 2}
        produce(broker.bootstrap, name, [(None, str(i)) for i in range(4)])
        assert rows_of(source, {0: 2}, source.latest({0: 2}), spark) == [("2", 1), ("3", 1)]


def test_a_topic_that_is_not_there_is_an_error(broker: Broker) -> None:
    with pytest.raises(SqlError, match="Topic does not exist"):
        validate_topic(connection_to(broker), "nobody-made-this")
    with (
        opened(definition_of(broker, "nobody-made-this")) as source,
        pytest.raises(SqlError, match="Topic does"),
    ):
        source.latest({})


def test_messages_that_were_deleted_unread_are_an_error(
    broker: Broker, topic: TopicFactory, admin: AdminClient, spark: SparkSession
) -> None:
    name = topic()
    produce(broker.bootstrap, name, [(None, str(i)) for i in range(5)])
    lost = f"Low watermark 3 of kafka topic {name} partition 0 is past the start offset/resume upper: 1"
    for small_rows in (SMALL, LARGE):
        with opened(definition_of(broker, name), small_rows) as source:
            end = source.latest({0: 1}) if small_rows == SMALL else {0: 5}
            truncate(admin, name, 3)
            with pytest.raises(SqlError, match=lost):
                source.latest({0: 1})
            with pytest.raises(SqlError, match=lost):
                rows_of(source, {0: 1}, end, spark)
            assert source.latest({0: 3}) == {0: 5}


def test_a_topic_made_anew_is_another_topic(broker: Broker, topic: TopicFactory) -> None:
    name = topic()
    produce(broker.bootstrap, name, [(None, "x")] * 3)
    definition = replace(everything_of(broker, name), topic_id=validate_topic(connection_to(broker), name).id)
    with opened(definition) as source:
        position = source.latest({})
        delete_topic(broker.bootstrap, name)
        create_anew(broker, name)
        produce(broker.bootstrap, name, [(None, "y")] * 9)
        with pytest.raises(SqlError, match="was deleted and created again"):
            until_refused(source, position)


def test_a_topic_that_became_shorter_is_an_error(broker: Broker, topic: TopicFactory) -> None:
    name = topic()
    produce(broker.bootstrap, name, [(None, "x")] * 2)
    with opened(everything_of(broker, name)) as source, pytest.raises(SqlError, match="below the offset 3"):
        source.latest({0: 3})


def create_anew(broker: Broker, name: str) -> None:
    for _ in range(200):  # a topic is deleted in the background
        try:
            create_topic(broker.bootstrap, name)
        except Exception:  # noqa: BLE001  whatever the broker says meanwhile
            time.sleep(0.05)
        else:
            return


def until_refused(source: KafkaSource, position: kafka_offsets.Offsets) -> None:
    for _ in range(200):
        source._watcher.counted_at = float("-inf")  # as if the refresh interval had passed
        source.latest(position)
        time.sleep(0.02)


def test_sources_of_one_connection_ask_together(broker: Broker, topic: TopicFactory) -> None:
    names = [topic("a"), topic("b"), topic("c")]
    offsets = LatestOffsets(connection_to(broker))
    sources = [KafkaSource(definition_of(broker, name), offsets) for name in (*names, names[0])]
    asked: list[int] = []
    ask = offsets._extents
    offsets._extents = lambda partitions: (asked.append(len(partitions)), ask(partitions))[1]  # type: ignore[method-assign]
    for tick in range(3):
        assert [source.latest({}) for source in sources] == [{0: tick}] * 4
        assert asked == [3] * (tick + 1)  # one round a tick, for three topics
        for name in names:
            produce(broker.bootstrap, name, [(None, "x")])
    missing = KafkaSource(definition_of(broker, "nobody-made-this"), offsets)
    with pytest.raises(SqlError, match="Topic does not exist"):
        missing.latest({})
    assert sources[0].latest({}) == {0: 3}  # and the others go on


def test_sources_of_one_topic_that_grows_count_its_partitions_each_for_itself(
    broker: Broker, topic: TopicFactory, admin: AdminClient
) -> None:
    """One that looks often must see what comes, and keep what it has seen, beside any number that never look again."""
    name = topic()
    offsets = LatestOffsets(connection_to(broker))
    slow = [KafkaSource(definition_of(broker, name), offsets) for _ in range(4)]
    quick = KafkaSource(definition_of(broker, name, metadata_refresh=timedelta()), offsets)
    assert [source.latest({}) for source in (*slow, quick)] == [{0: 0}] * 5
    admin.create_partitions([NewPartitions(name, 2)])[name].result()
    produce(broker.bootstrap, name, [(None, "x", {}, 1)])
    assert wait_for(lambda: quick.latest({0: 0}), {0: 0, 1: 1})
    for _ in range(3):
        assert [source.latest({0: 0}) for source in slow] == [{0: 0}] * 4
        assert quick.latest({0: 0, 1: 1}) == {0: 0, 1: 1}


def test_progress_is_seen_in_the_consumer_group(
    broker: Broker, topic: TopicFactory, spark: SparkSession, admin: AdminClient
) -> None:
    name = topic(partitions=2)
    produce(broker.bootstrap, name, [(None, "x", {}, p) for p in (0, 0, 1)])
    definition = definition_of(broker, name, group_id_prefix=f"seen-{name}-")
    with opened(definition) as source:
        end = source.latest({})
        rows_of(source, {}, end, spark)
        source.commit(end)
        assert wait_for(lambda: committed(broker, definition.group_id, name), end)
        group = admin.describe_consumer_groups([definition.group_id])[definition.group_id].result()
        assert group.members == []


def committed(broker: Broker, group: str, topic: str) -> dict[int, int]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    try:
        places = consumer.committed([TopicPartition(topic, p) for p in (0, 1)], timeout=30)
        return {place.partition: place.offset for place in places}
    finally:
        consumer.close()


def wait_for(ask, answer) -> bool:  # type: ignore[no-untyped-def]
    for _ in range(600):
        if ask() == answer:
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_offsets, "_ANSWER_SECONDS", 1.0)
    monkeypatch.setattr(kafka_offsets, "_LONGEST_REST", 0.5)
    monkeypatch.setattr(kafka_tail, "SILENT_SECONDS", 1.0)


@pytest.mark.usefixtures("impatient")
def test_a_broker_that_is_away_is_tried_again(spark: SparkSession) -> None:
    with Broker() as mine:
        name = create_topic(mine.bootstrap, "t")
        produce(mine.bootstrap, name, [(None, "x")])
        with opened(definition_of(mine, name)) as source:
            end = source.latest({})
            mine.kill()
            with pytest.raises(Unavailable):
                source.latest({})
            with pytest.raises(Unavailable):
                rows_of(source, {}, end, spark)
            mine.start()
            assert wait_for(lambda: _or_none(source), end)
            assert rows_of(source, {}, end, spark) == [("x", 1)]


def _or_none(source: KafkaSource) -> object:
    try:
        return source.latest({})
    except Unavailable:
        return None
