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


def collected(text: str, distinct: bool, tail: str) -> str:
    """All values that are not NULL, in no order."""
    return f"collect_{'set' if distinct else 'list'}({text}){tail}"


def sorted_rows(values: Sequence[str], sorts: Sequence[Sort], distinct: bool, tail: str) -> str:
    """An array of structs (v0, v1, …, k0, k1, …): by the sort keys, equal ones by their values."""
    fields = [f"'v{i}', {text}" for i, text in enumerate(values)]
    fields += [f"'k{i}', {sort.text}" for i, sort in enumerate(sorts)]
    rows = collected(f"named_struct({', '.join(fields)})", distinct, tail)
    keys = [(f"k{i}", sort.descending, sort.nulls_first) for i, sort in enumerate(sorts)]
    keys += [(f"v{i}", False, False) for i in range(len(values))]
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
