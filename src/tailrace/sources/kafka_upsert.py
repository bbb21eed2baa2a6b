"""ENVELOPE UPSERT: the last message of each key, from which a rule that knows the old row makes the change.

Messages of one key collapse to the last good one, by partition and offset.  A broken one is left out before
that: it becomes a dead letter, and its key keeps what it had.
"""

from __future__ import annotations

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
        """The places of the key's columns: the first ones."""
        return tuple(range(len(key_columns(self.definition))))

    def messages(self, since: Offsets, until: Offsets, views: Views) -> MessageSet:
        """The last message of each key between two positions.  Runs no job."""
        raw = self.raw(since, until, views)
        if raw is None:
            return MessageSet(no_messages_sql(self.definition), 0)
        sql = last_messages_sql(self.definition, raw.view, surely=raw.surely, unique=raw.unique)
        return MessageSet(sql, distance(since, until))

    def _small(self, table: pa.Table, views: Views) -> Raw:
        """Good messages whose keys are plain bytes are reduced to the last ones here, which saves Spark a
        sort."""
        last = last_of_each_key(self.definition, table) if is_surely_fine(self.definition, table) else None
        if last is None:
            return super()._small(table, views)
        return replace(super()._small(last, views), unique=True)
