"""Projection over projection is one projection; filter over filter one filter; filter over projection goes
below it.

An expression is copied into several places only if it is cheap, or if one shared parse computes it anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tailrace.plan.build import TRUE, conjunction
from tailrace.plan.context import refs
from tailrace.plan.expressions import Call, Cast, Expression, Literal, OuterRef, Parameter, Ref
from tailrace.plan.functions.json import CANONICAL, FIELD, FIELD_TEXT
from tailrace.plan.functions.registry import by_id
from tailrace.plan.nodes import Aggregate, Distinct, Filter, Join, Node, Project, Union, Values
from tailrace.plan.outer import with_free_refs
from tailrace.plan.walk import has_subquery, subexpressions, with_children, with_inputs, with_subquery


def merged(node: Node) -> Node:
    """The plan with stacks of projections and filters merged, from the bottom up."""
    node = with_inputs(node, merged)
    while True:
        simpler = _step(node)
        if simpler is None:
            return node
        node = simpler


def _step(node: Node) -> Node | None:
    match node:
        case Filter(input=rows, predicate=predicate) if predicate == TRUE:
            return rows
        case Filter(input=Filter(input=rows, predicate=inner), predicate=outer):
            return Filter(input=rows, predicate=conjunction((inner, outer)))
        case Project(input=Project() as inner) if _may_merge(node.expressions, inner):
            outputs = tuple(composed(e, inner.expressions) for e in node.expressions)
            return Project(input=inner.input, expressions=outputs, names=node.names)
        case Project(input=rows) if node.expressions == refs(rows) and _same_names(node, rows):
            return rows
        case Join(left=Values(rows=((),)), right=right, kind=kind, condition=condition) if (
            condition == TRUE and (kind == "inner" or (kind == "left" and _has_one_row(right)))
        ):
            return right
        case Join(left=left, right=Values(rows=((),)), kind="inner", condition=condition) if (
            condition == TRUE
        ):
            return left
        case Distinct(input=Distinct() as inner):
            return inner
        case Union(inputs=inputs) if any(isinstance(each, Union) for each in inputs):
            flat = (part for each in inputs for part in (each.inputs if isinstance(each, Union) else (each,)))
            return Union(inputs=tuple(flat))
        case _:
            return None


def _has_one_row(node: Node) -> bool:
    """Exactly one, always."""
    while isinstance(node, Project):
        node = node.input
    return isinstance(node, Aggregate) and not node.group_by


def _same_names(project: Project, rows: Node) -> bool:
    return project.names == tuple(c.name for c in rows.schema)


def _may_merge(outer: Sequence[Expression], inner: Project) -> bool:
    uses = Counter(ref.index for e in outer for ref in subexpressions(e) if isinstance(ref, Ref))
    if any(has_subquery(e) for e in outer):
        return all(isinstance(e, Ref) for e in inner.expressions)
    return all(
        is_cheap(e) or (uses[i] <= 1 and not is_volatile(e))
        for i, e in enumerate(inner.expressions)
        if uses[i]
    )


def is_cheap(expression: Expression) -> bool:
    """May it be computed in several places?"""
    match expression:
        case Ref() | OuterRef() | Literal() | Parameter():
            return True
        case Cast(input=inner):
            return is_cheap(inner)
        case Call(function=function, arguments=arguments):
            return function in (FIELD_TEXT, FIELD, CANONICAL) and all(map(is_cheap, arguments))
        case _:
            return False


def is_volatile(expression: Expression) -> bool:
    return any(
        isinstance(part, Call) and by_id(part.function).volatile for part in subexpressions(expression)
    )


def composed(expression: Expression, row: Sequence[Expression]) -> Expression:
    """The expression over a row of expressions, over the columns that those are over."""
    if isinstance(expression, Ref):
        return row[expression.index]

    def outward(ref: OuterRef, level: int) -> Expression:
        if ref.depth != level:
            return ref
        inner = row[ref.index]
        assert isinstance(inner, Ref)
        return OuterRef(depth=level, index=inner.index, type=inner.type, nullable=inner.nullable)

    expression = with_subquery(expression, lambda query: with_free_refs(query, outward))
    changed = with_children(expression, lambda e: composed(e, row))
    return _simplified(changed)


def _simplified(expression: Expression) -> Expression:
    """A look into a canonical document finds what it finds in the document itself."""
    match expression:
        case Call(function=function, arguments=(Call(function=inner, arguments=(document,)), key)) if (
            inner == CANONICAL
            and function in (FIELD_TEXT, FIELD, "->>(jsonb, integer)", "->(jsonb, integer)")
        ):
            return replace(expression, arguments=(document, key))
        case Call(function=function, arguments=(Call(function=inner) as below,)) if (
            function == inner == CANONICAL
        ):
            return below
        case _:
            return expression
