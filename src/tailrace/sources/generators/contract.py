"""What a load generator is: relations whose rows of any step can be computed at any time, so that a replay is exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from tailrace.types.core import Schema


@dataclass(frozen=True, kw_only=True, slots=True)
class Steps:
    """The steps from `since` to before `until`.  `first`: the first of all.  Step n is at `began + n * interval`."""

    since: int
    until: int
    first: int
    began: int
    interval: int

    @property
    def has_first(self) -> bool:
        return self.since <= self.first < self.until

    def range(self, since: int | None = None) -> str:
        """Spark text: the numbers of the steps, as `id`."""
        start = self.since if since is None else max(self.since, since)
        return f"range({start}, {max(start, self.until)})"

    def moment(self, step: str) -> str:
        """Spark text: when a step happened."""
        return f"timestamp_millis({self.began}L + {step} * {self.interval}L)"


class Generator(Protocol):
    tables: ClassVar[Mapping[str, Schema]]
    """By name.  One that is called '' is the source itself."""

    @property
    def append_only(self) -> bool:
        """No row is ever taken back."""

    def rows(self, table: str, steps: Steps) -> tuple[list[str], int]:
        """Spark texts (c0 …, weight) whose sum is the change of a table, and about how many rows they have."""


def chosen(seed: str, *of: str, below: int) -> str:
    """Spark text: a number from 0 on, below a limit, that looks like chance and is a function of its arguments."""
    return f"pmod(xxhash64('{seed}', {', '.join(of)}), {below}L)"


def one_of(values: tuple[str, ...], number: str) -> str:
    """Spark text: one of these texts."""
    return f"element_at(array({', '.join(repr(value) for value in values)}), CAST({number} + 1 AS int))"
