"""Whether reading a relation can fail: what lies above an operator's state is computed for its readers only.

What is in a trace has been computed: an error showed when the trace was brought to its tick.
"""

from __future__ import annotations

from tailrace.ivm.operator import Operator
from tailrace.ivm.rules.join import InnerJoin
from tailrace.ivm.rules.keyed import Keyed
from tailrace.ivm.rules.linear import Linear
from tailrace.plan.fallible import can_fail, node_can_fail
from tailrace.plan.nodes import Aggregate, Node

_CHOOSY = ("single", "jsonb_object_agg", "json_object_agg", "percentile_disc", "percentile_cont")
"""Aggregates that refuse some values."""


def can_fail_when_read(root: Operator) -> bool:
    """False only if every row of the relation is known to have a value in every column once `root` has advanced."""
    match root:
        case Linear() if root.can_fail:
            return True
        case InnerJoin():
            return can_fail(root.node.condition)
        case Keyed():
            return node_can_fail(root.pattern) or _has_choosy(root.pattern)
        case _ if root.traces():
            return False
        case _:
            return any(map(can_fail_when_read, root.below))


def _has_choosy(node: Node) -> bool:
    return isinstance(node, Aggregate) and any(c.function.partition("(")[0] in _CHOOSY for c in node.aggregates)
