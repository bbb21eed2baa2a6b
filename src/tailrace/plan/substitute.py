"""The parameters of a prepared statement, replaced by constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tailrace.errors import SqlError
from tailrace.plan.coercion import typed_literal
from tailrace.plan.expressions import Expression, Literal, Parameter
from tailrace.plan.nodes import Node
from tailrace.plan.walk import with_children, with_expressions, with_inputs, with_subquery

T = TypeVar("T", bound=Node | Expression)


def substitute(plan: T, literals: Sequence[Literal | str | None]) -> T:
    """The plan or expression with `$n` replaced by the n-th of `literals`: constants, or PostgreSQL text
    forms.

    Raises DataError for a text that is no value of the parameter's type.
    """
    return _node(plan, literals) if hasattr(plan, "schema") else _expression(plan, literals)  # type: ignore[return-value,arg-type]


def _node(node: Node, literals: Sequence[Literal | str | None]) -> Node:
    rebuilt = with_inputs(node, lambda below: _node(below, literals))
    return with_expressions(rebuilt, lambda e: _expression(e, literals))


def _expression(expression: Expression, literals: Sequence[Literal | str | None]) -> Expression:
    if isinstance(expression, Parameter):
        return _value(expression, literals)
    expression = with_subquery(expression, lambda query: _node(query, literals))
    return with_children(expression, lambda e: _expression(e, literals))


def _value(parameter: Parameter, literals: Sequence[Literal | str | None]) -> Expression:
    if parameter.number > len(literals):
        raise SqlError(f"there is no parameter ${parameter.number}", sqlstate="42P02")
    given = literals[parameter.number - 1]
    if isinstance(given, Literal):
        return given if given.type == parameter.type else typed_literal(given.text, parameter.type)
    return typed_literal(given, parameter.type)
