"""Values that can be told to be equal: all but maps.

Spark has no hash of a map, and where it groups by one it takes a missing value for 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from tailrace.errors import NotSupported
from tailrace.plan.nodes import Aggregate, Distinct, Except, Intersect, Node, TopK
from tailrace.plan.walk import nodes, scans
from tailrace.types.core import MapOf, SqlType


def refuse_compared_maps(node: Node) -> None:
    """Raises if rows of the query are to be the same, or in one group, by a map.  The catalog's are compared by us."""
    relations = scans(node)
    if relations and all(relation.startswith("s") for relation in relations):
        return
    for type in (type for each in nodes(node) for type in _compared(each)):
        if isinstance(type, MapOf):
            raise NotSupported(
                f"comparing values of type {type} not yet supported",
                hint="Compare their text: cast them to text where they are grouped or made distinct.",
            )


def _compared(node: Node) -> Iterator[SqlType]:
    match node:
        case Aggregate(input=rows, group_by=groups, aggregates=calls):
            yield from (rows.schema[place].type for place in groups)
            yield from (argument.type for call in calls if call.distinct for argument in call.arguments)
        case Distinct() | Except() | Intersect():
            yield from (column.type for column in node.schema)
        case TopK(input=rows, partition_by=groups):
            yield from (rows.schema[place].type for place in groups)
        case _:
            pass
