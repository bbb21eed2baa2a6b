"""`jsonb @> constant`, unrolled into lookups: Spark has no such function."""

from __future__ import annotations

from tailrace.errors import NotSupported
from tailrace.plan.context import Context
from tailrace.plan.expressions import Expression


def contains(context: Context, whole: Expression, part: Expression) -> Expression:
    raise NotSupported("jsonb @> not yet supported")
