"""Which rule keeps which node up to date.  The first that covers it, from cheap to general."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tailrace.ivm.operator import Operator, open_trace
from tailrace.ivm.rules import aggregate, distinct_aggregate, event_time, linear, temporal, top_k
from tailrace.ivm.rules.arrange import Arranged
from tailrace.ivm.rules.join import InnerJoin
from tailrace.ivm.rules.keyed import Keyed
from tailrace.ivm.rules.recompute import Recompute
from tailrace.plan.append_only import is_append_only
from tailrace.plan.equalities import equalities
from tailrace.plan.event_time import event_time as windows_of
from tailrace.plan.expressions import Expression, Ref
from tailrace.plan.nodes import (
    Aggregate,
    Distinct,
    Except,
    Filter,
    Intersect,
    Join,
    Node,
    Recursion,
    Scan,
    TopK,
    Window,
    inputs,
)
from tailrace.plan.temporal import is_temporal
from tailrace.plan.walk import has_own_subquery, nodes
from tailrace.state.layout import Layout
from tailrace.state.store import Store

Build = Callable[[Node], Operator]
Arrange = Callable[[Node, tuple[Expression, ...]], Arranged]


def choose(node: Node, store: Store, build: Build, arrange: Arrange) -> Operator:
    """The operator of `node`; `build` and `arrange` give those of the nodes below, shared where they exist."""
    if has_own_subquery(node):
        return _recompute(node, store, build)
    if linear.is_linear(node):
        return linear.build(node, build)
    match node:
        case Filter() if temporal.covers(node):
            return temporal.build(store, node, build)
        case _ if is_temporal(node):
            return _recompute(node, store, build)
        case Join(kind="inner"):
            return _inner_join(node, arrange)
        case Join():
            return _keyed(node, "recompute the touched keys of both sides", arrange, _join_keys(node))
        case Distinct():
            grouped = Aggregate(
                input=node.input, group_by=tuple(range(len(node.schema))), aggregates=(), names=()
            )
            return aggregate.build(store, grouped, build(node.input))
        case Aggregate():
            return _aggregate(node, store, build, arrange)
        case TopK():
            if node.limit is not None and node.offset == 0 and is_append_only(node.input):
                return top_k.build(store, node, build(node.input))
            return _keyed(node, "recompute the touched partitions", arrange, (_places(node.input, node.partition_by),))
        case Window():
            return _keyed(node, "recompute the touched partitions", arrange, (_common_partition(node),))
        case Recursion():
            return _recompute(node, store, build, rule="recompute to a fixpoint")
        case Except() | Intersect():
            sides = tuple(_places(side, tuple(range(len(side.schema)))) for side in (node.left, node.right))
            return _keyed(node, "recompute the touched rows", arrange, sides)
        case _:
            return _recompute(node, store, build)


def _inner_join(node: Join, arrange: Arrange) -> Operator:
    left, right = _join_keys(node)
    return InnerJoin(node=node, left=arrange(node.left, left), right=arrange(node.right, right))


def _aggregate(node: Aggregate, store: Store, build: Build, arrange: Arrange) -> Operator:
    windows = windows_of(node)
    if windows is not None and is_append_only(node):
        return event_time.build(store, node, windows, build)
    if all(aggregate.as_sums(call) is not None for call in node.aggregates):
        if not any(call.distinct for call in node.aggregates):
            return aggregate.build(store, node, build(node.input))
        if distinct_aggregate.covers(node):
            return distinct_aggregate.build(store, node, build(node.input))
    return _keyed(node, "recompute the touched groups", arrange, (_places(node.input, node.group_by),))


def _keyed(node: Node, rule: str, arrange: Arrange, keys: tuple[tuple[Expression, ...], ...]) -> Operator:
    below = tuple(arrange(each, key) for each, key in zip(inputs(node), keys, strict=True))
    stand_ins = [Scan(relation=str(i), schema=side.node.schema) for i, side in enumerate(below)]
    if isinstance(node, Join | Except | Intersect):
        pattern: Node = replace(node, left=stand_ins[0], right=stand_ins[1])
    else:
        pattern = replace(node, input=stand_ins[0])  # type: ignore[arg-type]
    return Keyed(node=node, rule=rule, pattern=pattern, below=below)


def _recompute(node: Node, store: Store, build: Build, rule: str = "recompute everything") -> Operator:
    found = {scan.relation: scan for scan in nodes(node) if isinstance(scan, Scan)}
    below = {relation: build(scan) for relation, scan in found.items()}
    trace = open_trace(store, f"{node!r} recomputed", Layout.of(node.schema))
    return Recompute(node=node, inputs=below, store=store, trace=trace, rule=rule)


def _join_keys(node: Join) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
    pairs = equalities(node)
    return tuple(left for left, _ in pairs), tuple(right for _, right in pairs)


def _places(node: Node, places: tuple[int, ...]) -> tuple[Expression, ...]:
    return tuple(Ref(index=i, type=node.schema[i].type, nullable=node.schema[i].nullable) for i in places)


def _common_partition(node: Window) -> tuple[Expression, ...]:
    """What every window function of the node partitions by."""
    first, *others = (call.partition_by for call in node.calls)
    return tuple(part for part in first if all(part in other for other in others))
