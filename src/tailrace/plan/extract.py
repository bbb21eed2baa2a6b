"""Looks into JSON documents, below joins: a join keeps the fields that somebody wants instead of whole
documents.

Only `->>` with constant keys moves: it fails for no row, and of the NULLs that an outer join fills in
it makes NULL, so it may be computed on either side of the join.
"""

from __future__ import annotations

from dataclasses import replace

from tailrace.plan.context import refs
from tailrace.plan.expressions import Call, Expression, Ref
from tailrace.plan.functions.json import FIELD_TEXT, chain
from tailrace.plan.nodes import Join, Node, Project
from tailrace.plan.walk import has_subquery, with_children, with_inputs


def extracted(node: Node) -> Node:
    """The plan with `->>` computed below the joins above which it is used."""
    if isinstance(node, Project) and isinstance(node.input, Join):
        node = _below_join(node, node.input)
    return with_inputs(node, extracted)


def _below_join(project: Project, join: Join) -> Node:
    width = len(join.left.schema)
    lefts: list[Expression] = []
    rights: list[Expression] = []
    everything = (*project.expressions, join.condition)
    if any(map(has_subquery, everything)):
        return project
    for expression in everything:
        _collect(expression, width, lefts, rights)
    if not lefts and not rights:
        return project
    shift = len(lefts)
    places = {e: width + i for i, e in enumerate(lefts)}
    places |= {e: len(join.left.schema) + shift + len(join.right.schema) + i for i, e in enumerate(rights)}

    def change(expression: Expression) -> Expression:
        if expression in places:
            return Ref(index=places[expression], type=expression.type, nullable=expression.nullable)
        if isinstance(expression, Ref) and expression.index >= width:
            return replace(expression, index=expression.index + shift)
        return with_children(expression, change)

    moved = [_moved(e, -width) for e in rights]
    wider = replace(
        join,
        left=_with_columns(join.left, lefts),
        right=_with_columns(join.right, moved),
        condition=change(join.condition),
    )
    return replace(project, input=wider, expressions=tuple(map(change, project.expressions)))


def _collect(expression: Expression, width: int, lefts: list[Expression], rights: list[Expression]) -> None:
    if isinstance(expression, Call) and expression.function == FIELD_TEXT:
        found = chain(expression)
        if found is not None and isinstance(found[0], Ref):
            side = lefts if found[0].index < width else rights
            if expression not in side:
                side.append(expression)
            return
    with_children(expression, lambda e: _noted(e, width, lefts, rights))


def _noted(
    expression: Expression, width: int, lefts: list[Expression], rights: list[Expression]
) -> Expression:
    _collect(expression, width, lefts, rights)
    return expression


def _moved(expression: Expression, by: int) -> Expression:
    if isinstance(expression, Ref):
        return replace(expression, index=expression.index + by)
    return with_children(expression, lambda e: _moved(e, by))


def _with_columns(node: Node, added: list[Expression]) -> Node:
    if not added:
        return node
    names = (*(c.name for c in node.schema), *(f"field{i + 1}" for i in range(len(added))))
    return Project(input=node, expressions=(*refs(node), *added), names=names)
