"""Scalar expressions, bound and typed.  Columns are places in the input row, so no name can be ambiguous any
more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from typing import Literal as OneOf

from tailrace.types.core import BOOLEAN, SqlType

if TYPE_CHECKING:
    from tailrace.plan.nodes import Node


@dataclass(frozen=True, kw_only=True, slots=True)
class Ref:
    """Column `index` of the input row."""

    index: int
    type: SqlType
    nullable: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class OuterRef:
    """Column `index` of the row of the query `depth` levels outside this subquery (1: the nearest)."""

    depth: int
    index: int
    type: SqlType
    nullable: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Literal:
    """A constant.  `text` is its PostgreSQL text form, None for NULL: exact for every type, hashable,
    printable.
    """

    text: str | None
    type: SqlType

    @property
    def nullable(self) -> bool:
        return self.text is None


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """`$number` of a prepared statement, replaced by a Literal before it runs."""

    number: int
    type: SqlType
    nullable: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A function or operator, already resolved to one signature.  `function` names its entry in
    plan/functions.
    """

    function: str
    arguments: tuple[Expression, ...]
    type: SqlType
    nullable: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Cast:
    input: Expression
    type: SqlType

    @property
    def nullable(self) -> bool:
        return self.input.nullable


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """The first branch whose condition is true."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression
    type: SqlType

    @property
    def nullable(self) -> bool:
        return self.otherwise.nullable or any(value.nullable for _, value in self.branches)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScalarSubquery:
    """The only value of the only row of `query`; NULL if there is no row."""

    query: Node
    type: SqlType
    nullable: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Exists:
    query: Node
    type: SqlType = BOOLEAN
    nullable: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class InSubquery:
    """`(arguments) IN (query)` with SQL's three values."""

    arguments: tuple[Expression, ...]
    query: Node
    type: SqlType = BOOLEAN
    nullable: bool = True


Expression: TypeAlias = (
    Ref | OuterRef | Literal | Parameter | Call | Cast | Case | ScalarSubquery | Exists | InSubquery
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """One part of an ORDER BY."""

    by: Expression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class AggregateCall:
    """One aggregate of a group, e.g. `sum(DISTINCT x) FILTER (WHERE y)`."""

    function: str
    arguments: tuple[Expression, ...]
    type: SqlType
    nullable: bool
    distinct: bool = False
    filter: Expression | None = None
    order_by: tuple[Order, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowCall:
    """One window function.  `frame` is the Spark text of the frame clause, already checked, or None for the
    default.
    """

    function: str
    arguments: tuple[Expression, ...]
    partition_by: tuple[Expression, ...]
    order_by: tuple[Order, ...]
    frame: str | None
    type: SqlType
    nullable: bool


JoinKind: TypeAlias = OneOf["inner", "left", "right", "full", "semi", "anti"]
