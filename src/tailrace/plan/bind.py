"""Queries: from sqlglot's tree, against the catalog, to the algebra of plan/nodes.py.

`bind_query` is for a whole query, `bind_scalar` for an expression over given columns (SET, WHERE, DEFAULT,
PARTITION BY).  Names are gone afterwards: what is left compares by content and can be rendered, explained,
kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from tailrace.errors import NotSupported
from tailrace.plan.bind_body import bind_body
from tailrace.plan.bind_expressions import ExpressionBinder
from tailrace.plan.build import canonical
from tailrace.plan.coercion import assign
from tailrace.plan.comparable import refuse_compared_maps
from tailrace.plan.context import Context, Place, refs
from tailrace.plan.expressions import Call, Expression, Order
from tailrace.plan.functions.registry import by_id
from tailrace.plan.names import Names
from tailrace.plan.nodes import Node, Project
from tailrace.plan.parse import parse_expression, parse_query
from tailrace.plan.rewrite import rewrite
from tailrace.plan.scope import Scope, fields_of
from tailrace.plan.substitute import substitute
from tailrace.plan.walk import expressions, nodes, scans, subexpressions
from tailrace.types.core import Schema, SqlType

__all__ = [
    "BoundQuery",
    "assign",
    "bind_node",
    "bind_query",
    "bind_scalar",
    "parse_expression",
    "parse_query",
    "substitute",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class BoundQuery:
    """A query's plan and how its result is shown.

    The first `visible` columns of `node` are the result; the others only serve `order_by`, which is over all
    columns of `node`.  `volatile` names the functions that give another value at another time, such as now():
    a materialized view must refuse them.  `now_at` is the position of the first mz_now(): see temporal.py.
    """

    node: Node
    visible: int
    order_by: tuple[Order, ...] = ()
    parameters: tuple[SqlType, ...] = ()
    volatile: tuple[str, ...] = ()
    now_at: int | None = None

    @property
    def schema(self) -> Schema:
        return self.node.schema[: self.visible]

    @property
    def relation(self) -> Node:
        """The plan of the visible columns alone, as a view keeps it."""
        return _visible(self.node, self.visible)


def bind_query(
    query: exp.Expr | str,
    names: Names,
    parameters: Sequence[SqlType | None] = (),
    *,
    targets: Sequence[SqlType] = (),
    arguments: Sequence[str | None] = (),
    describes: bool = False,
) -> BoundQuery:
    """The plan of a query.  Types of parameters that are not given are inferred.

    `arguments`: their values, for places where the plan depends on one, as LIMIT $1 does.  `describes`: the plan will
    not be run, and any value does.

    `targets`: for INSERT, the types of the columns that the result goes into.  Constants and parameters that
    stand alone in a select list or in VALUES take these; everything else is left to `assign`.
    """
    tree = parse_query(query) if isinstance(query, str) else query
    context = Context(
        names, list(parameters), targets=tuple(targets), arguments=tuple(arguments), describes=describes
    )
    body = bind_body(tree, context, Place({}, None))
    refuse_compared_maps(body.node, body.order_by)
    node = rewrite(_with_canonical_json(body.node))
    if not body.visible and scans(node):
        raise NotSupported("a result without columns not yet supported", hint="Say SELECT 1 FROM …")
    return BoundQuery(
        node=node,
        visible=body.visible,
        order_by=body.order_by,
        parameters=context.parameter_types(),
        volatile=tuple(dict.fromkeys((*context.volatile, *_volatile(node)))),
        now_at=context.now_at,
    )


def _volatile(node: Node) -> Iterator[str]:
    """Functions of that kind that came in with a view's plan."""
    for each in nodes(node):
        for expression in expressions(each):
            for part in subexpressions(expression):
                if isinstance(part, Call) and by_id(part.function).volatile:
                    yield by_id(part.function).name


def bind_node(query: exp.Expr, context: Context, place: Place) -> Node:
    """A query inside another: its order does not matter, unless a LIMIT has made it part of the meaning."""
    body = bind_body(query, context, place)
    return _visible(body.node, body.visible)


def bind_scalar(
    expression: exp.Expr | str,
    schema: Schema,
    names: Names,
    parameters: Sequence[SqlType | None] = (),
    *,
    relation: tuple[str, ...] = (),
    subqueries: bool = True,
) -> Expression:
    """An expression over one row of `schema`, whose columns may be qualified by `relation`'s name or
    alias.
    """
    tree = parse_expression(expression) if isinstance(expression, str) else expression
    context = Context(names, list(parameters))
    if not subqueries and tree.find(exp.Query, exp.Values) is not None:
        raise NotSupported("subqueries are not allowed here")
    scope = Scope(fields_of(schema, relation), similar=names.similar)
    return ExpressionBinder(context, scope, Place({}, None)).bind(tree)


def _visible(node: Node, visible: int) -> Node:
    if visible == len(node.schema):
        return node
    return Project(
        input=node, expressions=refs(node)[:visible], names=tuple(c.name for c in node.schema[:visible])
    )


def _with_canonical_json(node: Node) -> Node:
    """jsonb that leaves a query is canonical, so that two equal documents are one row."""
    outputs = tuple(canonical(ref) for ref in refs(node))
    if outputs == refs(node):
        return node
    if isinstance(node, Project):
        return replace(node, expressions=tuple(canonical(e) for e in node.expressions))
    return Project(input=node, expressions=outputs, names=tuple(c.name for c in node.schema))
