"""What the local evaluator works on, and how it says that a plan is not for it.

Values are those of plan/values.py.  Whatever it does not know exactly it refuses, and Spark answers instead: there is
no function here with a meaning of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from tailrace.plan.nodes import Scan

Row: TypeAlias = tuple[Any, ...]
Rows: TypeAlias = list[Row]
Outer: TypeAlias = tuple[Row, ...]
"""The rows of the enclosing queries, the nearest first."""

Evaluate: TypeAlias = Callable[[Row, Outer], Any]
Leaf: TypeAlias = Callable[[Scan], Iterable[Row]]
Functions: TypeAlias = Mapping[str, Callable[..., Any]]
"""By the id of their entry in plan/functions; called with NULLs too."""


class NotLocal(Exception):
    """The plan needs Spark; the text says for what."""
