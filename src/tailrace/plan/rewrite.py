"""Plans into equal plans that are better to run."""

from __future__ import annotations

from tailrace.plan.nodes import Node


def rewrite(node: Node) -> Node:
    return node
