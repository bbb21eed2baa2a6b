"""Whether a relation only ever gains rows.  Then min, max and sinks without updates are cheap or even
possible.
"""

from __future__ import annotations

from typing import assert_never

from tailrace.plan.event_time import event_time
from tailrace.plan.nodes import (
    Aggregate,
    Distinct,
    Except,
    Filter,
    FlatMap,
    Intersect,
    Join,
    Node,
    Project,
    Recursion,
    Scan,
    TopK,
    Union,
    Values,
    Window,
    Working,
    inputs,
)
from tailrace.plan.temporal import is_temporal
from tailrace.plan.walk import has_own_subquery


def is_append_only(node: Node) -> bool:
    """True if no row of the result is ever taken back while its inputs only gain rows."""
    if has_own_subquery(node) or is_temporal(node):
        return False
    match node:
        case Scan(append_only=append_only):
            return append_only
        case Values():
            return True
        case Filter() | Project() | FlatMap() | Distinct() | Union():
            return all(map(is_append_only, inputs(node)))
        case Join(kind=kind):
            return kind in ("inner", "semi") and all(map(is_append_only, inputs(node)))
        case Intersect():
            return all(map(is_append_only, inputs(node)))
        case Aggregate(aggregates=calls, group_by=groups):
            final = (not calls and bool(groups)) or event_time(node) is not None
            return final and is_append_only(node.input)
        case Except() | TopK() | Window() | Recursion() | Working():
            return False
        case _:
            assert_never(node)
