"""Several sets in one select list: side by side, the shorter ones filled up with NULL, as in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from tailrace.errors import NotSupported
from tailrace.plan.bind_calls import SetCall
from tailrace.plan.build import call
from tailrace.plan.context import refs
from tailrace.plan.expressions import Case, Expression, Literal, Ref
from tailrace.plan.functions.conditional import COALESCE
from tailrace.plan.nodes import FlatMap, Node, Project
from tailrace.types.core import BOOLEAN, INTEGER, Column

_UNNEST, _SUBSCRIPTS = "unnest(T[])", "generate_subscripts(T[], integer)"


def side_by_side(node: Node, sets: Sequence[SetCall]) -> Node:
    """The node's columns, then one for each set.  Sets of arrays only: their lengths are known beforehand."""
    if any(item.function not in (_UNNEST, _SUBSCRIPTS) for item in sets):
        raise NotSupported("several set-returning functions in one select list not yet supported")
    zero, one = (Literal(text=text, type=INTEGER) for text in ("0", "1"))
    lengths = [call(COALESCE, (_length(item), zero), INTEGER) for item in sets]
    longest = lengths[0] if len(lengths) == 1 else call("greatest", lengths, INTEGER)
    column = Column("place", INTEGER, nullable=False)
    places = FlatMap(
        input=node, function="generate_series(integer, integer)", arguments=(one, longest), columns=(column,)
    )
    place = Ref(index=len(node.schema), type=INTEGER, nullable=False)
    outputs = (*refs(node), *(_member(item, place) for item in sets))
    names = (*(column.name for column in node.schema), *(item.columns[0][0] for item in sets))
    return Project(input=places, expressions=outputs, names=names)


def _length(item: SetCall) -> Expression:
    return call("cardinality(T[])", item.arguments[:1], INTEGER)


def _member(item: SetCall, place: Ref) -> Expression:
    if item.function == _UNNEST:
        return call("[](T[], integer)", (item.arguments[0], place), item.columns[0][1])
    within = call("<=", (place, _length(item)), BOOLEAN)
    return Case(branches=((within, place),), otherwise=Literal(text=None, type=INTEGER), type=INTEGER)
