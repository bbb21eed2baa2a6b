"""A subscription to system relations: they have no ticks, so the reader looks at them again and tells what changed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.engine.asking import answers
from tailrace.engine.rows import rows_of
from tailrace.engine.subscription import Change, Shape
from tailrace.engine.system.registry import rows_now
from tailrace.errors import NotSupported
from tailrace.ivm.zset import ZSet
from tailrace.plan.local.contract import NotLocal, Row
from tailrace.plan.local.rows import key_of
from tailrace.plan.local.rows import rows_of as local_rows
from tailrace.plan.nodes import Node
from tailrace.types.core import BIGINT, Column, Tick
from tailrace.types.spark import ddl

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

_EVERY_SECONDS = 0.5


@dataclass(eq=False, slots=True)
class Polled:
    """Has the methods of a Subscription.  Runs a Spark job only to shape a change."""

    session: EngineSession
    plan: Node
    shape: Shape
    snapshot: bool
    start: int = 0
    is_over: bool = False
    is_constant: bool = False
    id: str = "polled"
    _known: Counter[Hashable] = field(default_factory=Counter)
    _rows: dict[Hashable, Row] = field(default_factory=dict)
    _told: int = 0
    _content: pa.Table | None = None

    def __post_init__(self) -> None:
        self.start = self._told = int(self.session.engine.cluster.settled)
        self.id = f"p{id(self)}"
        content = self._look()
        self._content = content if self.snapshot else None

    def next(self, timeout: float) -> Change | None:
        deadline = time.monotonic() + timeout
        while True:
            at = max(int(self.session.engine.cluster.settled), self._told)
            content, self._content = self._content, None
            if content is not None:
                return Change(tick=Tick(self.start), rows=content)
            change = self._look()
            if change is not None:
                self._told = max(at, self._told + 1)  # later than all that was told, however short the pause
                return Change(tick=Tick(self._told), rows=change)
            self._told = at
            self.is_over = self.session.engine.loop.has_ended
            left = deadline - time.monotonic()
            if left <= 0 or self.is_over:
                return None
            time.sleep(min(left, _EVERY_SECONDS))

    def told_up_to(self) -> Tick:
        return Tick(self._told)

    def close(self) -> None:
        pass

    def _look(self) -> pa.Table | None:
        """What has changed since the last look, shaped; None: nothing."""
        try:
            rows = local_rows(self.plan, lambda scan: rows_now(self.session, scan), answers(self.session))
        except NotLocal as reason:
            raise NotSupported(f"subscribing to a query of system relations with {reason} not yet supported") from None
        self._rows |= {key_of(row): row for row in rows}
        now = Counter(map(key_of, rows))
        changes = {key: now[key] - self._known[key] for key in now.keys() | self._known.keys()}
        delta = [(*self._rows[key], weight) for key, weight in changes.items() if weight]
        self._rows = {key: self._rows[key] for key in now}
        self._known = now
        return self._shaped(delta) if delta else None

    def _shaped(self, delta: list[Row]) -> pa.Table:
        schema = (*self.plan.schema, Column("weight", BIGINT))
        views = self.session.engine.views
        arity = len(self.plan.schema)
        with views.scratch():
            view = views.add_arrow(pa.Table.from_batches(rows_of(schema, delta)), ddl(schema))
            columns = "".join(f"c{i}, " for i in range(arity))
            change = ZSet(arity=arity, sql=f"SELECT {columns}c{arity} AS weight FROM {view}", rows=len(delta))
            return views.small.sql(self.shape(change)).toArrow()
