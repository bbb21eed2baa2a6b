"""Queries that take about as long as reading their rows: if those are few, nobody need be able to cancel them."""

from __future__ import annotations

from tailrace.plan.nodes import Aggregate, Distinct, Filter, Node, Project, Scan, TopK, Union, Values, inputs
from tailrace.plan.walk import has_own_subquery

_BRIEF = Scan | Values | Filter | Project | Aggregate | Distinct | Union | TopK


def is_brief(node: Node) -> bool:
    """A join may make many rows of few, and a function too."""
    return isinstance(node, _BRIEF) and not has_own_subquery(node) and all(map(is_brief, inputs(node)))
