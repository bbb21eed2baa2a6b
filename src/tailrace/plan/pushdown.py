"""Conditions as far down as they may go.

Below an outer join's far side nothing may be filtered that the join would have filled with NULLs; but a
condition that no NULL row passes makes the outer join an inner one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tailrace.plan.build import TRUE, conjunction, conjuncts, disjunction
from tailrace.plan.context import refs
from tailrace.plan.expressions import Call, Expression, JoinKind, OuterRef, Ref
from tailrace.plan.functions.operators import OR
from tailrace.plan.merge import composed, is_volatile
from tailrace.plan.nodes import (
    Aggregate,
    Distinct,
    Filter,
    FlatMap,
    Join,
    Node,
    Project,
    TopK,
    Union,
    Window,
)
from tailrace.plan.nullability import demanded
from tailrace.plan.outer import with_free_refs
from tailrace.plan.temporal import has_now
from tailrace.plan.walk import has_subquery, subexpressions, subquery, with_children, with_inputs


def pushed_down(node: Node) -> Node:
    """The plan with every condition one step or more further down."""
    node = _step(node)
    return with_inputs(node, pushed_down)


def _step(node: Node) -> Node:
    match node:
        case Filter(input=Join() as join, predicate=predicate):
            return _into_join(join, conjuncts(predicate))
        case Filter(input=Project() as project, predicate=predicate) if _may_pass(predicate, project):
            below = Filter(input=project.input, predicate=composed(predicate, project.expressions))
            return replace(project, input=below)
        case Filter(input=Union() as union, predicate=predicate):
            return Union(inputs=tuple(Filter(input=each, predicate=predicate) for each in union.inputs))
        case Filter(input=Distinct() as distinct, predicate=predicate):
            return Distinct(input=Filter(input=distinct.input, predicate=predicate))
        case Filter(input=Aggregate() as aggregate) if aggregate.group_by:
            grouped = [refs(aggregate.input)[i] for i in aggregate.group_by]
            return _split(node, set(range(len(grouped))), lambda e: composed(e, grouped))
        case Filter(input=FlatMap() as rows):
            return _split(node, set(range(len(rows.input.schema))), lambda e: e)
        case Filter(input=TopK() as rows) if rows.partition_by:
            return _split(node, set(rows.partition_by), lambda e: e)
        case Filter(input=Window() as rows):
            return _split(node, _partition(rows), lambda e: e)
        case Join():
            return _into_join(node, [])
        case _:
            return node


def factored(expression: Expression) -> list[Expression]:
    """`(a AND b) OR (a AND c)` as `a` and `b OR c`: an equality that stands in every branch is one to
    join by.
    """
    if not (isinstance(expression, Call) and expression.function == OR):
        return [expression]
    branches = [conjuncts(branch) for branch in expression.arguments for branch in _alternatives(branch)]
    common = [part for part in branches[0] if all(part in other for other in branches[1:])]
    if not common:
        return [expression]
    rest = [conjunction(part for part in branch if part not in common) for branch in branches]
    return common if TRUE in rest else [*common, disjunction(rest)]


def _alternatives(expression: Expression) -> list[Expression]:
    if isinstance(expression, Call) and expression.function == OR:
        return [part for argument in expression.arguments for part in _alternatives(argument)]
    return [expression]


def columns(expression: Expression) -> set[int]:
    """The columns of the row that an expression looks at, also from inside its subqueries."""
    found = {part.index for part in subexpressions(expression) if isinstance(part, Ref)}
    for part in subexpressions(expression):
        query = subquery(part)
        if query is not None:
            with_free_refs(query, lambda ref, level: _noted(ref, level, found))
    return found


def _noted(ref: OuterRef, level: int, found: set[int]) -> Expression:
    if ref.depth == level:
        found.add(ref.index)
    return ref


def _may_pass(predicate: Expression, project: Project) -> bool:
    if has_subquery(predicate):
        return all(isinstance(project.expressions[i], Ref) for i in columns(predicate))
    return not any(is_volatile(project.expressions[i]) for i in columns(predicate))


def _split(node: Filter, allowed: set[int], change: Callable[[Expression], Expression]) -> Node:
    """The parts of a filter that look at these columns only, below; the rest stays."""
    parts = conjuncts(node.predicate)
    down = [p for p in parts if columns(p) <= allowed and columns(p) and not has_subquery(p)]
    if not down:
        return node
    below = with_inputs(node.input, lambda rows: Filter(input=rows, predicate=change(conjunction(down))))
    rest = [p for p in parts if p not in down]
    return Filter(input=below, predicate=conjunction(rest)) if rest else below


def _partition(node: Window) -> set[int]:
    """The columns that every window function is partitioned by."""
    sets = [{p.index for p in call.partition_by if isinstance(p, Ref)} for call in node.calls]
    return set.intersection(*sets) if sets else set()


def _into_join(join: Join, above: Sequence[Expression]) -> Node:
    """The parts of a filter above a join, and of its own condition, to where they belong."""
    width = len(join.left.schema)
    join = replace(join, kind=_narrowed(join.kind, demanded(conjunction(above)), width))
    above = [part for each in above for part in factored(each)]
    own = [part for each in conjuncts(join.condition) for part in factored(each)]
    lefts: list[Expression] = []
    rights: list[Expression] = []
    kept: list[Expression] = []
    stay: list[Expression] = []
    for part in above:
        match _side(part, width), join.kind:
            case "left", ("inner" | "left" | "semi" | "anti"):
                lefts.append(part)
            case "right", ("inner" | "right"):
                rights.append(part)
            case _, "inner" if not has_subquery(part) and not has_now(part):
                kept.append(part)
            case _:
                stay.append(part)
    for part in own:
        match _side(part, width), join.kind:
            case "left", ("inner" | "right" | "semi"):
                lefts.append(part)
            case "right", ("inner" | "left" | "semi" | "anti"):
                rights.append(part)
            case _, "inner" if has_now(part):
                stay.append(part)
            case _:
                kept.append(part)
    node: Node = replace(
        join,
        left=_filtered(join.left, lefts),
        right=_filtered(join.right, [_moved(part, -width) for part in rights]),
        condition=conjunction(_unique(kept)),
    )
    return _filtered(node, stay)


def _narrowed(kind: JoinKind, needed: frozenset[int], width: int) -> JoinKind:
    """An outer join whose filled rows would not pass the filter above is no outer join."""
    left = any(i < width for i in needed)
    right = any(i >= width for i in needed)
    match kind:
        case "left" if right:
            return "inner"
        case "right" if left:
            return "inner"
        case "full" if left and right:
            return "inner"
        case "full" if left:
            return "left"
        case "full" if right:
            return "right"
        case _:
            return kind


def _side(part: Expression, width: int) -> str:
    if has_subquery(part) or is_volatile(part):
        return "both"
    used = columns(part)
    if not used:
        return "both"
    return "left" if max(used) < width else "right" if min(used) >= width else "both"


def _moved(expression: Expression, by: int) -> Expression:
    if isinstance(expression, Ref):
        return replace(expression, index=expression.index + by)
    return with_children(expression, lambda e: _moved(e, by))


def _filtered(node: Node, parts: Sequence[Expression]) -> Node:
    predicate = conjunction(parts)
    return node if predicate == TRUE else Filter(input=node, predicate=predicate)


def _unique(parts: Iterable[Expression]) -> list[Expression]:
    return list(dict.fromkeys(parts))
