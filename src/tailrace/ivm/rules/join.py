"""Inner join:  Δ(L ⋈ R) = ΔL ⋈ R′ + L ⋈ ΔR   (L before the tick, R′ after it).  Weights multiply.

With the old side in both terms, rows that arrive together are lost; with the new side in both, they are counted
twice.  tests/properties/test_rules.py holds this against a full recompute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from tailrace.ivm.operator import is_positive
from tailrace.ivm.rules.arrange import Arranged
from tailrace.ivm.views import Views
from tailrace.ivm.zset import ZSet
from tailrace.plan.build import conjunction, conjuncts
from tailrace.plan.equalities import is_equality
from tailrace.plan.expressions import Expression
from tailrace.plan.fallible import can_fail
from tailrace.plan.nodes import Join
from tailrace.plan.to_spark import render_expression
from tailrace.state.paired import paired
from tailrace.state.trace import Trace
from tailrace.types.core import BEGINNING, Tick

_BROADCAST_ROWS = 200_000
"""A change up to this size is sent to every task whole; a larger one is shuffled."""


@dataclass(kw_only=True, slots=True, eq=False)
class InnerJoin:
    """Both sides under the hash of their side of the condition's equalities; the whole condition is checked after."""

    node: Join
    left: Arranged
    right: Arranged
    rule: str = "inner join"

    @property
    def below(self) -> Sequence[Arranged]:
        return (self.left, self.right)

    def advance(self, t: Tick) -> None:
        self.left.advance(t)
        self.right.advance(t)

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        if lo == BEGINNING:
            return self._checked(self._product(self.left.delta(lo, hi), self.right.delta(lo, hi)))
        here = self._pairs_here(lo, hi)
        if here is not None:
            places = [f"c{i}" for i in range(here.arity)]
            return self._checked(here.mapped(places, where=render_expression(conjunction(self._early), places)))
        right = self.right.matching(hi, self.left.touched(lo, hi))
        left = self.left.matching(lo, self.right.touched(lo, hi))
        arriving_left = self._product(self.left.delta(lo, hi), right)
        arriving_right = self._product(left, self.right.delta(lo, hi))
        return self._checked(arriving_left.plus(arriving_right))

    def _pairs_here(self, lo: Tick, hi: Tick) -> ZSet | None:
        """The change before the condition is asked, if all rows that matter are on the driver: each side that Spark
        would send to its tasks costs a job."""
        views = self.left.store.views
        key = ("pairs", self.left.trace.id, self.right.trace.id, lo, hi)
        return views.remember(key, lambda: self._find_pairs(views, lo, hi))

    def _find_pairs(self, views: Views, lo: Tick, hi: Tick) -> ZSet | None:
        terms = (
            (self.left.trace.here(lo, hi), self.right.matching_here(hi, self.left.touched(lo, hi))),
            (self.left.matching_here(lo, self.right.touched(lo, hi)), self.right.trace.here(lo, hi)),
        )
        found = []
        for left, right in terms:
            pairs = paired(left, right) if left is not None and right is not None else None
            if pairs is None:
                return None
            found.append(pairs)
        row = [type for side in self.below for type in side.trace.layout.row]
        pairs = pa.concat_tables(found)
        if pairs.num_rows == 0:
            return ZSet.empty(len(row))
        view = views.add_arrow(pairs, ", ".join([*(f"c{i} {type}" for i, type in enumerate(row)), "weight bigint"]))
        return ZSet(arity=len(row), sql=f"SELECT * FROM {view}", rows=pairs.num_rows, positive=is_positive(pairs))

    def _product(self, left: ZSet, right: ZSet) -> ZSet:
        arity = left.arity + right.arity
        if left.sql is None or right.sql is None:
            return ZSet.empty(arity)
        places = [f"l.c{i}" for i in range(left.arity)] + [f"r.c{i}" for i in range(right.arity)]
        outputs = "".join(f"{place} AS c{i}, " for i, place in enumerate(places))
        small = "l" if left.rows <= right.rows else "r"
        rows = min(left.rows, right.rows)
        hint = f"/*+ BROADCAST({small}) */ " if rows <= _BROADCAST_ROWS else ""
        condition = render_expression(conjunction(self._early), places)
        sql = (
            f"SELECT {hint}{outputs}l.weight * r.weight AS weight FROM ({left.sql}) l JOIN ({right.sql}) r"
            f" ON l.h = r.h AND ({condition})"
        )
        return ZSet(arity=arity, sql=sql, rows=rows, positive=left.positive and right.positive)

    @property
    def _early(self) -> list[Expression]:
        """The parts of the condition that any pair may be asked; pairs that never met are among them."""
        return [part for part in conjuncts(self.node.condition) if not can_fail(part) or is_equality(part, self.node)]

    def _checked(self, pairs: ZSet) -> ZSet:
        """The pairs for which the rest of the condition is true."""
        early = self._early
        late = [part for part in conjuncts(self.node.condition) if part not in early]
        if not late:
            return pairs
        places = [f"c{i}" for i in range(pairs.arity)]
        condition = f"CASE WHEN weight <> 0 THEN {render_expression(conjunction(late), places)} END"
        return pairs.settled((*self.left.node.schema, *self.right.node.schema)).mapped(places, where=condition)

    def traces(self) -> Sequence[Trace]:
        return (self.left.trace, self.right.trace)
