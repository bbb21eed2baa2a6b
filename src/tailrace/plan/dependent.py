"""A correlated plan for all outer rows at once.

A plan that looks at columns O of an outer row is turned into one whose rows carry O as additional last
columns: for each value d of O the rows that the plan has for an outer row with d.  Joining it with the outer
rows on O then needs no correlation.  Where the plan itself says `e = o` for every o of O, e is taken for o;
else the distinct values of O among the outer rows (the domain) are joined in.

An aggregate without groups has a row even for no input.  Such a row is not in the plan that we make; it is
the `default`, an expression a column, and whoever joins puts it in where no row is found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from tailrace.plan.build import TRUE, conjunction, conjuncts, is_null, negation, same
from tailrace.plan.context import refs
from tailrace.plan.expressions import (
    AggregateCall,
    Call,
    Case,
    Expression,
    Literal,
    Order,
    OuterRef,
    Ref,
    WindowCall,
)
from tailrace.plan.functions.operators import EQUALS
from tailrace.plan.nodes import (
    Aggregate,
    Distinct,
    Except,
    Filter,
    FlatMap,
    Intersect,
    Join,
    Node,
    Project,
    Recursion,
    Scan,
    TopK,
    Union,
    Values,
    Window,
    Working,
)
from tailrace.plan.outer import (
    expression_outer_refs,
    expression_with_free_refs,
    outer_refs,
    with_free_refs,
)
from tailrace.plan.walk import nodes, subexpressions, subquery, with_children
from tailrace.types.core import Schema

Row = tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Domain:
    """The columns O of the outer rows that matter."""

    outer: Node
    columns: tuple[int, ...]
    working: frozenset[str] = frozenset()  # the recursions whose rows carry O already

    def relation(self) -> Node:
        """The distinct values of O."""
        outputs = tuple(refs(self.outer)[i] for i in self.columns)
        names = tuple(self.outer.schema[i].name for i in self.columns)
        return Distinct(input=Project(input=self.outer, expressions=outputs, names=names))

    @property
    def width(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.outer.schema[i].name for i in self.columns)

    @property
    def schema(self) -> Schema:
        return tuple(self.outer.schema[i] for i in self.columns)


@dataclass(frozen=True, slots=True)
class Dependent:
    """The plan with O behind its columns; `default`: the row where there is none, over OuterRefs at
    depth 1.
    """

    node: Node
    default: Row | None = None


def dependent(node: Node, domain: Domain) -> Dependent:
    if not _depends(node, domain):
        return _independent(node, domain)
    match node:
        case Scan() | Values():
            return Dependent(_values(node, domain))
        case Filter():
            return Dependent(_filter(node, domain))
        case Project():
            return _project(node, domain)
        case Aggregate():
            return _aggregate(node, domain)
        case Join():
            return Dependent(_join(node, domain))
        case FlatMap():
            below = _rows(node.input, domain)
            width = len(node.input.schema)
            flat = replace(
                node, input=below, arguments=tuple(_inside(a, domain, width) for a in node.arguments)
            )
            return Dependent(_moved_back(flat, width, domain))
        case Window():
            below, width = _rows(node.input, domain), len(node.input.schema)
            calls = tuple(_partitioned(call, domain, width, below) for call in node.calls)
            return Dependent(_moved_back(replace(node, input=below, calls=calls), width, domain))
        case TopK():
            below, width = _rows(node.input, domain), len(node.input.schema)
            orders = tuple(replace(o, by=_inside(o.by, domain, width)) for o in node.order_by)
            partition = (*node.partition_by, *range(width, width + domain.width))
            return Dependent(replace(node, input=below, order_by=orders, partition_by=partition))
        case Distinct():
            return Dependent(Distinct(input=_rows(node.input, domain)))
        case Union():
            return Dependent(Union(inputs=tuple(_rows(each, domain) for each in node.inputs)))
        case Except() | Intersect():
            return Dependent(replace(node, left=_rows(node.left, domain), right=_rows(node.right, domain)))
        case Recursion():
            inside = replace(domain, working=domain.working | {node.name})
            seed, step = _rows(node.seed, domain), _rows(node.step, inside)
            return Dependent(replace(node, seed=seed, step=step, schema=(*node.schema, *domain.schema)))
        case Working():
            return Dependent(replace(node, schema=(*node.schema, *domain.schema)))
        case _:
            assert_never(node)


def _depends(node: Node, domain: Domain) -> bool:
    """It looks at the outer row, or its rows belong to one already."""
    if next(outer_refs(node), None) is not None:
        return True
    return bool(domain.working) and any(isinstance(n, Working) and n.name in domain.working for n in nodes(node))


def _rows(node: Node, domain: Domain) -> Node:
    """All rows, the default ones included."""
    found = dependent(node, domain)
    return found.node if found.default is None else completed(found, domain)


def completed(found: Dependent, domain: Domain) -> Node:
    """The rows of a dependent plan, and its default row for each value of O that has none."""
    width = len(found.node.schema) - domain.width
    every = domain.relation()
    marked = with_mark(found.node)
    places = range(domain.width)
    condition = conjunction(
        same(refs(every)[i], _shifted(refs(marked)[width + i], domain.width)) for i in places
    )
    joined = Join(left=every, right=marked, kind="left", condition=condition)
    mark = refs(joined)[-1]
    outputs = [
        Case(branches=((is_null(mark), _inside(default, domain, 0)),), otherwise=value, type=value.type)
        for default, value in zip(found.default or (), refs(joined)[domain.width :], strict=False)
    ]
    names = tuple(c.name for c in found.node.schema)
    return Project(input=joined, expressions=(*outputs, *refs(joined)[: domain.width]), names=names)


def with_mark(node: Node) -> Node:
    """One more column that is never NULL, so that a left join shows whether it found a row."""
    names = (*(c.name for c in node.schema), "mark")
    return Project(input=node, expressions=(*refs(node), TRUE), names=names)


def _shifted(ref: Ref, by: int) -> Ref:
    return replace(ref, index=ref.index + by)


def _independent(node: Node, domain: Domain) -> Dependent:
    node = _nearer(node)
    if not domain.columns:
        return Dependent(node)
    return Dependent(Join(left=node, right=domain.relation(), kind="inner", condition=TRUE))


def _nearer(node: Node) -> Node:
    """A plan that does not look at the outer row, one level further out: what it sees beyond is one level
    nearer.
    """
    return with_free_refs(node, lambda ref, level: replace(ref, depth=ref.depth - 1))


def _inside(expression: Expression, domain: Domain, width: int) -> Expression:
    """References to O as columns behind the first `width`; references further out come one level nearer."""

    def change(ref: OuterRef, level: int) -> Expression:
        if ref.depth > level:
            return replace(ref, depth=ref.depth - 1)
        place = width + domain.columns.index(ref.index)
        if level == 1:
            return Ref(index=place, type=ref.type, nullable=ref.nullable)
        return OuterRef(depth=level - 1, index=place, type=ref.type, nullable=ref.nullable)

    return expression_with_free_refs(expression, change)


def _filter(node: Filter, domain: Domain) -> Node:
    width = len(node.input.schema)
    given = _given(node, domain)
    if given is None:
        return Filter(input=_rows(node.input, domain), predicate=_inside(node.predicate, domain, width))
    input = _nearer(node.input)
    names = (*(c.name for c in input.schema), *domain.names)
    values = [value for value, _ in given]
    carried = Project(input=input, expressions=(*refs(input), *values), names=names)
    used = [part for _, part in given]
    rest = [_inside(part, domain, width) for part in conjuncts(node.predicate) if part not in used]
    present = [negation(is_null(ref)) for ref in refs(carried)[width:] if ref.nullable]
    return Filter(input=carried, predicate=conjunction((*present, *rest)))


def _given(node: Filter, domain: Domain) -> list[tuple[Expression, Expression]] | None:
    """For every column of O an expression that the filter makes equal to it, and the part of the filter that
    does.

    None if one has none.
    """
    if _depends(node.input, domain):
        return None
    found: dict[int, tuple[Expression, Expression]] = {}
    for part in conjuncts(node.predicate):
        if isinstance(part, Call) and part.function == EQUALS:
            for one, other in (part.arguments, part.arguments[::-1]):
                if isinstance(one, OuterRef) and one.depth == 1 and not _looks_out(other):
                    found.setdefault(one.index, (other, part))
    if not set(domain.columns) <= found.keys():
        return None
    return [found[column] for column in domain.columns]


def _looks_out(expression: Expression) -> bool:
    return any(
        isinstance(part, OuterRef) or subquery(part) is not None for part in subexpressions(expression)
    )


def _project(node: Project, domain: Domain) -> Dependent:
    below = dependent(node.input, domain)
    width = len(node.input.schema)
    outputs = tuple(_inside(e, domain, width) for e in node.expressions)
    carried = refs(below.node)[width:]
    default = None
    if below.default is not None:
        default = tuple(_at(e, below.default) for e in node.expressions)
    project = Project(input=below.node, expressions=(*outputs, *carried), names=(*node.names, *domain.names))
    return Dependent(project, default)


def _at(expression: Expression, row: Row) -> Expression:
    """The expression over a row of expressions."""
    if isinstance(expression, Ref):
        return row[expression.index]
    return with_children(expression, lambda e: _at(e, row))


def _aggregate(node: Aggregate, domain: Domain) -> Dependent:
    below, width = _rows(node.input, domain), len(node.input.schema)
    groups = len(node.group_by)
    aggregate = replace(node, input=below, group_by=(*node.group_by, *range(width, width + domain.width)))
    made = refs(aggregate)
    outputs = (*made[:groups], *made[groups + domain.width :], *made[groups : groups + domain.width])
    names = tuple(aggregate.schema[ref.index].name for ref in outputs)
    default = None if groups else tuple(map(_empty, node.aggregates))
    return Dependent(Project(input=aggregate, expressions=outputs, names=names), default)


def _empty(call: AggregateCall) -> Expression:
    """What an aggregate says of no rows: counts are 0, everything else is NULL."""
    return Literal(text=None if call.nullable else "0", type=call.type)


def _moved_back(node: Node, width: int, domain: Domain) -> Node:
    """O from behind the first `width` columns to the end."""
    made = refs(node)
    order = (*made[:width], *made[width + domain.width :], *made[width : width + domain.width])
    names = tuple(node.schema[ref.index].name for ref in order)
    return Project(input=node, expressions=order, names=names)


def _partitioned(call: WindowCall, domain: Domain, width: int, below: Node) -> WindowCall:
    inside = [_inside(e, domain, width) for e in call.partition_by]
    orders: tuple[Order, ...] = tuple(replace(o, by=_inside(o.by, domain, width)) for o in call.order_by)
    return replace(
        call,
        arguments=tuple(_inside(a, domain, width) for a in call.arguments),
        partition_by=(*inside, *refs(below)[width:]),
        order_by=orders,
    )


def _values(node: Node, domain: Domain) -> Node:
    """Rows of expressions over O: each row once for every value of the domain."""
    assert isinstance(node, Values)
    every = domain.relation()
    names = (*(c.name for c in node.schema), *domain.names)
    projects = tuple(
        Project(input=every, expressions=(*(_inside(e, domain, 0) for e in row), *refs(every)), names=names)
        for row in node.rows
    )
    return projects[0] if len(projects) == 1 else Union(inputs=projects)


def _join(node: Join, domain: Domain) -> Node:
    """Both sides for the same values of O.  A side that does not look at O takes it from the other."""
    right_depends, left_depends = _depends(node.right, domain), _depends(node.left, domain)
    if right_depends and not left_depends and node.kind == "inner" and not _mentions(node.condition):
        return _join_right(node, domain)
    left = _rows(node.left, domain)
    lefts, rights, extra = len(node.left.schema), len(node.right.schema), domain.width
    both = right_depends or node.kind in ("right", "full")
    right = _rows(node.right, domain) if both else _nearer(node.right)

    def moved(e: Expression) -> Expression:
        if isinstance(e, Ref) and e.index >= lefts:
            return _shifted(e, extra)
        return with_children(e, moved)

    # First make room for O between left and right, then let O's references point into that room.
    condition = _inside(moved(node.condition), domain, lefts)
    if both:
        pairs = ((lefts + i, lefts + extra + rights + i) for i in range(extra))
        columns = (*refs(left), *(_shifted(r, lefts + extra) for r in refs(right)))
        condition = conjunction((condition, *(same(columns[a], columns[b]) for a, b in pairs)))
    joined = Join(left=left, right=right, kind=node.kind, condition=condition)
    if node.kind in ("semi", "anti"):
        return joined
    made = refs(joined)
    carried: Row = made[lefts : lefts + extra]
    if node.kind in ("right", "full"):
        others = made[lefts + extra + rights :]
        carried = tuple(_either(a, b) for a, b in zip(carried, others, strict=True))
    outputs = (*made[:lefts], *made[lefts + extra : lefts + extra + rights], *carried)
    names = (*(c.name for c in node.left.schema), *(c.name for c in node.right.schema), *domain.names)
    return Project(input=joined, expressions=outputs, names=names)


def _join_right(node: Join, domain: Domain) -> Node:
    return Join(
        left=_nearer(node.left), right=_rows(node.right, domain), kind="inner", condition=node.condition
    )


def _mentions(expression: Expression) -> bool:
    return next(expression_outer_refs(expression), None) is not None


def _either(one: Expression, other: Expression) -> Expression:
    return Case(branches=((is_null(one), other),), otherwise=one, type=one.type)
