"""ENVELOPE NONE: each message is an insertion, and the topic itself is the relation's trace."""

from __future__ import annotations

from tailrace.ivm.views import Views
from tailrace.ivm.zset import ZSet
from tailrace.sources.contract import Offsets
from tailrace.sources.kafka_decode import rows_sql
from tailrace.sources.kafka_log import KafkaLog
from tailrace.sources.positions import distance


class KafkaSource(KafkaLog):
    """A `Source` (contract.py) whose rows are the messages of a topic."""

    def changes(self, since: Offsets, until: Offsets, views: Views) -> ZSet:
        raw = self.raw(since, until, views)
        if raw is None:
            return ZSet.empty(self._arity)
        sql = rows_sql(self.definition, raw.view, surely=raw.surely)
        return ZSet(arity=self._arity, sql=sql, rows=distance(since, until), positive=True)
