"""The algebra of queries: a closed union of relational operators.  Every rule of Tailrace is about one of
these.

Nodes are frozen and compare by content, so two views that contain the same subplan share its state.  Columns
have places, not names; names are kept for people.  A relation is a bag: rows may repeat.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from tailrace.plan.expressions import AggregateCall, Expression, JoinKind, Order, WindowCall
from tailrace.types.core import Column, Schema

Key: TypeAlias = frozenset[int]
"""Places of columns that together identify a row.  The empty key: at most one row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scan:
    """A relation of the catalog: a table, a source or a materialized view (plain views are bound in
    place).
    """

    relation: str  # catalog id, e.g. "u7"
    schema: Schema
    keys: frozenset[Key] = frozenset()
    append_only: bool = False
    watermark: int | None = field(default=None, repr=False)  # the place of the column that says when a row happened


@dataclass(frozen=True, kw_only=True, slots=True)
class Values:
    """Constant rows."""

    rows: tuple[tuple[Expression, ...], ...]
    schema: Schema


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """Rows of `input` for which `predicate` is true: not false, and not NULL."""

    input: Node
    predicate: Expression

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """One row for each input row."""

    input: Node
    expressions: tuple[Expression, ...]
    names: tuple[str, ...]

    @property
    def schema(self) -> Schema:
        return tuple(Column(n, e.type, e.nullable) for n, e in zip(self.names, self.expressions, strict=True))


@dataclass(frozen=True, kw_only=True, slots=True)
class FlatMap:
    """Each input row beside each row that a set-returning function makes of it (LATERAL).

    With `outer`, a row for which the function makes nothing stays, with NULLs.
    """

    input: Node
    function: str
    arguments: tuple[Expression, ...]
    columns: Schema
    outer: bool = False

    @property
    def schema(self) -> Schema:
        return (*self.input.schema, *self.columns)


@dataclass(frozen=True, kw_only=True, slots=True)
class Join:
    """`condition` sees the left row's columns, then the right row's.  Semi and anti joins output the left row
    only.
    """

    left: Node
    right: Node
    kind: JoinKind
    condition: Expression

    @property
    def schema(self) -> Schema:
        left, right = self.left.schema, self.right.schema
        if self.kind in ("semi", "anti"):
            return left
        if self.kind in ("right", "full"):
            left = tuple(Column(c.name, c.type, True) for c in left)
        if self.kind in ("left", "full"):
            right = tuple(Column(c.name, c.type, True) for c in right)
        return (*left, *right)


@dataclass(frozen=True, kw_only=True, slots=True)
class Aggregate:
    """One row per group: the grouped columns (places in the input), then the aggregates.

    With no grouped columns there is exactly one row, also for an empty input.
    """

    input: Node
    group_by: tuple[int, ...]
    aggregates: tuple[AggregateCall, ...]
    names: tuple[str, ...]  # of the aggregates

    @property
    def schema(self) -> Schema:
        groups = tuple(self.input.schema[i] for i in self.group_by)
        return (
            *groups,
            *(Column(n, a.type, a.nullable) for n, a in zip(self.names, self.aggregates, strict=True)),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Distinct:
    input: Node

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True, kw_only=True, slots=True)
class Union:
    """UNION ALL: weights add up.  Inputs have the same types; names are the first input's."""

    inputs: tuple[Node, ...]

    @property
    def schema(self) -> Schema:
        first = self.inputs[0].schema
        return tuple(
            Column(c.name, c.type, any(node.schema[i].nullable for node in self.inputs))
            for i, c in enumerate(first)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Except:
    """EXCEPT [ALL]."""

    left: Node
    right: Node
    all: bool

    @property
    def schema(self) -> Schema:
        return self.left.schema


@dataclass(frozen=True, kw_only=True, slots=True)
class Intersect:
    """INTERSECT [ALL]."""

    left: Node
    right: Node
    all: bool

    @property
    def schema(self) -> Schema:
        return self.left.schema


@dataclass(frozen=True, kw_only=True, slots=True)
class TopK:
    """Per partition the rows after `offset`, `limit` of them, in `order_by`; ties are broken by all columns.

    DISTINCT ON is a limit of one; a query's own LIMIT has no partition columns.
    """

    input: Node
    partition_by: tuple[int, ...]
    order_by: tuple[Order, ...]
    limit: int | None
    offset: int = 0

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """The input row, then one column for each window function."""

    input: Node
    calls: tuple[WindowCall, ...]
    names: tuple[str, ...]

    @property
    def schema(self) -> Schema:
        calls = (Column(n, c.type, c.nullable) for n, c in zip(self.names, self.calls, strict=True))
        return (*self.input.schema, *calls)


@dataclass(frozen=True, kw_only=True, slots=True)
class Recursion:
    """WITH RECURSIVE: the rows of `seed`, and what `step` makes of them, and of what it made of those, until nothing
    comes of it.  Without `all` a row that is there already does not come again.
    """

    name: str
    seed: Node
    step: Node
    all: bool
    schema: Schema


@dataclass(frozen=True, kw_only=True, slots=True)
class Working:
    """Inside the step of the recursion of this name: the rows that the step before made."""

    name: str
    schema: Schema


Node: TypeAlias = (
    Scan
    | Values
    | Filter
    | Project
    | FlatMap
    | Join
    | Aggregate
    | Distinct
    | Union
    | Except
    | Intersect
    | TopK
    | Window
    | Recursion
    | Working
)


def inputs(node: Node) -> tuple[Node, ...]:
    """The nodes directly below, left to right.  Subqueries inside expressions are not among them."""
    match node:
        case Scan() | Values() | Working():
            return ()
        case Recursion():
            return (node.seed, node.step)
        case Join() | Except() | Intersect():
            return (node.left, node.right)
        case Union():
            return node.inputs
        case _:
            return (node.input,)
