"""Z-sets: rows with integer weights, as Spark SQL text over named views.  The change of a relation is one.

A Z-set is only a description: columns `c0 … c{n-1}` and `weight` (bigint, never NULL).  Composing text is free and
needs no Spark; one query is analysed when somebody materializes it, however many rules took part.  An empty Z-set is
known to be empty, so that terms nobody changed vanish from the plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tailrace.ivm.maps import as_entries, as_maps
from tailrace.types.core import Schema
from tailrace.types.spark import spark_type

_ANY_NUMBER = 10_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """The same rows with one more column, `place` (int): the part of a log that a row comes from.

    A row's place never changes, and the rows of one place are read by one Spark task.  `rows`: of each place, at most.
    """

    sql: str
    rows: Mapping[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class ZSet:
    """`sql` is a query, or None if there are no rows.

    `rows` is an upper guess of its size, for choosing between the driver and the executors; nothing depends on it
    but speed.  `positive` says that every weight is known to be above zero.  `is_settled`: no row is here only to be
    cancelled by another; each was in the relation before, or is in it after.  `placed`: the same, if it is known where
    each row comes from.
    """

    arity: int
    sql: str | None
    rows: int = 0
    positive: bool = False
    is_settled: bool = False
    placed: Placed | None = None

    @staticmethod
    def empty(arity: int) -> ZSet:
        return ZSet(arity=arity, sql=None, positive=True)

    @property
    def is_empty(self) -> bool:
        """Known to be empty.  A Z-set that says False may still turn out to have no rows."""
        return self.sql is None

    def many(self) -> ZSet:
        """The same, whose guess proved to be far too low: any number of rows."""
        return replace(self, rows=_ANY_NUMBER)

    def plus(self, *others: ZSet) -> ZSet:
        """The sum: UNION ALL."""
        terms = [term for term in (self, *others) if term.sql is not None]
        if len(terms) <= 1:
            return terms[0] if terms else self
        sql = " UNION ALL ".join(f"({term.sql})" for term in terms)
        return ZSet(
            arity=self.arity,
            sql=f"SELECT * FROM ({sql})",
            rows=sum(term.rows for term in terms),
            positive=all(term.positive for term in terms),
        )

    def negated(self) -> ZSet:
        if self.sql is None:
            return self
        sql = f"SELECT {leading(self.arity)}-weight AS weight FROM ({self.sql})"
        return replace(self, sql=sql, positive=False, placed=None)

    def mapped(self, expressions: Sequence[str], where: str | None = None) -> ZSet:
        """Each row replaced by `expressions` (Spark text over c0 …), where `where` is true."""
        if self.sql is None:
            return ZSet.empty(len(expressions))
        outputs = "".join(f"{text} AS c{i}, " for i, text in enumerate(expressions))
        condition = f" WHERE {where}" if where else ""
        return ZSet(
            arity=len(expressions),
            sql=f"SELECT {outputs}weight FROM ({self.sql}){condition}",
            rows=self.rows,
            positive=self.positive,
            is_settled=self.is_settled,
        )

    def settled(self, schema: Schema) -> ZSet:
        """The same change without rows that cancel: the only one to show to an expression that can fail."""
        return self if self.positive or self.is_settled else self.consolidated(schema)

    def consolidated(self, schema: Schema) -> ZSet:
        """One row per distinct value, weights summed, zeros gone.  Costs a shuffle; runs no job by itself.

        `schema`: of the relation whose change this is.
        """
        if self.sql is None:
            return self
        if self.arity == 0:
            total = f"SELECT sum(weight) AS weight FROM ({self.sql}) HAVING sum(weight) <> 0"
            return replace(self, sql=total, is_settled=True, placed=None)
        names, row = columns(self.arity), [spark_type(column.type) for column in schema]
        rows = as_entries(self.sql, row, (), ("weight",))
        sums = f"SELECT {names}, sum(weight) AS weight FROM ({rows}) GROUP BY {names}"
        sql = as_maps(sums if self.positive else sums + " HAVING sum(weight) <> 0", row, (), ("weight",))
        return replace(self, sql=sql, is_settled=True, placed=None)


def columns(arity: int, prefix: str = "c") -> str:
    """`c0, c1, …`"""
    return ", ".join(f"{prefix}{i}" for i in range(arity))


def leading(arity: int, prefix: str = "c") -> str:
    """`c0, c1, …, `: the columns before another one; nothing for a relation without columns."""
    return "".join(f"{prefix}{i}, " for i in range(arity))
