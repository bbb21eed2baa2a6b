"""ENVELOPE NONE: each message is an insertion, and the topic itself is the relation's trace.

So it is for a changelog, whose messages also say which rows leave.
"""

from __future__ import annotations

from tailrace.ivm.views import Views
from tailrace.ivm.zset import Placed, ZSet
from tailrace.sources.contract import Offsets
from tailrace.sources.kafka_decode import rows_sql
from tailrace.sources.kafka_definition import Envelope
from tailrace.sources.kafka_log import KafkaLog
from tailrace.sources.positions import distance, sizes


class KafkaSource(KafkaLog):
    """A `Source` (contract.py) whose rows are the messages of a topic."""

    def changes(self, since: Offsets, until: Offsets, views: Views) -> ZSet:
        raw = self.raw(since, until, views)
        if raw is None:
            return ZSet.empty(self._arity)
        sql = rows_sql(self.definition, raw.view, surely=raw.surely)
        positive = self.definition.envelope is Envelope.NONE
        rows = distance(since, until) * (1 if positive else 2)
        placed = None
        if raw.whole is not None and positive:
            by_partition = rows_sql(self.definition, raw.whole, placed=True)
            placed = Placed(sql=by_partition, rows=sizes(since, until))
        return ZSet(arity=self._arity, sql=sql, rows=rows, positive=positive, placed=placed)

    def placed(self, since: Offsets, until: Offsets, views: Views) -> str | None:
        raw = self.raw(since, until, views)
        return None if raw is None else rows_sql(self.definition, raw.view, surely=raw.surely, placed=True)
