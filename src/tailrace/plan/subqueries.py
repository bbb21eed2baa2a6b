"""Subqueries inside expressions, and the relations that a plan reads, however deep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from tailrace.plan.expressions import Exists, InSubquery, ScalarSubquery
from tailrace.plan.nodes import Node, Scan, inputs


def has_subqueries(node: Node) -> bool:
    """This node's own expressions contain one; nodes below do not count."""
    below = inputs(node)
    own = (getattr(node, f.name) for f in fields(node))
    return any(_contains(value) for value in own if not (isinstance(value, tuple) and value == below) and value not in below)


def scans(value: Any) -> Iterator[Scan]:
    """Every relation that a node or expression reads, subqueries included."""
    if isinstance(value, Scan):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from scans(each)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from scans(getattr(value, field.name))


def _contains(value: Any) -> bool:
    if isinstance(value, ScalarSubquery | Exists | InSubquery):
        return True
    if isinstance(value, tuple):
        return any(_contains(each) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        return any(_contains(getattr(value, f.name)) for f in fields(value))
    return False
