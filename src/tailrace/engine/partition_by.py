"""PARTITION BY of a sink: an expression over the row, as the number that decides a message's partition.

Whatever has no number below 2^64 (NULL, a negative one, an error) goes to partition 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.errors import NotSupported, SqlError, TypeMismatch
from tailrace.plan.bind import bind_scalar
from tailrace.plan.coercion import assign, can_cast
from tailrace.plan.expressions import Call, Expression, Ref
from tailrace.plan.functions.registry import by_id
from tailrace.plan.parse import parse_expression
from tailrace.plan.spark_expressions import Environment
from tailrace.plan.walk import children
from tailrace.sql.names import QueryText
from tailrace.types.core import UINT8, Schema

if TYPE_CHECKING:
    from tailrace.catalog.catalog import Catalog

_HALF, _WHOLE = 2**63, 2**64


def partition_by(text: QueryText, schema: Schema, allowed: frozenset[int], catalog: Catalog) -> str:
    """Spark text over c0 … and weight: a bigint with the bits of the number.

    `allowed`: the places of the columns that the expression may use.
    """
    position = text.start + 1
    tree = parse_expression(text.text, text.start)
    bound = bind_scalar(tree, schema, catalog, subqueries=False)
    for part in _parts(bound):
        if isinstance(part, Ref) and part.index not in allowed:
            name = schema[part.index].name
            raise SqlError(f'PARTITION BY expression cannot refer to non-key column "{name}"', position=position)
        if isinstance(part, Call) and by_id(part.function).volatile:
            name = part.function.partition("(")[0]
            raise NotSupported(f"PARTITION BY cannot call {name}, whose value changes", position=position)
    if not can_cast(bound.type, UINT8, "assignment"):
        raise TypeMismatch(f"PARTITION BY does not support casting from {bound.type} to uint8", position=position)
    number = Environment(columns=[f"c{i}" for i in range(len(schema))]).render(assign(bound, UINT8))
    signed = f"CAST(CASE WHEN p >= {_HALF} THEN p - {_WHOLE} ELSE coalesce(p, 0) END AS bigint)"
    # A condition that always holds: of what is not conditional Spark takes parts (the operand of BETWEEN) out into a
    # projection of their own, before there is anybody to try.
    attempt = f"tailrace_try(CAST(CASE WHEN weight <> 0 THEN {number} END AS decimal(38,0)))"
    # A list of one: the number is named three times, and must be tried as a whole.
    return f"element_at(transform(array({attempt}), p -> {signed}), 1)"


def _parts(expression: Expression) -> list[Expression]:
    return [expression, *(part for child in children(expression) for part in _parts(child))]
