"""What the parts of the expression binder know of each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from sqlglot import exp

from tailrace.errors import UnknownFunction
from tailrace.plan.context import Context, Place
from tailrace.plan.expressions import Expression, Order
from tailrace.plan.nodes import Node
from tailrace.plan.scope import Scope
from tailrace.types.core import SqlType

if TYPE_CHECKING:
    from tailrace.plan.bind_calls import Collected


class Binder(ABC):
    """Binds the expressions of one clause.

    `collected` takes the aggregates and window functions met; None where none may stand.
    """

    def __init__(self, context: Context, scope: Scope, place: Place, clause: str = "expression") -> None:
        self.context = context
        self.scope = scope
        self.place = place
        self.clause = clause
        self.collected: Collected | None = None

    @abstractmethod
    def bind(self, node: exp.Expr) -> Expression:
        """The bound expression; its type may be unknown.  Errors say where in the statement they are."""

    @abstractmethod
    def bind_typed(self, node: exp.Expr) -> Expression:
        """As `bind`, but never of unknown type."""

    @abstractmethod
    def bind_as(self, node: exp.Expr, type: SqlType, what: str) -> Expression:
        """An expression that must be of this type, e.g. the boolean of a WHERE."""

    @abstractmethod
    def unified(self, values: list[Expression], what: str) -> list[Expression]:
        """The values in their common type."""

    @abstractmethod
    def operation(self, symbol: str, operands: list[Expression]) -> Expression:
        """An operator applied.  Raises `operator does not exist: integer + text`."""

    @abstractmethod
    def no_operator(self, symbol: str, operands: list[Expression]) -> UnknownFunction: ...

    @abstractmethod
    def function(self, name: str, arguments: list[Expression]) -> Expression:
        """A function applied.  Raises `function f(integer) does not exist`."""

    @abstractmethod
    def order(self, node: exp.Ordered) -> Order: ...

    @abstractmethod
    def subquery(self, query: exp.Expr) -> Node:
        """A query inside this clause; the columns around it become OuterRefs."""

    @abstractmethod
    def matched(self, arguments: list[Expression], query: Node) -> tuple[list[Expression], Node]:
        """The arguments and the query's columns in common types."""
