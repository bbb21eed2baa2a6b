"""Rows of a group in a fixed order, for aggregates whose result depends on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sort:
    """One part of an ORDER BY, as Spark text."""

    text: str
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Group:
    """The rows that an aggregate sees, as texts: its arguments, its order, and what follows each Spark
    aggregate.

    `tail` is a FILTER clause, an OVER clause, both or nothing.  `kept`: of the rows of a window's frame
    only those count for which this is true; it sees a row as `e`, with the columns that `numbers` makes.
    """

    arguments: Sequence[str]
    sorts: Sequence[Sort] = ()
    tail: str = ""
    distinct: bool = False
    kept: str = ""
    numbers: str = ""

    def collected(self, text: str) -> str:
        """All values of `text` that are not NULL, in no order."""
        if not self.kept:
            return f"collect_{'set' if self.distinct else 'list'}({text}){self.tail}"
        rows = f"collect_list(named_struct('v', {text}, {self.numbers})){self.tail}"
        return f"transform(filter({rows}, e -> e.v IS NOT NULL AND ({self.kept})), e -> e.v)"

    def count(self, text: str = "1") -> str:
        """How many values of `text` are not NULL, repeated ones included."""
        return f"cardinality({self.collected(text)})" if self.kept else f"count({text}){self.tail}"

    def total(self, text: str, ddl: str) -> str:
        """The sum of `text`, which has this type and is never NULL; NULL of no rows."""
        if not self.kept:
            return f"sum({text}){self.tail}"
        values = self.collected(f"CAST({text} AS {ddl})")
        return f"aggregate({values}, CAST(0 AS {ddl}), (total, x) -> CAST(total + x AS {ddl}))"

    def sorted(self, values: Sequence[str]) -> str:
        """An array of structs (v0, v1, …, k0, k1, …): by the sort keys, equal ones by their values."""
        fields = [f"'v{i}', {text}" for i, text in enumerate(values)]
        fields += [f"'k{i}', {sort.text}" for i, sort in enumerate(self.sorts)]
        keys = [(f"k{i}", sort.descending, sort.nulls_first) for i, sort in enumerate(self.sorts)]
        keys += [(f"v{i}", False, False) for i in range(len(values))]
        rows = self.collected(f"named_struct({', '.join(fields)})")
        return f"array_sort({rows}, (l, r) -> {_comparison(keys)})"


def _comparison(keys: Sequence[tuple[str, bool, bool]]) -> str:
    branches = []
    for name, descending, nulls_first in keys:
        left, right = f"l.{name}", f"r.{name}"
        first, last = (-1, 1) if nulls_first else (1, -1)
        less, more = (1, -1) if descending else (-1, 1)
        branches += [
            f"WHEN {left} IS NULL AND {right} IS NOT NULL THEN {first}",
            f"WHEN {left} IS NOT NULL AND {right} IS NULL THEN {last}",
            f"WHEN {left} < {right} THEN {less}",
            f"WHEN {left} > {right} THEN {more}",
        ]
    return f"CASE {' '.join(branches)} ELSE 0 END"
