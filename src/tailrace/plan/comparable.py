"""Values that can be told to be equal, or put in an order: all but maps, and what holds one.

Spark has no hash of a map and no order, and where it groups by one it takes a missing value for 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tailrace.errors import NotSupported
from tailrace.plan.expressions import Expression, Order
from tailrace.plan.nodes import Aggregate, Distinct, Except, Intersect, Node, Recursion, TopK, Window
from tailrace.plan.walk import nodes, scans
from tailrace.types.core import ArrayOf, ListOf, MapOf, Record, SqlType


def is_comparable(type: SqlType) -> bool:
    match type:
        case MapOf():
            return False
        case ListOf(element=element) | ArrayOf(element=element):
            return is_comparable(element)
        case Record(fields=fields):
            return all(is_comparable(field.type) for field in fields)
        case _:
            return True


def refuse_compared_maps(node: Node, order_by: Iterable[Order]) -> None:
    """Raises if rows of the query are to be the same, or in one group, or in an order, by a map.

    Rows of the catalog are compared by us.
    """
    relations = scans(node)
    if relations and all(relation.startswith("s") for relation in relations):
        return
    compared = [type for each in nodes(node) for type in _compared(each)]
    for type in (*compared, *_of(order_by)):
        if not is_comparable(type):
            raise NotSupported(
                f"comparing values of type {type} not yet supported",
                hint="Compare their text: cast them to text where they are grouped, ordered or made distinct.",
            )


def _compared(node: Node) -> Iterator[SqlType]:
    match node:
        case Aggregate(input=rows, group_by=groups, aggregates=calls):
            yield from (rows.schema[place].type for place in groups)
            for call in calls:
                yield from _of((*call.arguments, *call.order_by) if call.distinct else call.order_by)
        case Distinct() | Except() | Intersect() | Recursion(all=False):
            yield from (column.type for column in node.schema)
        case TopK(input=rows, partition_by=groups, order_by=order):
            yield from (rows.schema[place].type for place in groups)
            yield from _of(order)
        case Window(calls=windows):
            for window in windows:
                yield from _of((*window.partition_by, *window.order_by))
        case _:
            pass


def _of(parts: Iterable[Expression | Order]) -> Iterator[SqlType]:
    for part in parts:
        yield part.by.type if isinstance(part, Order) else part.type
