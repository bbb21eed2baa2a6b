"""A topic between positions: the same messages for ever, whichever way they are read.

Few messages are read by a consumer on the driver, many by Spark on the executors; both give the same raw
columns, and one text decodes them.  This is what all Kafka envelopes share.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from confluent_kafka import KafkaException, TopicPartition

from tailrace.formats.decode_contract import Decoder
from tailrace.ivm.views import Views
from tailrace.ivm.zset import ZSet
from tailrace.sources.contract import Offsets
from tailrace.sources.kafka_decode import (
    dead_letters_sql,
    is_surely_fine,
    more_columns,
    raw_ddl,
)
from tailrace.sources.kafka_definition import DEAD_LETTERS, KafkaSourceDefinition, source_schema
from tailrace.sources.kafka_offsets import LatestOffsets, beyond
from tailrace.sources.kafka_scan import scan, tasks
from tailrace.sources.kafka_tail import OffsetGone, Tail, arrow_table
from tailrace.sources.positions import capped, distance, sizes

SMALL_ROWS = 20_000
"""Up to so many messages the driver reads by itself.  Above, Spark's own beginning is small beside the
rest."""


@dataclass(frozen=True, slots=True)
class Raw:
    """Raw messages under a view's name.

    `surely`: all of them are known to decode.  `unique`: no two have the same key.  `whole`: the name of a view of the
    same messages in which one Spark task reads all those of a partition.
    """

    view: str
    surely: bool
    unique: bool = False
    whole: str | None = None


class KafkaLog:
    """One source's topic.  Any thread may read; to the loop, which goes forward, messages come ahead."""

    def __init__(
        self, definition: KafkaSourceDefinition, offsets: LatestOffsets, small_rows: int = SMALL_ROWS
    ) -> None:
        self.definition = definition
        self._arity = len(source_schema(definition))
        self._more = more_columns(definition)
        self._small_rows = small_rows
        self._offsets = offsets
        self._watcher = offsets.watch(definition.topic, definition.metadata_refresh, definition.topic_id)
        # One consumer follows the loop; another is for whoever looks back, so that the loop keeps its place.
        self._forward: Tail | None = None
        self._back: Tail | None = None
        self._learning_lock = threading.Lock()
        self._last_learned: tuple[Offsets, Offsets] | None = None
        self._last_read: tuple[Offsets, Offsets, pa.Table] | None = None
        self._lock, self._back_lock = threading.Lock(), threading.Lock()

    def start(self) -> Offsets:
        return self.definition.start_offsets

    def latest(self, known: Offsets) -> Offsets:
        extent = self._offsets.ask(self._watcher)
        # START OFFSET may lie in the future: until something was read, the topic is allowed to be shorter.
        ahead = {p: offset for p, offset in self.start().items() if known.get(p) == offset}
        ends = {p: max(end, ahead.get(p, end)) for p, end in extent.end.items()}
        reached = beyond(known, extent.low, ends, self.definition.topic)
        last = self.definition.end_offsets
        if last is None:
            return reached
        return {p: max(known.get(p, 0), min(end, last[p])) for p, end in reached.items() if p in last}

    def is_done(self, position: Offsets) -> bool:
        """Nothing can ever come after this position."""
        last = self.definition.end_offsets
        return last is not None and all(position.get(p, 0) >= end for p, end in last.items())

    def capped(self, since: Offsets, until: Offsets, rows: int) -> Offsets:
        return capped(since, until, rows)

    def dead_letters(self, since: Offsets, until: Offsets, views: Views) -> ZSet:
        raw = self.raw(since, until, views)
        if raw is None or raw.surely:
            return ZSet.empty(len(DEAD_LETTERS))
        return ZSet(
            arity=len(DEAD_LETTERS),
            sql=dead_letters_sql(self.definition, raw.view),
            rows=distance(since, until),
            positive=True,
        )

    def raw(self, since: Offsets, until: Offsets, views: Views, *, ordered: bool = True) -> Raw | None:
        """The messages between two positions, read here or by Spark; None if there are none.

        Runs no job, but for many messages in a format that must learn from their heads (Avro's schema ids).
        `ordered`: of two messages with one key, the one with the greater partition and offset is the later one.
        """
        rows = distance(since, until)
        if rows == 0:
            return None
        if rows > self._small_rows:
            self._stand_back()
            self._check_kept(since, until)
            return self._large(since, until, views)
        table = self._read(since, until)
        self._learn({part: table[part].drop_null().to_pylist() for part in self._learning()})
        return self._small(table, views, ordered) if table.num_rows else None  # none: markers and aborted messages

    def _large(self, since: Offsets, until: Offsets, views: Views) -> Raw:
        wanted = max(self.definition.tasks, tasks(distance(since, until), views.large))
        view = scan(self.definition, since, until, views, more=self._more, tasks=wanted)
        self._learn_large(since, until, view, views)
        whole = view
        if len(sizes(since, until)) < wanted:
            whole = scan(self.definition, since, until, views, more=self._more, tasks=1)
        return Raw(view, surely=False, whole=whole)

    def _small(self, table: pa.Table, views: Views, ordered: bool) -> Raw:
        view = views.add_arrow(table, raw_ddl(self._more))
        return Raw(view, surely=is_surely_fine(self.definition, table))

    def _learn(self, parts: Mapping[str, Iterable[bytes]]) -> None:
        """Whatever decoding these messages takes: schemas of writers that have not been met before."""
        if not parts:
            return
        with self._learning_lock:
            for part, format in self._learning().items():
                learned = format.learned({data[: format.head] for data in parts[part]})
                if part == "key":
                    self.definition = replace(self.definition, key_format=learned)
                else:
                    self.definition = replace(self.definition, value_format=learned)

    def _learn_large(self, since: Offsets, until: Offsets, view: str, views: Views) -> None:
        """Runs a Spark job if there is anything to learn, once for the same messages."""
        formats = self._learning()
        if not formats or self._last_learned == (since, until):
            return
        heads = {}
        for part, format in formats.items():
            text = f"SELECT DISTINCT substring({part}, 1, {format.head}) AS head FROM {view} WHERE {part} IS NOT NULL"
            heads[part] = [bytes(row.head) for row in views.large.sql(text).collect()]
        self._learn(heads)
        self._last_learned = (dict(since), dict(until))

    def _learning(self) -> dict[str, Decoder]:
        """The formats that learn from messages, by the part of a message that they decode."""
        definition = self.definition
        formats = {"value": definition.value_format}
        if definition.includes_key and definition.key_format is not None:
            formats["key"] = definition.key_format
        return {part: format for part, format in formats.items() if format.head}

    def commit(self, position: Offsets) -> None:
        places = [TopicPartition(self.definition.topic, p, offset) for p, offset in position.items()]
        with contextlib.suppress(KafkaException, RuntimeError):  # RuntimeError: closed meanwhile
            self._following().consumer.commit(offsets=places, asynchronous=True)

    def close(self) -> None:
        self._offsets.unwatch(self._watcher)
        with self._lock, self._back_lock:
            for tail in (self._forward, self._back):
                if tail is not None:
                    tail.close()
            self._last_read = None

    def _read(self, since: Offsets, until: Offsets) -> pa.Table:
        """The messages as an Arrow table.  The last one is kept: rows and dead letters ask for the same."""
        with self._lock:
            if self._last_read is not None and self._last_read[:2] == (since, until):
                return self._last_read[2]
            following = self._following()
            if following.is_before(since):
                table = self._table(following, since, until)
                self._last_read = (dict(since), dict(until), table)
                return table
        with self._back_lock:
            self._back = self._back or Tail(self.definition)
            try:
                return self._table(self._back, since, until)
            finally:
                self._back.leave()

    def _table(self, tail: Tail, since: Offsets, until: Offsets) -> pa.Table:
        try:
            return arrow_table(tail.read(since, until), more=self._more)
        except OffsetGone:
            self._check_kept(since, until)
            raise

    def _following(self) -> Tail:
        if self._forward is None:  # the loop's thread comes first; a consumer too many would do no harm
            self._forward = Tail(self.definition)
        return self._forward

    def _stand_back(self) -> None:
        """Spark reads what the consumer would fetch ahead."""
        with self._lock:
            if self._forward is not None:
                self._forward.leave()

    def _check_kept(self, since: Offsets, until: Offsets) -> None:
        """Raises SqlError if messages in between are gone: a reader would say it in its own words."""
        extent = self._offsets.ask(self._watcher)
        unread = {p: since.get(p, 0) for p, end in until.items() if since.get(p, 0) < end}
        ends = {p: end for p, end in extent.end.items() if p in unread}
        beyond(unread, extent.low, ends, self.definition.topic)
