"""What a rule promises.  One operator per plan node; views that contain the same node share its operator.

There is one verb: *advance from your frontier to t*.  Operators pull: `advance` brings the operators below and then
its own traces to t; `delta` then describes the change of the node's relation between any two ticks that somebody may
still ask for.  The whole content at t is the change since BEGINNING.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ivm.zset import ZSet
from tailrace.plan.nodes import Node
from tailrace.state.layout import Layout
from tailrace.state.store import Store
from tailrace.state.trace import Trace
from tailrace.types.core import Tick


class Operator(Protocol):
    """`node` is what it computes, `rule` the name EXPLAIN shows, `below` the operators it reads."""

    @property
    def node(self) -> Node: ...

    @property
    def rule(self) -> str: ...

    @property
    def below(self) -> Sequence[Operator]: ...

    def advance(self, t: Tick) -> None:
        """Absorbs everything up to `t`.  May run Spark jobs.  On an error the operator keeps its frontier; the next
        `advance` covers the fused change, so a row that has been retracted meanwhile does no harm."""

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        """The change of the relation from `lo` to `hi`.  `advance(hi)` must have succeeded.  Runs no Spark job."""

    def traces(self) -> Sequence[Trace]:
        """The state that is this operator's own."""


@runtime_checkable
class Timed(Protocol):
    """An operator whose relation changes as time passes, whether or not its inputs do."""

    def due(self, t: Tick) -> Tick | None:
        """The first time after `t` at which something may change; None if nothing ever will."""


@runtime_checkable
class Holding(Protocol):
    """An operator whose changes may be on the driver already."""

    def change_here(self, lo: Tick, hi: Tick) -> pa.Table | None:
        """The rows that `delta` describes, c0 … and weight, perhaps not consolidated; None if they are not here."""


ENDED = 2**62
"""The watermark after the last row that can ever come."""


class Watermark(Protocol):
    """Up to which time, in milliseconds, the rows of a table are said to have come, as of each tick."""

    def advance(self, t: Tick) -> None:
        """Brings what is known to `t`.  May run Spark jobs."""

    def at(self, t: Tick) -> int | None:
        """The watermark at `t`; None while there is none."""

    def changes(self, lo: Tick, hi: Tick) -> list[Tick]:
        """The ticks above `lo` up to `hi` at which it changes."""

    def begun(self, reader: str, t: Tick) -> Tick:
        """Where the first step of a reader ends: at `t` if it begins now.  Durable on return."""

    def due(self, t: Tick) -> Tick | None:
        """The first time after `t` at which it may change though nothing comes."""


@runtime_checkable
class Watermarked(Protocol):
    """The operator of a table that has a watermark."""

    @property
    def watermarks(self) -> Watermark | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Stateless:
    """The half of an operator that a rule without state shares with all others."""

    node: Node
    rule: str
    below: Sequence[Operator]

    def advance(self, t: Tick) -> None:
        for operator in self.below:
            operator.advance(t)

    def traces(self) -> Sequence[Trace]:
        return ()


def is_positive(rows: pa.Table) -> bool:
    """No row in it takes another one away."""
    return rows.num_rows == 0 or bool(pc.min(rows["weight"]).as_py() > 0)


def absorb(store: Store, trace: Trace, t: Tick, change: ZSet, *, consolidated: bool = False) -> None:
    """Appends `change`, which covers everything from the trace's frontier to `t`.  One Spark job, or none.

    `consolidated` says that no row in it cancels another.
    """
    run = None
    if change.sql is not None:
        run = store.materialize(
            change.sql,
            trace.layout,
            trace.upper,
            t,
            change.rows,
            consolidated=consolidated,
            positive=change.positive,
        )
    trace.append(t, run)


def open_trace(store: Store, what: str, layout: Layout) -> Trace:
    """The trace that holds `what`: a text that says exactly which rows, under which key."""
    digest = hashlib.sha256(f"{what}|{layout!r}".encode()).hexdigest()[:32]
    return store.trace(digest, layout)
