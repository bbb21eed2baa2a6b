"""What is the same all through one statement: the catalog, the parameters, the CTEs in sight, the volatile
calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from typing import cast as cast_type

from tailrace.errors import SqlError
from tailrace.plan.coercion import FLOATS, cast
from tailrace.plan.expressions import Expression, Literal, Parameter, Ref
from tailrace.plan.names import Names
from tailrace.plan.nodes import Node
from tailrace.plan.scope import Scope
from tailrace.types.core import NUMERIC, TEXT, UNKNOWN, SqlType

if TYPE_CHECKING:
    from tailrace.plan.bind_contract import Binder


@dataclass(frozen=True, kw_only=True, slots=True)
class Pending:
    """Stands in an expression for a value of a later step: an aggregate, a window function, a set's element.

    Only the binder sees it; before a plan leaves, each has become a Ref.
    """

    kind: str
    number: int
    type: SqlType
    nullable: bool


def pending(kind: str, number: int, type: SqlType, nullable: bool) -> Expression:
    """A placeholder.  To everyone else it passes for an expression, until its step replaces it."""
    return cast_type(Expression, Pending(kind=kind, number=number, type=type, nullable=nullable))


def as_pending(value: object) -> Pending | None:
    return value if isinstance(value, Pending) else None


@dataclass(slots=True)
class Context:
    """`parameters` are the types of `$1`, `$2` …, None while nothing has decided one.

    `targets` are the types of the columns that the outermost query's result goes into, if it goes into some.
    `now_at` is the position of the first mz_now().  `arguments` are the parameters' values as text, once there are
    some; a plan that is made before only `describes` the query.
    """

    names: Names
    parameters: list[SqlType | None] = field(default_factory=list)
    volatile: dict[str, None] = field(default_factory=dict)
    targets: tuple[SqlType, ...] = ()
    now_at: int | None = None
    arguments: Sequence[str | None] = ()
    describes: bool = False

    def take_targets(self) -> tuple[SqlType, ...]:
        """The targets, once: they concern the outermost query and none inside it."""
        targets, self.targets = self.targets, ()
        return targets

    def aimed(
        self, expression: Expression, place: int, targets: tuple[SqlType, ...], position: int | None
    ) -> Expression:
        """A constant or parameter of unknown type as the type of the column that it goes into; so is 1e20, which is
        too large for a numeric of ours, as a float.  `position`: for the error, if the constant is none of that type.
        """
        if place >= len(targets):
            return expression
        is_number = isinstance(expression, Literal) and expression.type == NUMERIC and targets[place] in FLOATS
        if expression.type != UNKNOWN and not is_number:
            return expression
        try:
            return self.coerce(expression, targets[place])
        except SqlError as error:
            error.position = error.position or position
            raise

    def parameter(self, number: int) -> Parameter:
        while len(self.parameters) < number:
            self.parameters.append(None)
        return Parameter(number=number, type=self.parameters[number - 1] or UNKNOWN)

    def coerce(self, expression: Expression, type: SqlType) -> Expression:
        """The expression as `type`; a parameter without a type gets this one."""
        if isinstance(expression, Parameter) and expression.type == UNKNOWN:
            self.parameters[expression.number - 1] = type
        return cast(expression, type)

    def settled(self, expression: Expression) -> Expression:
        """The expression with a type: what nothing decided is text."""
        return self.coerce(expression, TEXT) if expression.type == UNKNOWN else expression

    def parameter_types(self) -> tuple[SqlType, ...]:
        return tuple(type or TEXT for type in self.parameters)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a query stands: its CTEs, and the clause around it, whose rows it sees."""

    ctes: Mapping[str, Node]
    around: Binder | None

    @property
    def outer(self) -> Scope | None:
        return None if self.around is None else self.around.scope


def refs(node: Node) -> tuple[Ref, ...]:
    """All columns of a node, in order."""
    return tuple(Ref(index=i, type=c.type, nullable=c.nullable) for i, c in enumerate(node.schema))
