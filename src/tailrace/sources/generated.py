"""A load generator as a log: a position is the number of the next step, and time alone makes steps.

What a step brings is a function of its number (generators/), so the tick log's positions are enough for a replay.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from tailrace.ivm.views import Views
from tailrace.ivm.zset import ZSet, leading
from tailrace.sources.contract import Offsets
from tailrace.sources.generators.contract import Generator, Steps
from tailrace.sources.kafka_definition import DEAD_LETTERS
from tailrace.sources.positions import capped
from tailrace.types.spark import spark_type

_ONLY = 0  # it has one partition


@dataclass(frozen=True, kw_only=True, slots=True)
class Generated:
    """A `Source` (contract.py).  Step n is due at `began + (n - first) * interval`, in milliseconds; there is none from
    `until` on."""

    generator: Generator
    began: int
    interval: int
    first: int = 0
    until: int | None = None

    def start(self) -> Offsets:
        return {_ONLY: self.first}

    def latest(self, known: Offsets) -> Offsets:
        due = self.first + max(int(time.time() * 1000) - self.began, 0) // self.interval + 1
        last = due if self.until is None else min(due, max(self.until, self.first))
        return {_ONLY: max(last, known.get(_ONLY, self.first))}

    def capped(self, since: Offsets, until: Offsets, rows: int) -> Offsets:
        return capped(since, until, rows)

    def changes(self, since: Offsets, until: Offsets, views: Views) -> ZSet:
        return self.changes_of("", since, until, views)

    def changes_of(self, table: str, since: Offsets, until: Offsets, views: Views) -> ZSet:
        """What happens to one of the generator's tables."""
        schema = self.generator.tables[table]
        began = self.began - self.first * self.interval
        steps = Steps(
            since=since.get(_ONLY, self.first),
            until=until.get(_ONLY, self.first),
            first=self.first,
            began=began,
            interval=self.interval,
        )
        texts, rows = self.generator.rows(table, steps)
        if not texts:
            return ZSet.empty(len(schema))
        cast = ", ".join(f"CAST(c{i} AS {spark_type(column.type)}) AS c{i}" for i, column in enumerate(schema))
        sql = " UNION ALL ".join(f"({text})" for text in texts)
        return ZSet(
            arity=len(schema),
            sql=f"SELECT {cast}, weight FROM ({sql})",
            rows=rows,
            positive=self.generator.append_only,
        )

    def placed(self, since: Offsets, until: Offsets, views: Views) -> str | None:
        change = self.changes(since, until, views)
        return None if change.sql is None else f"SELECT {leading(change.arity)}{_ONLY} AS place FROM ({change.sql})"

    def dead_letters(self, since: Offsets, until: Offsets, views: Views) -> ZSet:
        return ZSet.empty(len(DEAD_LETTERS))

    def commit(self, position: Offsets) -> None:
        """There is nobody to tell."""

    def is_done(self, position: Offsets) -> bool:
        return self.until is not None and position.get(_ONLY, self.first) >= self.until

    def close(self) -> None:
        """There is nothing to close."""
