"""Between two positions a source gives the same rows for ever, read on the driver or by Spark."""

import contextlib
import random
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]  # not marked as exported
from pyspark.sql import SparkSession

from kafka.source_of import LARGE, SMALL, everything_of, opened, rows_of
from tailrace.sources.contract import Offsets
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.topics import produce, read_committed, settle, transaction


@pytest.fixture
def eventful(broker: Broker, topic: TopicFactory) -> str:
    """Three partitions with everything that a topic can hold: gaps, tombstones, headers, an open end."""
    name = topic(partitions=3)
    produce(broker.bootstrap, name, [("k", "plain", {}, 0), ("k", None, {}, 0), (None, "no key", {}, 1)])
    produce(
        broker.bootstrap, name, [("", "", {"a": b"1", "b": None}, 1), (b"\xff", b"\x00\xff", {"a": ""}, 2)]
    )
    with contextlib.suppress(ZeroDivisionError), transaction(broker.bootstrap) as aborted:
        aborted.produce(name, [("k", "aborted", {}, p) for p in range(3)] * 3)
        raise ZeroDivisionError
    with transaction(broker.bootstrap) as committed:
        committed.produce(name, [("k", "committed", {"t": "x"}, p) for p in (0, 1)])
    produce(broker.bootstrap, name, [("k", "after", {}, 0)])
    with contextlib.suppress(ZeroDivisionError), transaction(broker.bootstrap) as aborted:
        aborted.produce(name, [("k", "aborted at the end", {}, p) for p in range(3)])
        raise ZeroDivisionError
    settle(broker.bootstrap, name)
    return name


def test_both_ways_give_every_part_of_every_message(
    broker: Broker, eventful: str, spark: SparkSession
) -> None:
    definition = everything_of(broker, eventful)
    told = {
        (m.partition, m.offset, m.key, m.value) for m in read_committed(broker.bootstrap, eventful) if m.value
    }
    with opened(definition, SMALL) as small, opened(definition, LARGE) as large:
        end = small.latest({})
        rows = rows_of(small, {}, end, spark)
        assert rows_of(large, {}, end, spark) == rows
        assert {(row[2], row[3], row[0], row[1]) for row in rows if row[1]} == told
        assert {row[5] for row in rows} >= {(), (("a", b"1"), ("b", None)), (("t", b"x"),)}
        assert all(row[4].year > 2000 and row[4].microsecond % 1000 == 0 for row in rows)


def test_every_cut_gives_the_same_rows_in_both_ways(
    broker: Broker, eventful: str, spark: SparkSession
) -> None:
    """Also cuts at a marker or inside an aborted transaction, where no message is."""
    definition = everything_of(broker, eventful)
    with opened(definition, SMALL) as small, opened(definition, LARGE) as large:
        end = small.latest({})
        whole = rows_of(small, {}, end, spark)
        cuts = [{p: min(offset, e) for p, e in end.items()} for offset in (0, 1, 2, 4, 7, max(end.values()))]
        pieces = [rows_of(small, since, until, spark) for since, until in pairwise(cuts)]
        assert sorted((row for piece in pieces for row in piece), key=repr) == whole
        assert pieces[2:] == [rows_of(large, since, until, spark) for since, until in pairwise(cuts[2:])]


def test_reading_again_gives_the_same_rows(broker: Broker, eventful: str, spark: SparkSession) -> None:
    definition = everything_of(broker, eventful)
    with opened(definition) as source:
        end = source.latest({})
        middle = {p: offset // 2 for p, offset in end.items()}
        first, second = rows_of(source, {}, middle, spark), rows_of(source, middle, end, spark)
        produce(broker.bootstrap, eventful, [("later", "later", {}, p) for p in range(3)])
        assert rows_of(source, {}, middle, spark) == first
        assert rows_of(source, middle, end, spark) == second
    with opened(definition) as another:
        assert rows_of(another, middle, end, spark) == second


def test_an_open_transaction_ends_what_can_be_read(
    broker: Broker, topic: TopicFactory, spark: SparkSession
) -> None:
    name = topic(partitions=2)
    definition = everything_of(broker, name)
    produce(broker.bootstrap, name, [(None, "before", {}, 0), (None, "before", {}, 1)])
    with opened(definition, SMALL) as small, opened(definition, LARGE) as large:
        with transaction(broker.bootstrap) as still_open:
            still_open.produce(name, [(None, "inside", {}, 0)])
            produce(broker.bootstrap, name, [(None, "after", {}, 0), (None, "after", {}, 1)])
            held_back = small.latest({})
            assert held_back == {0: 1, 1: 2}
            assert values(rows_of(small, {}, held_back, spark)) == [b"after", b"before", b"before"]
            assert values(rows_of(large, {}, held_back, spark)) == [b"after", b"before", b"before"]
        settle(broker.bootstrap, name)
        end = small.latest(held_back)
        assert values(rows_of(small, held_back, end, spark)) == [b"after", b"inside"]
        assert values(rows_of(large, held_back, end, spark)) == [b"after", b"inside"]


def test_following_a_topic_gives_each_message_once(
    broker: Broker, topic: TopicFactory, spark: SparkSession
) -> None:
    """Steps forward, with messages that arrive ahead of the step they belong to, and a look back in
    between."""
    name = topic(partitions=2)
    with opened(everything_of(broker, name)) as source:
        position: Offsets = {0: 0, 1: 0}
        seen: list[bytes] = []
        for step in range(5):
            produce(broker.bootstrap, name, [(None, f"{step}-{i}", {}, i % 2) for i in range(20)])
            until = source.capped(position, source.latest(position), 15)
            seen += values(rows_of(source, position, until, spark))
            position = until
            if step == 3:
                assert values(rows_of(source, {}, {0: 1}, spark)) == [b"0-0"]
        end = source.latest(position)
        seen += values(rows_of(source, position, end, spark))
        assert sorted(seen) == sorted(f"{step}-{i}".encode() for step in range(5) for i in range(20))


def test_a_step_without_messages_is_known_to_be_empty(
    broker: Broker, topic: TopicFactory, spark: SparkSession
) -> None:
    name = topic()
    with contextlib.suppress(ZeroDivisionError), transaction(broker.bootstrap) as aborted:
        aborted.produce(name, [("k", "aborted")])
        raise ZeroDivisionError
    settle(broker.bootstrap, name)
    with (
        opened(everything_of(broker, name), SMALL) as small,
        opened(everything_of(broker, name), LARGE) as large,
    ):
        end = small.latest({})
        assert end[0] > 0
        assert rows_of(small, {}, end, spark) == rows_of(large, {}, end, spark) == []
        assert rows_of(small, end, end, spark) == []


def test_partitions_that_come_later_are_read_from_their_beginning(
    broker: Broker, topic: TopicFactory, spark: SparkSession
) -> None:
    name = topic(partitions=1)
    definition = everything_of(broker, name)
    produce(broker.bootstrap, name, [(None, "old", {}, 0)])
    with opened(definition, SMALL) as small, opened(definition, LARGE) as large:
        before = small.latest({})
        assert values(rows_of(small, {}, before, spark)) == [b"old"]
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_partitions([NewPartitions(name, 3)])[name].result()
        produce(broker.bootstrap, name, [(None, f"new {p}", {}, p) for p in range(3)])
        assert set(small.latest(before)) == {0}  # the next look at the topic is in 30 s
        small._watcher.counted_at = float("-inf")
        after = small.latest(before)
        assert set(after) == {0, 1, 2}
        assert values(rows_of(small, before, after, spark)) == [b"new 0", b"new 1", b"new 2"]
        assert values(rows_of(large, before, after, spark)) == [b"new 0", b"new 1", b"new 2"]


def test_more_messages_than_the_driver_takes_give_the_same_rows(
    broker: Broker, topic: TopicFactory, spark: SparkSession
) -> None:
    name = topic(partitions=2)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
    for i in range(3_000):
        producer.produce(name, str(i).encode(), partition=i % 2)
    producer.flush()
    with (
        opened(everything_of(broker, name), small_rows=1_000) as source,
        opened(everything_of(broker, name)) as small,
    ):
        end = source.latest({})
        assert rows_of(source, {}, end, spark) == rows_of(small, {}, end, spark)
        middle = source.capped({}, end, 999)
        rest = rows_of(source, {}, middle, spark) + rows_of(source, middle, end, spark)
        assert sorted(int(row[1]) for row in rest) == list(range(3_000))


def test_threads_that_read_at_once_do_not_disturb_each_other(broker: Broker, topic: TopicFactory) -> None:
    name = topic(partitions=2)
    produce(broker.bootstrap, name, [(None, str(i // 2), {}, i % 2) for i in range(400)])
    chance = random.Random(3)
    ranges = [sorted(chance.sample(range(201), 2)) for _ in range(40)] + [
        [i, i + 10] for i in range(0, 200, 10)
    ]
    with opened(everything_of(broker, name)) as source, ThreadPoolExecutor(4) as pool:
        read = [pool.submit(source._read, {0: lo, 1: lo}, {0: hi, 1: hi}) for lo, hi in ranges]
        for (lo, hi), table in zip(ranges, read, strict=True):
            expected = [str(i).encode() for i in range(lo, hi)] * 2
            assert table.result()["value"].to_pylist() == expected


def values(rows: list[tuple[object, ...]]) -> list[bytes]:
    return sorted(value for row in rows if isinstance(value := row[1], bytes))
