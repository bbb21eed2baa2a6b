"""The columns of a trace: a hash of the key, the row, and what adds up.

    h bigint | c0 … c{n-1} | weight bigint, further sums …

All state has this form.  Rows with equal c-columns stand for one row whose additive columns are summed; a row whose
sums are all zero does not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.ivm.maps import as_entries, as_maps
from tailrace.ivm.zset import columns
from tailrace.types.core import Schema
from tailrace.types.spark import spark_type


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """`row`: Spark types of c0 …; `sums`: (name, Spark type) of the additive columns, `weight` first."""

    row: tuple[str, ...]
    sums: tuple[tuple[str, str], ...] = (("weight", "bigint"),)

    @staticmethod
    def of(schema: Schema, sums: Sequence[tuple[str, str]] = ()) -> Layout:
        return Layout(row=tuple(spark_type(c.type) for c in schema), sums=(("weight", "bigint"), *sums))

    @property
    def arity(self) -> int:
        return len(self.row)

    @property
    def sum_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.sums)

    @property
    def ddl(self) -> str:
        parts = ["h bigint", *(f"c{i} {type}" for i, type in enumerate(self.row))]
        return ", ".join([*parts, *(f"{name} {type}" for name, type in self.sums)])

    @property
    def columns(self) -> str:
        return ", ".join(["h", *(f"c{i}" for i in range(self.arity)), *self.sum_names])

    def consolidated(self, sql: str) -> str:
        """The same content with each row once and no row without sums, as Spark text.  Costs a shuffle."""
        row = columns(self.arity)
        group = f"h, {row}" if row else "h"
        sums = ", ".join(f"CAST(sum({name}) AS {type}) AS {name}" for name, type in self.sums)
        some = " OR ".join(f"sum({name}) <> 0" for name in self.sum_names)
        rows = as_entries(sql, self.row, ("h",), self.sum_names)
        added_up = f"SELECT {group}, {sums} FROM ({rows}) GROUP BY {group} HAVING {some}"
        return as_maps(added_up, self.row, ("h",), self.sum_names)


def key_hash(keys: Sequence[str]) -> str:
    """Spark text of the 64-bit hash of a key; the same for equal keys of equal types.  No key columns: one bucket."""
    return f"xxhash64({', '.join(keys)})" if keys else "CAST(0 AS bigint)"
