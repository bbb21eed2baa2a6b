"""Where a new source begins, and where a bounded one ends: options become offsets once, and stay for ever."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not marked as exported
    AdminClient,
    OffsetSpec,
)

from tailrace.errors import InvalidOption, SqlError
from tailrace.kafka.admin import Topics, learn_leaders
from tailrace.kafka.connection import KafkaConnection
from tailrace.sources.contract import Offsets
from tailrace.sources.kafka_offsets import EARLIEST, LATEST, failure, topic_id

_ANSWER_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class StartOffset:
    """The first offset of partition 0, 1, …; partitions beyond the list start at 0."""

    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StartTimestamp:
    """Milliseconds since the epoch; negative: so long before now."""

    milliseconds: int


@dataclass(frozen=True, slots=True)
class StartLatest:
    """Behind what is there now."""


@dataclass(frozen=True, slots=True)
class StartGroup:
    """What a group has committed.  `otherwise`, for a partition without: earliest, latest, or None: an error."""

    group: str
    otherwise: str | None = None


@dataclass(frozen=True, slots=True)
class StartSpecific:
    """Offsets by partition; others start where their group is, else at their beginning."""

    offsets: tuple[tuple[int, int], ...]
    group: str


Start: TypeAlias = StartOffset | StartTimestamp | StartLatest | StartGroup | StartSpecific | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    """A topic that exists.  `id` tells it from a later one of the same name; old brokers have none."""

    name: str
    partitions: int
    id: str | None


def start_of(offsets: tuple[int, ...] | None, timestamp: int | None) -> Start:
    """The two options of CREATE SOURCE as one value."""
    if offsets is not None and timestamp is not None:
        raise InvalidOption("cannot specify START TIMESTAMP and START OFFSET at same time")
    if offsets is not None:
        if any(offset < 0 for offset in offsets):
            raise InvalidOption("START OFFSET must be a nonnegative integer")
        return StartOffset(offsets)
    return None if timestamp is None else StartTimestamp(timestamp)


def validate_topic(connection: KafkaConnection, name: str) -> Topic:
    """Looks the topic up.  Raises SqlError if there is none, Unavailable if the cluster does not answer."""
    client = Topics(connection).client
    try:
        asked = client.describe_topics(TopicCollection([name]), request_timeout=_ANSWER_SECONDS)
        found = asked[name].result(_ANSWER_SECONDS * 2)
    except (KafkaException, TimeoutError) as error:
        raise failure(error, connection, name) from error
    return Topic(name=name, partitions=len(found.partitions), id=topic_id(found))


def resolve_start(connection: KafkaConnection, topic: Topic, start: Start) -> Offsets:
    """The first offset of every partition there is.  Without an option, the first message still there.

    Naming them all makes the start independent of retention: what is deleted later and was never read is
    missed and reported, not skipped.
    """
    places = [TopicPartition(topic.name, partition) for partition in range(topic.partitions)]
    client = Topics(connection).client
    try:
        match start:
            case None:
                return _offsets(client, {place: EARLIEST for place in places})
            case StartOffset(offsets=offsets):
                return _numbered(topic, offsets)
            case StartTimestamp(milliseconds=milliseconds):
                return _since(client, places, milliseconds)
            case StartLatest():
                return _offsets(client, {place: LATEST for place in places})
            case StartGroup():
                return _committed(client, topic, places, start)
            case StartSpecific(offsets=given, group=group):
                committed = _committed(client, topic, places, StartGroup(group, "earliest"))
                return {**committed, **_existing(topic, dict(given))}
    except (KafkaException, TimeoutError) as error:
        raise failure(error, connection, topic.name) from error


def resolve_end(connection: KafkaConnection, topic: Topic, end: Start, start: Offsets) -> Offsets:
    """Where each partition ends for ever.  One without a place of its own is not read."""
    if isinstance(end, StartSpecific):
        return {**start, **_existing(topic, dict(end.offsets))}
    if isinstance(end, StartGroup):
        places = [TopicPartition(topic.name, partition) for partition in range(topic.partitions)]
        try:
            committed = _of_group(Topics(connection).client, end.group, places)
        except (KafkaException, TimeoutError) as error:
            raise failure(error, connection, topic.name) from error
        return {p: start.get(p, 0) if offset is None else offset for p, offset in committed.items()}
    return resolve_start(connection, topic, end)


def _existing(topic: Topic, offsets: dict[int, int]) -> Offsets:
    for partition in offsets:
        if partition >= topic.partitions:
            raise InvalidOption(
                f"topic {topic.name} has no partition {partition}", detail=f"It has {topic.partitions} partitions."
            )
    return offsets


def _committed(client: AdminClient, topic: Topic, places: list[TopicPartition], start: StartGroup) -> Offsets:
    committed = _of_group(client, start.group, places)
    missing = [place for place in places if committed[place.partition] is None]
    if missing and start.otherwise is None:
        raise SqlError(
            f"Undefined offset with no reset policy for partitions: [{topic.name}-{missing[0].partition}]",
            detail=f'The consumer group "{start.group}" has committed no offsets of it.',
            hint="Set 'scan.startup.mode' = 'earliest-offset', or 'properties.auto.offset.reset' = 'earliest'.",
            sqlstate="55000",
        )
    spec = LATEST if start.otherwise == "latest" else EARLIEST
    others = _offsets(client, {place: spec for place in missing}) if missing else {}
    return {p: others[p] if offset is None else offset for p, offset in committed.items()}


def _of_group(client: AdminClient, group: str, places: list[TopicPartition]) -> dict[int, int | None]:
    """What a group has committed, by partition."""
    asked = client.list_consumer_group_offsets(
        [ConsumerGroupTopicPartitions(group, places)], request_timeout=_ANSWER_SECONDS
    )
    found = {each.partition: each.offset for each in asked[group].result(_ANSWER_SECONDS * 2).topic_partitions}
    return {place.partition: o if (o := found.get(place.partition, -1)) >= 0 else None for place in places}


def _numbered(topic: Topic, offsets: tuple[int, ...]) -> Offsets:
    if len(offsets) > topic.partitions:
        raise InvalidOption(
            f"START OFFSET specified more partitions ({len(offsets)}) than topic ({topic.name})"
            f" contains ({topic.partitions})"
        )
    return dict(enumerate((*offsets, *[0] * (topic.partitions - len(offsets)))))


def _since(client: AdminClient, places: list[TopicPartition], milliseconds: int) -> Offsets:
    """Per partition the first message of that time or later, else the end."""
    if milliseconds < 0:
        milliseconds += int(time.time() * 1000)
    ends = _offsets(client, {place: LATEST for place in places})
    found = _offsets(client, {place: OffsetSpec.for_timestamp(milliseconds) for place in places})
    return {partition: offset if offset >= 0 else ends[partition] for partition, offset in found.items()}


def _offsets(client: AdminClient, asked: Mapping[TopicPartition, OffsetSpec]) -> Offsets:
    learn_leaders(client, {place.topic for place in asked}, _ANSWER_SECONDS)
    futures = client.list_offsets(
        dict(asked), isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=_ANSWER_SECONDS
    )
    return {place.partition: futures[place].result(_ANSWER_SECONDS * 2).offset for place in asked}
