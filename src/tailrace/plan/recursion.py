"""The rows of a recursion, step by step:  R₀ = seed,  Rᵢ₊₁ = step(Rᵢ) [∖ R₀ ∪ … ∪ Rᵢ],  until Rᵢ = ∅;  R = Σ Rᵢ."""

from __future__ import annotations

from collections.abc import Callable

from tailrace.errors import DataError
from tailrace.plan.nodes import Node, Recursion
from tailrace.types.core import Schema

MOST_STEPS = 1_000
_SIDE_BY_SIDE = 20  # results of steps; more are put together, or the text would grow with every step

Keep = Callable[[str, Schema], str | None]
"""Runs one Spark job: the rows of a text (c0 …) are kept for as long as somebody may read them; a text that reads them,
or None if there are none."""


def endless(name: str, bound: str) -> DataError:
    return DataError(
        f'recursive query "{name}" did not come to an end within {bound}',
        detail="The step still makes new rows.",
        hint="Bound the step by a condition, or use UNION instead of UNION ALL if the rows repeat.",
        sqlstate="54001",
    )


def fixpoint(node: Recursion, query: Callable[[Node, str | None], str], keep: Keep) -> str:
    """Text of the recursion's rows.  Runs a job a step.  `query`: a plan's text, given that of the working rows."""
    names = ", ".join(f"c{i}" for i in range(len(node.schema)))
    found: list[str] = []
    text = query(node.seed, None)
    for _ in range(MOST_STEPS):
        if not node.all:
            known = f" EXCEPT ({' UNION ALL '.join(found)})" if found else ""
            text = f"SELECT DISTINCT {names} FROM (({text}){known})"
        made = keep(text, node.schema)
        if made is None:
            return " UNION ALL ".join(found) if found else f"SELECT * FROM ({query(node.seed, None)}) WHERE false"
        found.append(made)
        if len(found) == _SIDE_BY_SIDE:
            together = keep(" UNION ALL ".join(found), node.schema)
            assert together is not None
            found = [together]
        text = query(node.step, made)
    raise endless(node.name, f"{MOST_STEPS:,} steps")
