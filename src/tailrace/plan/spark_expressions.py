"""Bound expressions as Spark SQL text.  Columns are given by text, so the result stands on its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from tailrace.errors import InternalError
from tailrace.plan.expressions import (
    Call,
    Case,
    Cast,
    Exists,
    Expression,
    InSubquery,
    Literal,
    Order,
    OuterRef,
    Parameter,
    Ref,
    ScalarSubquery,
)
from tailrace.plan.functions.entry import rendered
from tailrace.plan.functions.registry import by_id
from tailrace.plan.spark_casts import spark_cast
from tailrace.plan.spark_literals import spark_literal
from tailrace.types.core import ArrayOf, ListOf

if TYPE_CHECKING:
    from tailrace.plan.nodes import Node

RenderQuery = Callable[["Node", tuple[Sequence[str], ...]], str]
"""Renders a subquery, given the columns of the rows outside it, the nearest first."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """What the names in an expression stand for.

    `outer` are the rows of the enclosing queries, the nearest first; `known` are expressions that somebody
    has computed already (one parse of a JSON document), by the text that holds them.
    """

    columns: Sequence[str]
    outer: tuple[Sequence[str], ...] = ()
    known: Mapping[Expression, str] = field(default_factory=dict)
    query: RenderQuery | None = None

    def render(self, expression: Expression) -> str:
        if self.known and expression in self.known:
            return self.known[expression]
        match expression:
            case Ref(index=index):
                return self.columns[index]
            case OuterRef(depth=depth, index=index):
                return self.outer[depth - 1][index]
            case Literal():
                return spark_literal(expression)
            case Parameter(number=number):
                raise InternalError(f"parameter ${number} has not been replaced by a value")
            case Call():
                return rendered(by_id(expression.function).spark, expression, self.render)
            case Cast(input=inner, type=type):
                return spark_cast(self.render(inner), inner.type, type)
            case Case():
                return self._case(expression)
            case ScalarSubquery(query=query):
                return f"({self._subquery(query)})"
            case Exists(query=query):
                return f"EXISTS ({self._subquery(query)})"
            case InSubquery(arguments=arguments, query=query):
                left = ", ".join(map(self.render, arguments))
                return f"({left if len(arguments) == 1 else f'({left})'} IN ({self._subquery(query)}))"
            case _:
                assert_never(expression)

    def _case(self, case: Case) -> str:
        branches = " ".join(f"WHEN {self.render(c)} THEN {self.render(v)}" for c, v in case.branches)
        return f"CASE {branches} ELSE {self.render(case.otherwise)} END"

    def _subquery(self, query: Node) -> str:
        if self.query is None:
            raise InternalError("a subquery cannot be rendered outside a query")
        return self.query(query, (self.columns, *self.outer))

    def order(self, order: Order) -> str:
        direction = "DESC" if order.descending else "ASC"
        by = self.render(order.by)
        if isinstance(order.by.type, ArrayOf | ListOf):  # a NULL in it is larger than any value; to Spark it is smaller
            by = f"transform({by}, e -> struct(e IS NULL, e))"
        return f"{by} {direction} NULLS {'FIRST' if order.nulls_first else 'LAST'}"
