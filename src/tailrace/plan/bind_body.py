"""A query's body: WITH, SELECT, VALUES, set operations, and the ORDER BY and LIMIT behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from tailrace.errors import InvalidOption, NotSupported, SqlError, SyntaxFailure, TypeMismatch
from tailrace.plan.bind_expressions import ExpressionBinder
from tailrace.plan.bind_recursion import bind_recursive, is_recursive
from tailrace.plan.build import call, canonical, conjunction
from tailrace.plan.coercion import merged_type
from tailrace.plan.context import Context, Place, refs
from tailrace.plan.expressions import Expression, Literal, Order, Parameter, WindowCall
from tailrace.plan.nodes import (
    Distinct,
    Except,
    Filter,
    Intersect,
    Node,
    Project,
    TopK,
    Union,
    Values,
    Window,
)
from tailrace.plan.scope import Scope, fields_of
from tailrace.plan.syntax.expressions import position_of
from tailrace.plan.values import parse_value
from tailrace.types.core import BIGINT, BOOLEAN, TEXT, UNKNOWN, Column, SqlType


@dataclass(frozen=True, kw_only=True, slots=True)
class Body:
    """A plan; its first `visible` columns are the result, the others serve `order_by`."""

    node: Node
    visible: int
    order_by: tuple[Order, ...] = ()


def bind_body(query: exp.Expr, context: Context, place: Place) -> Body:
    targets = context.take_targets()
    place = _with(query, context, place)
    context.targets = targets
    match query:
        case exp.Select():
            from tailrace.plan.bind_select import SelectBinder

            return limited(SelectBinder(query, context, place).body(), query, context, place)
        case exp.Subquery():
            return bind_body(query.this, context, place)
        case exp.Values():
            node = bind_values(query, context, place)
        case exp.SetOperation():
            node = _set_operation(query, context, place)
        case _:
            raise NotSupported(
                f"{type(query).__name__} queries not yet supported", position=position_of(query)
            )
    return limited(_ordered(node, query, context, place), query, context, place)


def _with(query: exp.Expr, context: Context, place: Place) -> Place:
    ctes = query.args.get("with_")
    if ctes is None:
        return place
    for cte in ctes.expressions:
        from tailrace.plan.bind import bind_node

        alias = cte.args["alias"]
        if ctes.args.get("recursive") and is_recursive(cte):
            node = bind_recursive(cte, context, place)
        else:
            names = [column.name for column in alias.args.get("columns") or ()]
            node = renamed(bind_node(cte.this, context, place), names, alias.this.name)
        place = Place({**place.ctes, alias.this.name: node}, place.around)
    return place


def renamed(node: Node, names: Sequence[str], relation: str) -> Node:
    """The node with its first columns named anew."""
    if not names:
        return node
    if len(names) > len(node.schema):
        raise SyntaxFailure(
            f'"{relation}" has {len(node.schema)} columns available but {len(names)} columns specified',
            sqlstate="42P10",
        )
    rest = [column.name for column in node.schema[len(names) :]]
    if isinstance(node, Project):
        return replace(node, names=(*names, *rest))
    return Project(input=node, expressions=refs(node), names=(*names, *rest))


def bind_values(query: exp.Values, context: Context, place: Place) -> Node:
    """Constant rows; each column has the common type of its values."""
    scope = Scope([], parent=place.outer, similar=context.names.similar)
    binder = ExpressionBinder(context, scope, place, "VALUES")
    targets = context.take_targets()
    rows = [
        [context.aimed(binder.bind(e), i, targets, position_of(e)) for i, e in enumerate(row.expressions)]
        for row in query.expressions
    ]
    if len({len(row) for row in rows}) > 1:
        raise SyntaxFailure("VALUES lists must all be the same length", position=position_of(query))
    try:
        columns = [binder.unified(list(column), "VALUES") for column in zip(*rows, strict=True)]
    except SqlError as error:
        error.position = error.position or position_of(query)
        raise
    schema = tuple(
        Column(f"column{i + 1}", column[0].type, any(e.nullable for e in column))
        for i, column in enumerate(columns)
    )
    return Values(rows=tuple(zip(*columns, strict=True)), schema=schema)


def _set_operation(query: exp.SetOperation, context: Context, place: Place) -> Node:
    from tailrace.plan.bind import bind_node

    context.take_targets()
    word = type(query).__name__.upper()
    sides = [bind_node(side, context, place) for side in (query.this, query.expression)]
    if len(sides[0].schema) != len(sides[1].schema):
        raise SyntaxFailure(
            f"each {word} query must have the same number of columns", position=position_of(query)
        )
    exact = isinstance(query, exp.Union) and not query.args["distinct"]
    left, right = _matched(sides, word, context, query, canonically=not exact)
    if isinstance(query, exp.Union):
        union = Union(inputs=(*_branches(left), *_branches(right)))
        return Distinct(input=union) if query.args["distinct"] else union
    kind = Except if isinstance(query, exp.Except) else Intersect
    return kind(left=left, right=right, all=not query.args["distinct"])


def _branches(node: Node) -> tuple[Node, ...]:
    return node.inputs if isinstance(node, Union) else (node,)


def _matched(
    sides: list[Node], word: str, context: Context, query: exp.Expr, *, canonically: bool
) -> list[Node]:
    """Both sides with the same types."""
    types: list[SqlType] = []
    for left, right in zip(sides[0].schema, sides[1].schema, strict=True):
        type = merged_type((left.type, right.type)) or _open_type(sides, len(types))
        if type is None:
            raise TypeMismatch(
                f"{word} types {left.type} and {right.type} cannot be matched", position=position_of(query)
            )
        types.append(type)
    return [_as_types(side, types, context, canonically) for side in sides]


def _open_type(sides: list[Node], place: int) -> SqlType | None:
    """A constant in quotes, or NULL, takes the type of the other side."""
    types = [side.schema[place].type for side in sides]
    for side, other in zip(sides, reversed(types), strict=True):
        value = side.expressions[place] if isinstance(side, Project) else None
        if isinstance(value, Literal) and value.type == TEXT:
            return other
    return None


def _as_types(node: Node, types: Sequence[object], context: Context, canonically: bool) -> Node:
    outputs: list[Expression] = []
    for ref, type in zip(refs(node), types, strict=True):
        cast = context.coerce(ref, type)  # type: ignore[arg-type]
        outputs.append(canonical(cast) if canonically else cast)
    if tuple(outputs) == refs(node):
        return node
    return Project(input=node, expressions=tuple(outputs), names=tuple(c.name for c in node.schema))


def _ordered(node: Node, query: exp.Expr, context: Context, place: Place) -> Body:
    """ORDER BY behind VALUES or a set operation: by the result's columns, or expressions over them."""
    order = query.args.get("order")
    if order is None:
        return Body(node=node, visible=len(node.schema))
    scope = Scope(fields_of(node.schema, ()), parent=place.outer, similar=context.names.similar)
    binder = ExpressionBinder(context, scope, place, "ORDER BY")
    orders = []
    for part in order.expressions:
        place_ = ordinal(part.this, len(node.schema), "ORDER BY")
        bound = binder.order(part)
        orders.append(bound if place_ is None else replace(bound, by=canonical(refs(node)[place_])))
    return Body(node=node, visible=len(node.schema), order_by=tuple(orders))


def ordinal(node: exp.Expr, width: int, clause: str) -> int | None:
    """`ORDER BY 2`: the place of a column, counted from 0."""
    if not isinstance(node, exp.Literal | exp.Null | exp.Boolean):
        return None
    if not isinstance(node, exp.Literal) or node.is_string or not node.this.isdigit():
        raise SyntaxFailure(f"non-integer constant in {clause}", position=position_of(node))
    if not 1 <= int(node.this) <= width:
        raise InvalidOption(
            f"{clause} position {node.this} is not in select list",
            position=position_of(node),
            sqlstate="42P10",
        )
    return int(node.this) - 1


def limited(body: Body, query: exp.Expr, context: Context, place: Place) -> Body:
    """LIMIT and OFFSET make the order part of the meaning."""
    limit = _count(query.args.get("limit"), "LIMIT", context, place)
    offset = _count(query.args.get("offset"), "OFFSET", context, place) or 0
    if limit is None and not offset:
        return body
    if limit is not None and query.args["limit"].args.get("ties"):
        return _with_ties(body, limit, offset, position_of(query.args["limit"]))
    node = TopK(input=body.node, partition_by=(), order_by=body.order_by, limit=limit, offset=offset)
    return replace(body, node=node)


def _with_ties(body: Body, limit: int, offset: int, position: int | None) -> Body:
    """The rows up to a place, and those that the order does not tell from the last of them."""
    if not body.order_by:
        raise SyntaxFailure("WITH TIES cannot be specified without ORDER BY clause", position=position)
    rank, place = (
        WindowCall(
            function=function,
            arguments=(),
            partition_by=(),
            order_by=body.order_by,
            frame=None,
            type=BIGINT,
            nullable=False,
        )
        for function in ("over rank()", "over row_number()")
    )
    numbered = Window(input=body.node, calls=(rank, place), names=("rank", "place"))
    *_, ranked, placed = refs(numbered)
    last, before = (Literal(text=str(number), type=BIGINT) for number in (offset + limit, offset))
    among = conjunction([call("<=", (ranked, last), BOOLEAN), call(">", (placed, before), BOOLEAN)])
    return replace(body, node=Filter(input=numbered, predicate=among))


def _count(clause: exp.Expr | None, word: str, context: Context, place: Place) -> int | None:
    if clause is None:
        return None
    binder = ExpressionBinder(context, Scope([], similar=context.names.similar), place, word)
    value = binder.bind(clause.expression)
    while not isinstance(value, Literal) and getattr(value, "input", None) is not None:
        value = value.input  # type: ignore[union-attr]
    if isinstance(value, Parameter):
        context.coerce(value, BIGINT)
        if context.describes:
            return 0
        if value.number <= len(context.arguments):
            value = Literal(text=context.arguments[value.number - 1], type=UNKNOWN)
    if not isinstance(value, Literal):
        raise NotSupported(f"{word} that is not a constant not yet supported", position=position_of(clause))
    if value.text is None:
        return None
    if value.type != UNKNOWN and not value.text.lstrip("-").isdigit():
        raise TypeMismatch(f"argument of {word} must be type bigint", position=position_of(clause))
    number: int = parse_value(value.text, BIGINT)
    if number < 0:
        raise InvalidOption(f"{word} must not be negative", position=position_of(clause), sqlstate="2201W")
    return number
