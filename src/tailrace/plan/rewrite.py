"""Plans into equal plans that are better to run and to maintain.

1. Subqueries and LATERAL become joins (decorrelate.py).
2. Stacks of projections and filters become one of each, so that a JSON document is parsed once through any
   number of plain views (merge.py).
3. Conditions move down: `FROM a, b WHERE a.x = b.x` becomes a join on an equality, which is what the
   incremental join is keyed by; what concerns one side filters that side (pushdown.py, joins.py).
4. Fields of JSON documents are taken out below joins (extract.py).
5. Columns that nobody looks at go away below joins and aggregates, where they would be state (prune.py).
"""

from __future__ import annotations

from dataclasses import replace

from tailrace.plan.context import refs
from tailrace.plan.decorrelate import decorrelated
from tailrace.plan.extract import extracted
from tailrace.plan.joins import ordered_joins
from tailrace.plan.merge import merged
from tailrace.plan.nodes import Node, Project
from tailrace.plan.prune import pruned
from tailrace.plan.pushdown import pushed_down

_ROUNDS = 10  # each round of pushing and merging opens at most the next level; plans are not deeper than this


def rewrite(node: Node) -> Node:
    """The plan with the same rows and the same column names, rewritten."""
    names = tuple(column.name for column in node.schema)
    node = decorrelated(node)
    node = _settled(node)
    node = ordered_joins(node)
    node = _settled(node)
    node = merged(pruned(extracted(node)))
    return _named(node, names)


def _settled(node: Node) -> Node:
    for _ in range(_ROUNDS):
        changed = merged(pushed_down(node))
        if changed == node:
            break
        node = changed
    return node


def _named(node: Node, names: tuple[str, ...]) -> Node:
    if tuple(column.name for column in node.schema) == names:
        return node
    if isinstance(node, Project):
        return replace(node, names=names)
    return Project(input=node, expressions=refs(node), names=names)
