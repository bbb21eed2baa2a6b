"""LATERAL and correlated subqueries as joins."""

from __future__ import annotations

from tailrace.errors import NotSupported
from tailrace.plan.expressions import Expression, JoinKind
from tailrace.plan.nodes import Join, Node
from tailrace.plan.outer import outer_refs


def lateral_join(left: Node, right: Node, kind: JoinKind, condition: Expression) -> Node:
    if any(True for _ in outer_refs(right)):
        raise NotSupported("LATERAL subqueries not yet supported")
    return Join(left=left, right=right, kind=kind, condition=condition)
