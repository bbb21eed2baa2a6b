"""A relation under a key: the same rows, kept in a trace so that those of some keys can be found again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from tailrace.ivm.operator import Holding, Operator, absorb, is_positive, open_trace
from tailrace.ivm.zset import ZSet, columns, leading
from tailrace.plan.append_only import is_append_only
from tailrace.plan.expressions import Expression, Ref
from tailrace.plan.fallible import can_fail
from tailrace.plan.nodes import Node
from tailrace.plan.to_spark import render_expression
from tailrace.state.hashing import can_hash, hashed
from tailrace.state.layout import Layout, key_hash
from tailrace.state.run import Run
from tailrace.state.store import Store
from tailrace.state.trace import Trace
from tailrace.types.core import BEGINNING, Tick


@dataclass(kw_only=True, slots=True, eq=False)
class Arranged:
    """`input`'s relation under the hash of `key`.  Its texts have a column `h` before the row's own."""

    input: Operator
    key: tuple[Expression, ...]
    store: Store
    trace: Trace
    rule: str = "arrangement"

    @property
    def node(self) -> Node:
        return self.input.node

    @property
    def below(self) -> Sequence[Operator]:
        return (self.input,)

    def traces(self) -> Sequence[Trace]:
        return (self.trace,)

    def advance(self, t: Tick) -> None:
        if self.trace.upper >= t:
            return
        self.input.advance(t)
        here = self._hashed_here(t)
        if here is not None:
            self.trace.append(t, self._run_of(here, t))
            return
        change = self.input.delta(self.trace.upper, t)
        if any(map(can_fail, self.key)):
            change = change.settled(self.input.node.schema)
        absorb(self.store, self.trace, t, self._hashed(change), consolidated=change.positive)

    def _hashed_here(self, t: Tick) -> pa.Table | None:
        """What `t` adds, if that is on the driver, where its hashes cost no job."""
        places = [part.index for part in self.key if isinstance(part, Ref)]
        types = [self.trace.layout.row[i] for i in places]
        if len(places) < len(self.key) or not can_hash(types) or not isinstance(self.input, Holding):
            return None
        rows = self.input.change_here(self.trace.upper, t)
        if rows is None or rows.num_rows > self.store.small_rows:
            return None
        hashes = hashed([rows[f"c{i}"] for i in places], types, rows.num_rows)
        return rows.add_column(0, "h", pa.array(hashes))

    def _run_of(self, rows: pa.Table, t: Tick) -> Run | None:
        run = self.store.settled_run(rows, self.trace.layout, self.trace.upper, t)
        if run is None:
            return None
        self.store.work.rows += run.rows
        return replace(run, positive=is_positive(rows))

    def _hashed(self, change: ZSet) -> ZSet:
        if change.sql is None:
            return change
        places = [f"c{i}" for i in range(change.arity)]
        hash = key_hash([render_expression(part, places) for part in self.key])
        text = f"SELECT {hash} AS h, {leading(change.arity)}weight FROM ({change.sql})"
        return ZSet(arity=change.arity, sql=text, rows=change.rows, positive=change.positive)

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        change = self.trace.between(lo, hi)
        return change if change.positive else replace(change, positive=is_append_only(self.node))

    def touched(self, lo: Tick, hi: Tick) -> list[Run]:
        """The runs whose hashes changed between two ticks."""
        return self.trace.runs_between(lo, hi)

    def matching(self, t: Tick, touched: Sequence[Run]) -> ZSet:
        """The content at `t`, only what is under the hashes of `touched`."""
        found = self.store.matching(self.trace, t, touched)
        return ZSet(arity=self.trace.layout.arity, sql=found.sql, rows=found.rows, positive=is_append_only(self.node))

    def matching_here(self, t: Tick, touched: Sequence[Run]) -> pa.Table | None:
        """As `matching`, if it was found on the driver."""
        found = self.store.matching(self.trace, t, touched)
        return found.found if found.is_here else None

    def bag(self, t: Tick, touched: Sequence[Run] | None, *, sealed: bool) -> str | None:
        """Text of the rows at `t` (c0 …), repeated by weight; only those under the hashes `touched`, if given."""
        content = self.trace.between(BEGINNING, t) if touched is None else self.matching(t, touched)
        if content.sql is None:
            return None
        return repeated(self.trace.layout.consolidated(content.sql), content.arity, sealed=sealed)


def repeated(sql: str, arity: int, *, sealed: bool = False) -> str:
    """A Z-set's text, consolidated and without negative weights, as a bag: each row as often as its weight says.

    `sealed`: Spark asks no condition of a row before it knows the weight.  Conditions that can fail need that; others
    are better asked early.
    """
    if sealed and arity:
        fields = ", ".join(f"'c{i}', c{i}" for i in range(arity))
        return f"SELECT inline(array_repeat(named_struct({fields}), CAST(weight AS int))) FROM ({sql})"
    names = columns(arity) or "1"
    return f"SELECT {names} FROM ({sql}) LATERAL VIEW explode(array_repeat(1, CAST(weight AS int))) w AS w"


def arrange(store: Store, input: Operator, key: Sequence[Expression]) -> Arranged:
    """The arrangement of `input` by `key`; an equal one is shared through its trace, see dataflow.py."""
    layout = Layout.of(input.node.schema)
    return Arranged(
        input=input,
        key=tuple(key),
        store=store,
        trace=open_trace(store, f"{input.node!r} by {tuple(key)!r}", layout),
    )
