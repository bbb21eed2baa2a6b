"""How far the topics of a connection can be read: last stable offsets, asked once a tick for all sources.

A round asks for the first and the last stable offset of every partition of every watched topic, in one
request to each broker (below a millisecond on a local one).  Each watcher takes its answer from the last
round once; asking again begins the next round.  So a tick over ten sources of one connection costs one round,
and no clock has to say when a tick begins.  Partitions are counted anew every refresh interval.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeAlias

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not marked as exported
    AdminClient,
    OffsetSpec,
    TopicDescription,
)

from tailrace.errors import SqlError, TailraceError, Unavailable
from tailrace.kafka.client import librdkafka_properties
from tailrace.kafka.client_log import CLIENT_LOG
from tailrace.kafka.connection import KafkaConnection
from tailrace.kafka.failures import Attempt, translate
from tailrace.sources.contract import Offsets

_ANSWER_SECONDS = 3.0  # a tick waits for this; what is missing then is asked for again by a later one
# A round without answers holds up the sources of other connections; so it is followed by a rest, in multiples
# of what it cost.
_REST = 3.0
_LONGEST_REST = 10.0
_ROUND_SECONDS = 1.0  # an answer nobody took for so long is not worth taking

EARLIEST = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST = OffsetSpec.latest()  # type: ignore[no-untyped-call]

_NO_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"  # 16 bytes of zero

_UNKNOWN = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}


@dataclass(frozen=True, slots=True)
class Extent:
    """What a topic holds: per partition the first offset still there, and the last stable one."""

    low: Offsets
    end: Offsets

    def first(self, partitions: int) -> Extent:
        """What is in the first partitions: those that a watcher knows of."""
        return Extent(*({p: offset for p, offset in each.items() if p < partitions} for each in (self.low, self.end)))


Answer: TypeAlias = Extent | TailraceError


@dataclass(slots=True, eq=False)
class Watcher:
    """One source's interest in a topic."""

    topic: str
    topic_id: str | None  # of the topic that is meant; None: whichever has the name
    refresh_seconds: float
    partitions: int = 0
    counted_at: float = field(default=float("-inf"))
    answer: Answer | None = None
    answered_at: float = field(default=float("-inf"))

    def needs_counting(self, now: float) -> bool:
        return now - self.counted_at >= self.refresh_seconds


class LatestOffsets:
    """The question for end offsets, shared by all sources of one connection.  Any thread may ask."""

    def __init__(self, connection: KafkaConnection) -> None:
        self._connection = connection
        self._client = AdminClient(librdkafka_properties(connection) | {"log_level": 3}, logger=CLIENT_LOG)
        self._watchers: list[Watcher] = []
        self._silence: Unavailable | None = None  # of the last round, if nothing was answered
        self._resting_until = float("-inf")
        self._lock = threading.Lock()

    def watch(self, topic: str, refresh: timedelta, topic_id: str | None = None) -> Watcher:
        watcher = Watcher(topic, topic_id, refresh.total_seconds())
        with self._lock:
            self._watchers.append(watcher)
        return watcher

    def unwatch(self, watcher: Watcher) -> None:
        with self._lock:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

    def ask(self, watcher: Watcher) -> Extent:
        """What the watcher's topic holds now.  One round for all watchers, unless the last is not used up."""
        with self._lock:
            now = time.monotonic()
            if watcher.answer is None or now - watcher.answered_at > _ROUND_SECONDS:
                if self._silence is not None and now < self._resting_until:
                    raise self._silence.with_traceback(None)
                self._round({*self._watchers, watcher}, now)
            answer, watcher.answer = watcher.answer, None
        if isinstance(answer, Extent):
            return answer
        raise answer if answer is not None else Unavailable(f"no answer about topic {watcher.topic}")

    def _round(self, watchers: Collection[Watcher], now: float) -> None:
        self._count([watcher for watcher in watchers if watcher.needs_counting(now)], now)
        countable = [watcher for watcher in watchers if watcher.partitions]
        # Two watchers of a topic that grows count it at different times.
        counts = {each.topic: 0 for each in countable}
        for watcher in countable:
            counts[watcher.topic] = max(counts[watcher.topic], watcher.partitions)
        extents = self._extents(counts)
        for watcher in countable:
            answer = extents[watcher.topic]
            known = answer.first(watcher.partitions) if isinstance(answer, Extent) else answer
            watcher.answer, watcher.answered_at = known, now
            if isinstance(answer, TailraceError):
                watcher.counted_at = float("-inf")  # the topic may be gone, or another have its name
        self._rest([watcher.answer for watcher in watchers], time.monotonic() - now)

    def _rest(self, answers: list[Answer | None], cost: float) -> None:
        """Does not ask again for a while, if nothing was answered."""
        failures = [answer for answer in answers if isinstance(answer, Unavailable)]
        self._silence = failures[0] if failures and len(failures) == len(answers) else None
        self._resting_until = time.monotonic() + min(cost * _REST, _LONGEST_REST)

    def _count(self, watchers: list[Watcher], now: float) -> None:
        """Asks how many partitions each topic has."""
        if not watchers:
            return
        topics = sorted({watcher.topic for watcher in watchers})
        asked = self._client.describe_topics(TopicCollection(topics), request_timeout=_ANSWER_SECONDS)
        for watcher in watchers:
            try:
                topic = asked[watcher.topic].result(_ANSWER_SECONDS * 2)
                check_same(watcher.topic, watcher.topic_id, topic_id(topic))
                watcher.partitions, watcher.counted_at = len(topic.partitions), now
            except (KafkaException, TimeoutError, SqlError) as error:
                watcher.partitions = 0
                watcher.answer, watcher.answered_at = self._failure(error, watcher.topic), now

    def _extents(self, partitions: Mapping[str, int]) -> dict[str, Answer]:
        """First and last stable offsets, by topic.  Both questions are under way at the same time."""
        places = [TopicPartition(topic, p) for topic, count in partitions.items() for p in range(count)]
        if not places:
            return {}
        lows, ends = self._list(places, EARLIEST), self._list(places, LATEST)
        answers: dict[str, Answer] = {}
        for topic, count in partitions.items():
            mine = [TopicPartition(topic, p) for p in range(count)]
            try:
                answers[topic] = Extent(_offsets(lows, mine), _offsets(ends, mine))
            except (KafkaException, TimeoutError) as error:
                answers[topic] = self._failure(error, topic)
        return answers

    def _list(
        self, places: list[TopicPartition], spec: OffsetSpec
    ) -> Mapping[TopicPartition, Future[object]]:
        return self._client.list_offsets(
            {place: spec for place in places},
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=_ANSWER_SECONDS,
        )

    def _failure(self, error: KafkaException | TimeoutError | SqlError, topic: str) -> TailraceError:
        if isinstance(error, SqlError):
            return error
        return failure(error, self._connection, topic)


def failure(error: KafkaException | TimeoutError, connection: KafkaConnection, topic: str) -> TailraceError:
    """The error to raise when a question about a topic's offsets is not answered."""
    doing = f'asking for the offsets of topic "{topic}"'
    if isinstance(error, TimeoutError):
        return Unavailable(f"kafka: no answer while {doing}")
    if error.args[0].code() in _UNKNOWN:
        return SqlError(
            "Topic does not exist",
            detail=f'There is no topic "{topic}" on {", ".join(connection.brokers)}.',
            hint="Create it first, or send a message to it: a source never makes a topic.",
            sqlstate="42704",
        )
    return translate(error, Attempt(connection=connection, doing=doing, topic=topic, operation="Describe"))


def topic_id(description: TopicDescription) -> str | None:
    """What tells a topic from a later one of the same name.  Brokers before 2.8 know no such thing."""
    known = str(description.topic_id)
    return None if known in ("None", _NO_TOPIC_ID) else known


def _offsets(futures: Mapping[TopicPartition, Future[object]], places: list[TopicPartition]) -> Offsets:
    # The client has a time limit of its own; twice that means it lost the question.
    return {place.partition: futures[place].result(_ANSWER_SECONDS * 2).offset for place in places}  # type: ignore[attr-defined]


def beyond(known: Offsets, low: Offsets, end: Offsets, topic: str) -> Offsets:
    """The position at the end of a topic, if everything between `known` and it is still there."""
    for partition, offset in sorted(known.items()):
        if partition not in end:
            raise SqlError(
                f"kafka topic {topic} has no partition {partition} any more",
                detail=f"It had been read up to offset {offset}; the topic now has {len(end)} partitions.",
                hint="The topic was deleted and created again.  Drop the source and create it anew.",
            )
    for partition, offset in end.items():
        check_kept(known.get(partition, 0), low[partition], offset, topic, partition)
    return dict(end)


def check_same(topic: str, expected: str | None, found: str | None) -> None:
    """Raises SqlError if this is not the topic that the source was created on."""
    if expected is not None and found is not None and expected != found:
        raise SqlError(
            f"kafka topic {topic} was deleted and created again",
            detail=f"The source reads topic id {expected}; the topic of this name now has id {found}.",
            hint="Drop the source and create it anew.",
        )


def check_kept(offset: int, low: int, end: int, topic: str, partition: int) -> None:
    """Raises SqlError if what comes after `offset` is gone for good."""
    if low > offset:
        raise SqlError(
            f"Low watermark {low} of kafka topic {topic} partition {partition} is past the start"
            f" offset/resume upper: {offset}",
            detail=f"The messages from offset {offset} on were deleted before they were read.",
            hint="Drop the source and create it anew.  A longer retention keeps this from happening.",
        )
    if end < offset:
        raise SqlError(
            f"kafka topic {topic} partition {partition} ends at offset {end}, below the offset {offset}"
            " that was already read",
            detail="The topic was deleted and created again, or lost messages.",
            hint="Drop the source and create it anew.",
        )
