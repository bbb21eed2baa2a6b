"""Window aggregates in event time:  Δ = the groups whose window the watermark has passed, each once and for good.

Rows wait in a trace under the last millisecond of their window.  A step goes from one change of the watermark to the
next: rows that come for a window which was passed before the step are late and dropped; then the windows that the
watermark passes now are aggregated, and their rows leave the trace.  Watermarks belong to ticks, and steps are never
fused, so what a tick emits is the same on every replay.  docs/design/012-event-time.md says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow.compute as pc

from tailrace.errors import InternalError
from tailrace.ivm.operator import ENDED, Operator, Watermark, Watermarked, open_trace
from tailrace.ivm.rules.arrange import repeated
from tailrace.ivm.zset import ZSet, leading
from tailrace.plan.event_time import EventTime
from tailrace.plan.fallible import node_can_fail
from tailrace.plan.nodes import Aggregate, Node, Scan
from tailrace.plan.to_spark import render
from tailrace.state.layout import Layout, key_hash
from tailrace.state.matching import Matching
from tailrace.state.run import Run
from tailrace.state.store import Store
from tailrace.state.trace import Trace
from tailrace.types.core import BEGINNING, Tick

_BEFORE_ALL = -ENDED
"""A watermark that has passed nothing."""


@dataclass(kw_only=True, slots=True, eq=False)
class EventTimeWindows:
    """`open`: the rows of windows that are not passed yet.  `closed`: the result.  `late`: dropped since the start."""

    node: Aggregate
    input: Operator
    watermarks: tuple[Watermark, ...]
    end: int
    store: Store
    open: Trace
    closed: Trace
    late: int = 0
    rule: str = "windows, when the watermark passes"

    @property
    def below(self) -> Sequence[Operator]:
        return (self.input,)

    def traces(self) -> Sequence[Trace]:
        return (self.open, self.closed)

    def due(self, t: Tick) -> Tick | None:
        """Partitions that fall idle let the watermark go on."""
        return min((due for each in self.watermarks if (due := each.due(t)) is not None), default=None)

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        change = self.closed.between(lo, hi)
        if change.sql is None:
            return ZSet.empty(change.arity)
        return replace(change, sql=f"SELECT {leading(change.arity)}weight FROM ({change.sql})", positive=True)

    def watermark(self, t: Tick) -> int | None:
        """In milliseconds, for people to look at: None if there is none, or nothing more can come."""
        found = self._at(t)
        return found if abs(found) < ENDED else None

    def advance(self, t: Tick) -> None:
        upper = self.closed.upper
        if upper >= t:
            return
        self.input.advance(t)
        for each in self.watermarks:
            each.advance(t)
        if upper == BEGINNING:
            self._step(self.watermarks[0].begun(self.closed.id, t))
        for step in sorted({t, *(tick for each in self.watermarks for tick in each.changes(self.closed.upper, t))}):
            self._step(step)

    def _step(self, t: Tick) -> None:
        lo = self.closed.upper
        if lo >= t:
            return
        passed, passes = _BEFORE_ALL if lo == BEGINNING else self._at(lo), self._at(t)
        change = self.input.delta(lo, t)
        if change.sql is not None and node_can_fail(self.node):
            change = change.settled(self.input.node.schema)
        with self._arrived(change) as rows:
            late = self._late(rows, passed)
            waiting = self._waiting(lo, passed, passes)
            closing = self._closing(rows, waiting, passed, passes)
            results = None if closing is None else self._aggregated(closing, lo, t)
            left = self._left(rows, waiting, passed, passes, lo, t)
        self.open.append(t, left)
        self.closed.append(t, results)
        self.late += late

    def _at(self, t: Tick) -> int:
        """The least of the tables' watermarks."""
        every = [each.at(t) for each in self.watermarks]
        return min(_BEFORE_ALL if each is None else each for each in every)

    @contextmanager
    def _arrived(self, change: ZSet) -> Iterator[Run | None]:
        """The rows that came, under the last millisecond of their windows.  Runs one Spark job, or none."""
        if change.sql is None:
            yield None
            return
        last = f"unix_millis(CAST(c{self.end} AS timestamp)) - 1L"
        text = f"SELECT {last} AS h, {leading(change.arity)}weight FROM ({change.sql})"
        with self.store.staged(text, self.open.layout, change.rows) as run:
            yield run

    def _late(self, rows: Run | None, passed: int) -> int:
        if rows is None or passed == _BEFORE_ALL:
            return 0
        if rows.table is not None:
            found = pc.sum(rows.table.filter(pc.field("h") <= passed)["weight"]).as_py()
            return int(found or 0)
        [[count]] = self.store.views.large.sql(f"SELECT sum(weight) FROM {rows.view} WHERE h <= {passed}L").collect()
        self.store.work.jobs += 1
        return int(count or 0)

    def _waiting(self, lo: Tick, passed: int, passes: int) -> Matching | None:
        """Rows that came before and whose windows close now."""
        first = self.store.first_due(self.open, Tick(passed)) if passes > passed else None
        if first is None or first > passes:
            return None
        found = self.store.within(self.open, lo, passed, passes)
        return None if found.sql is None else found

    def _closing(self, rows: Run | None, waiting: Matching | None, passed: int, passes: int) -> ZSet | None:
        """All rows of the windows that close now, as they are in the trace; None if there are none."""
        texts, count = [], 0
        if waiting is not None:
            texts, count = [str(waiting.sql)], waiting.rows
        if rows is not None and _has_between(rows, passed, passes):
            texts.append(f"SELECT {self.open.layout.columns} FROM {rows.view} WHERE h > {passed}L AND h <= {passes}L")
            count += rows.rows
        if not texts:
            return None
        return ZSet(arity=self.open.layout.arity, sql=" UNION ALL ".join(f"({text})" for text in texts), rows=count)

    def _aggregated(self, closing: ZSet, lo: Tick, t: Tick) -> Run | None:
        """Runs one Spark job."""
        assert closing.sql is not None
        rows = repeated(
            self.open.layout.consolidated(closing.sql), closing.arity, sealed=node_can_fail(self.node)
        )
        pattern = replace(self.node, input=Scan(relation="rows", schema=self.node.input.schema))
        arity = len(self.node.schema)
        hash = key_hash([f"c{i}" for i in range(len(self.node.group_by))])
        text = render(pattern, lambda _: f"({rows})")
        sql = f"SELECT {hash} AS h, {leading(arity)}1L AS weight FROM ({text})"
        return self.store.materialize(sql, self.closed.layout, lo, t, closing.rows)

    def _left(
        self, rows: Run | None, waiting: Matching | None, passed: int, passes: int, lo: Tick, t: Tick
    ) -> Run | None:
        """What changes of the rows that wait: those that came and still have to, less those that need not any more."""
        layout, bound = self.open.layout, max(passed, passes)
        if waiting is None and (rows is None or rows.table is not None):
            return None if rows is None else self._kept_here(rows, bound, lo, t)
        texts = []
        if rows is not None:
            texts.append(f"SELECT {layout.columns} FROM {rows.view} WHERE h > {bound}L")
        if waiting is not None:
            texts.append(f"SELECT h, {leading(layout.arity)}-weight AS weight FROM ({waiting.sql})")
        count = (rows.rows if rows is not None else 0) + (waiting.rows if waiting is not None else 0)
        sql = " UNION ALL ".join(f"({text})" for text in texts)
        return self.store.materialize(sql, layout, lo, t, count, consolidated=False)

    def _kept_here(self, rows: Run, bound: int, lo: Tick, t: Tick) -> Run | None:
        """The same on the driver.  No job."""
        assert rows.table is not None
        return self.store.settled_run(rows.table.filter(pc.field("h") > bound), self.open.layout, lo, t)


def _has_between(rows: Run, passed: int, passes: int) -> bool:
    """Whether rows close as soon as they come, as far as that can be said without a job."""
    if passes <= passed:
        return False
    if rows.table is None:
        return True
    found = pc.any(pc.and_(pc.greater(rows.table["h"], passed), pc.less_equal(rows.table["h"], passes)))
    return bool(found.as_py())


def build(store: Store, node: Aggregate, windows: EventTime, below: Callable[[Node], Operator]) -> EventTimeWindows:
    tables = [below(scan) for scan in windows.tables]
    watermarks = [table.watermarks for table in tables if isinstance(table, Watermarked)]
    found = tuple(each for each in watermarks if each is not None)
    if len(found) != len(tables):
        raise InternalError("a table with a watermark has none")
    return EventTimeWindows(
        node=node,
        input=below(node.input),
        watermarks=found,
        end=windows.end,
        store=store,
        open=open_trace(store, f"{node!r} open", Layout.of(node.input.schema)),
        closed=open_trace(store, f"{node!r} closed", Layout.of(node.schema)),
    )
