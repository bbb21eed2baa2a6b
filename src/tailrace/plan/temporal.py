"""mz_now(): the time of the tick, in conditions that say when a row is there.

    WHERE mz_now() >= starts_at AND mz_now() < starts_at + INTERVAL '1 hour'

In a query that is asked once it may stand anywhere: it is the time the query is asked at.  In one that is kept up to
date it may only bound the time in which a row is there; such a condition says of each row from which tick on it holds
and from which on no more, so that time can be followed without looking at every row again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tailrace.errors import NotSupported
from tailrace.plan.build import conjuncts
from tailrace.plan.expressions import Call, Expression, Literal
from tailrace.plan.functions.operators import EQUALS, NOT
from tailrace.plan.functions.times import MZ_NOW
from tailrace.plan.nodes import Filter, Node, Recursion
from tailrace.plan.walk import (
    expressions,
    has_own_subquery,
    nodes,
    subexpressions,
    with_children,
    with_expressions,
    with_inputs,
    with_subquery,
)
from tailrace.types.core import MZ_TIMESTAMP, Tick

_MIRRORED = {EQUALS: EQUALS, "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(slots=True)
class Bounds:
    """What a filter says of each row: `plain` conditions, and the time in which it is there.

    (e, 0) in `begins`: from tick e on; (e, 1): from the one after e.  (e, 0) in `ends`: no longer at e; (e, 1): still
    at e.  If any e is NULL the row is never there.
    """

    plain: list[Expression] = field(default_factory=list)
    begins: list[tuple[Expression, int]] = field(default_factory=list)
    ends: list[tuple[Expression, int]] = field(default_factory=list)


def has_now(expression: Expression) -> bool:
    return any(_is_now(part) for part in subexpressions(expression))


def is_temporal(node: Node) -> bool:
    """The node's own expressions ask for the time."""
    return any(map(has_now, expressions(node)))


def bounds(predicate: Expression) -> Bounds | None:
    """The filter's condition taken apart; None if it asks for the time in a way that bounds nothing."""
    found = Bounds()
    for part in conjuncts(predicate):
        if not has_now(part):
            found.plain.append(part)
            continue
        comparison = _comparison(part)
        if comparison is None:
            return None
        symbol, limit = comparison
        if symbol in (EQUALS, ">", ">="):
            found.begins.append((limit, int(symbol == ">")))
        if symbol in (EQUALS, "<", "<="):
            found.ends.append((limit, int(symbol != "<")))
    return found


def _comparison(part: Expression) -> tuple[str, Expression] | None:
    """`mz_now() ≤ limit` as ("<=", limit), whichever side mz_now() stands on."""
    if not isinstance(part, Call):
        return None
    if part.function == NOT:
        inner = _comparison(part.arguments[0])
        return (_NEGATED[inner[0]], inner[1]) if inner is not None and inner[0] in _NEGATED else None
    if part.function not in _MIRRORED:
        return None
    left, right = part.arguments
    if _is_now(left) and not has_now(right):
        return part.function, right
    if _is_now(right) and not has_now(left):
        return _MIRRORED[part.function], left
    return None


def _is_now(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function == MZ_NOW


def at(node: Node, t: Tick) -> Node:
    """The plan as it is at one tick: mz_now() is a constant."""
    now = Literal(text=str(t), type=MZ_TIMESTAMP)

    def change(expression: Expression) -> Expression:
        if _is_now(expression):
            return now
        return with_children(with_subquery(expression, inside), change)

    def inside(below: Node) -> Node:
        return with_expressions(with_inputs(below, inside), change)

    return inside(node) if any(map(is_temporal, nodes(node))) else node


def refuse_untimely(node: Node, position: int | None) -> None:
    """Raises unless the plan can be kept up to date as time passes.  `position`: of the first mz_now() in the text."""
    every = list(nodes(node))
    temporal = [each for each in every if is_temporal(each)]
    if temporal and any(map(has_own_subquery, every)):
        raise NotSupported("mz_now() beside such a subquery not yet supported", position=position)
    for recursion in (each for each in every if isinstance(each, Recursion)):
        if any(map(is_temporal, nodes(recursion))):
            raise NotSupported("mz_now() in a recursive query not yet supported", position=position)
    for each in temporal:
        if not isinstance(each, Filter) or bounds(each.predicate) is None:
            raise NotSupported(
                "mz_now() may only be compared, in WHERE or HAVING, in a query that is kept up to date",
                detail="Each condition with it must be one comparison (=, <, <=, >, >= or BETWEEN) of mz_now() itself"
                " with an expression over the row, and stand beside the others with AND.",
                hint="Write mz_now() <= ts + INTERVAL '1 hour', not mz_now() - ts <= …; and instead of OR a UNION.",
                position=position,
            )


def refuse_in_writes(node: Node) -> None:
    """Raises if a statement that changes a table asks for mz_now(): the tick that it makes has no time yet."""
    if any(map(is_temporal, nodes(node))):
        raise NotSupported("calls to mz_now in write statements are not supported", hint="Use now().")
