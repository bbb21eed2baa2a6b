"""What can fail on some row must be known: it may only see rows that are there."""

from __future__ import annotations

import pytest

from tailrace.plan.bind import bind_scalar
from tailrace.plan.fallible import can_fail
from tailrace.plan.names import FixedNames
from tailrace.types.core import BIGINT, INTEGER, TEXT, Column

COLUMNS = (Column("i", INTEGER), Column("b", BIGINT), Column("s", TEXT))


@pytest.mark.parametrize(
    "expression",
    [
        *("i", "NULL", "7", "i = 3", "i < b", "i IS NULL", "NOT (i > 1 AND s = 'a') OR b IN (1, 2)", "coalesce(i, 0)"),
        *("upper(s) || 'x'", "i IS DISTINCT FROM 2", "CASE WHEN i > 1 THEN s ELSE 'a' END", "i::bigint", "i::text"),
    ],
)
def test_this_gives_a_value_for_every_row(expression: str) -> None:
    assert not can_fail(bind_scalar(expression, COLUMNS, FixedNames()))


@pytest.mark.parametrize(
    "expression",
    ["1 / i", "i + 1", "s::int", "b::int", "s::jsonb", "1 / i > 0 AND s = 'a'", "CASE WHEN i > 0 THEN 1 / i END"],
)
def test_this_may_fail(expression: str) -> None:
    assert can_fail(bind_scalar(expression, COLUMNS, FixedNames()))
