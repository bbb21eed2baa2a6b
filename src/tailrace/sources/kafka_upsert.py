"""ENVELOPE UPSERT: the last message of each key, from which a rule that knows the old row makes the change.

Messages of one key collapse to the last good one.  A broken one is left out before that: it becomes a dead letter,
and its key keeps what it had.  A key belongs into one partition; where it is in several (a topic that was given more
partitions), the tick decides which message is the later one, and within a tick the partition.  A step over several
ticks must come to what the ticks one by one would: it is told where they ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from tailrace.ivm.views import Views
from tailrace.sources.contract import Offsets
from tailrace.sources.kafka_decode import (
    is_surely_fine,
    last_messages_sql,
    last_of_each_key,
    no_messages_sql,
)
from tailrace.sources.kafka_definition import key_columns
from tailrace.sources.kafka_log import KafkaLog, Raw
from tailrace.sources.positions import distance


@dataclass(frozen=True, slots=True)
class MessageSet:
    """`sql` has the relation's columns c0 … and `deleted` (boolean), one row per key.

    Of a deleted key only the key's columns mean something.  `rows` is an upper guess; 0 means that there are
    none.
    """

    sql: str
    rows: int


class UpsertSource(KafkaLog):
    """A topic whose messages replace one another.  A `Source`, but for `messages` in the place of
    `changes`."""

    @property
    def key(self) -> tuple[int, ...]:
        """The places of the key's columns: the first ones, if nobody says otherwise."""
        if self.definition.layout:
            return self.definition.key_places
        return tuple(range(len(key_columns(self.definition))))

    def messages(
        self, since: Offsets, until: Offsets, views: Views, between: Sequence[Offsets] = ()
    ) -> MessageSet:
        """The last message of each key between two positions.  Runs no job.

        `between`: where the ticks in between ended.
        """
        moved = [p for p in until if until[p] > since.get(p, 0)]
        steps = boundaries(moved, between) if len(moved) > 1 else {}
        raw = self.raw(since, until, views, ordered=not steps)
        if raw is None:
            return MessageSet(no_messages_sql(self.definition), 0)
        sql = last_messages_sql(self.definition, raw.view, surely=raw.surely, unique=raw.unique, steps=steps)
        return MessageSet(sql, distance(since, until))

    def _small(self, table: pa.Table, views: Views, ordered: bool) -> Raw:
        """Good messages whose keys are plain bytes are reduced to the last ones here, which saves Spark a
        sort."""
        reducible = ordered and is_surely_fine(self.definition, table)
        last = last_of_each_key(self.definition, table) if reducible else None
        if last is None:
            return super()._small(table, views, ordered)
        return replace(super()._small(last, views, ordered), unique=True)


def boundaries(partitions: Sequence[int], between: Sequence[Offsets]) -> dict[int, list[int]]:
    """For each partition where its ticks ended, in order."""
    return {p: [offsets.get(p, 0) for offsets in between] for p in partitions} if between else {}
