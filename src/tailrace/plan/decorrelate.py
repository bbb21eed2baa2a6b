"""LATERAL and subqueries inside expressions as joins, which have incremental rules and which Spark can run.

EXISTS and IN that a row must pass are semi joins, their negations anti joins.  Elsewhere a subquery becomes a
column: a left join puts its value, or a mark whether it has a row, beside each row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tailrace.plan.build import (
    FALSE,
    TRUE,
    conjunction,
    conjuncts,
    disjunction,
    equal,
    is_null,
    negation,
    same,
)
from tailrace.plan.context import refs
from tailrace.plan.dependent import Dependent, Domain, dependent, with_mark
from tailrace.plan.direct import joined_directly, with_outer_as_left
from tailrace.plan.expressions import (
    AggregateCall,
    Call,
    Case,
    Cast,
    Exists,
    Expression,
    InSubquery,
    JoinKind,
    Literal,
    OuterRef,
    Ref,
    ScalarSubquery,
)
from tailrace.plan.functions.operators import NOT
from tailrace.plan.keys import infer_keys, is_injective
from tailrace.plan.merge import composed
from tailrace.plan.nodes import Aggregate, Distinct, Filter, FlatMap, Join, Node, Project, Values, Window
from tailrace.plan.nullability import not_null
from tailrace.plan.outer import outer_columns
from tailrace.plan.pushdown import columns
from tailrace.plan.walk import (
    has_own_subquery,
    has_subquery,
    window_with,
    with_children,
    with_expressions,
    with_inputs,
    with_subquery,
)
from tailrace.plan.walk import nodes as plan_nodes
from tailrace.types.core import BIGINT, BOOLEAN


def decorrelated(node: Node) -> Node:
    """The same plan without subqueries in its filters and projections."""
    node = with_inputs(node, decorrelated)
    node = with_expressions(node, _inner_decorrelated)
    match node:
        case Filter(predicate=predicate) if has_subquery(predicate):
            return _filter(node)
        case Project() if any(map(has_subquery, node.expressions)):
            columns = Columns(node.input)
            outputs = tuple(columns.replaced(e) for e in node.expressions)
            return Project(input=columns.node, expressions=outputs, names=node.names)
        case FlatMap() if any(map(has_subquery, node.arguments)):
            return _flat_map(node)
        case Window() if has_own_subquery(node):
            return _window(node)
        case Join(kind="inner", condition=condition) if has_subquery(condition):
            parts = conjuncts(condition)
            plain = conjunction(p for p in parts if not has_subquery(p))
            return _filter(
                Filter(
                    input=replace(node, condition=plain),
                    predicate=conjunction(p for p in parts if has_subquery(p)),
                )
            )
        case Join(condition=condition) if has_subquery(condition):
            return _outer_join(node)
        case Values(rows=(row,)) if any(map(has_subquery, row)):
            columns = Columns(Values(rows=((),), schema=()))
            outputs = tuple(columns.replaced(e) for e in row)
            return Project(input=columns.node, expressions=outputs, names=tuple(c.name for c in node.schema))
        case _:
            return node


def _outer_join(node: Join) -> Node:
    """Conditions with subqueries that look at one side become columns of that side, which go away above the join.

    Those that look at both sides stay as they are.
    """
    width = len(node.left.schema)
    sides = Columns(node.left), Columns(node.right)
    row = (*refs(node.left), *refs(node.right))  # of either side alone
    plain: list[Expression] = []
    asked: tuple[list[Expression], list[Expression]] = ([], [])
    for part in conjuncts(node.condition):
        used = columns(part)
        if not has_subquery(part):
            plain.append(part)
        elif used and min(used) < width <= max(used):
            return node
        else:
            side = int(bool(used) and min(used) >= width)
            asked[side].append(sides[side].replaced(composed(part, row)))
    left = _with_columns(node.left, sides[0].node, asked[0])
    right = _with_columns(node.right, sides[1].node, asked[1])
    extra, behind = len(asked[0]), len(left.schema) + len(node.right.schema)
    met = [refs(left)[width + i] for i in range(extra)]
    met += [replace(refs(right)[i - len(left.schema)], index=i) for i in range(behind, behind + len(asked[1]))]
    condition = conjunction((*(_past(part, width, extra) for part in plain), *met))
    joined = Join(left=left, right=right, kind=node.kind, condition=condition)
    made = refs(joined)
    outputs = made[:width] if node.kind in ("semi", "anti") else (*made[:width], *made[len(left.schema) : behind])
    return Project(input=joined, expressions=outputs, names=tuple(c.name for c in node.schema))


def _with_columns(side: Node, grown: Node, more: Sequence[Expression]) -> Node:
    """The side's own columns and these, over what it has grown to."""
    names = (*(c.name for c in side.schema), *(f"condition{i + 1}" for i in range(len(more))))
    return Project(input=grown, expressions=(*refs(side), *more), names=names) if more else side


def _inner_decorrelated(expression: Expression) -> Expression:
    return with_children(with_subquery(expression, decorrelated), _inner_decorrelated)


def lateral_join(
    left: Node, right: Node, kind: JoinKind, condition: Expression, rows: Node | None = None
) -> Node:
    """Each row of `left` beside the rows that `right` has for it.  `kind`: inner, left, semi or anti.

    `rows`, if given, has the first columns of `left` and rows for all of its: a smaller place to find their
    values.
    """
    right = decorrelated(right)
    direct = joined_directly(left, right, kind, condition)
    if direct is not None:
        return direct
    casts = _outer_casts(right)
    if casts:
        return _with_casts(left, right, kind, condition, casts)
    columns = outer_columns(right)
    small = rows is not None and all(column < len(rows.schema) for column in columns)
    domain = Domain(rows if rows is not None and small else left, columns)
    found = dependent(right, domain)
    if found.default is not None and kind in ("inner", "left"):
        return _with_default(left, found, domain, condition, kind)
    node = found.node if found.default is None else _completed(found, domain)
    return _on_domain(left, node, domain, kind, condition)


def _outer_casts(node: Node) -> list[Cast]:
    """Casts of columns of the outer row that lose nothing: `o.id = t.b` compares t.b as a bigint."""
    found: dict[Cast, None] = {}

    def note(expression: Expression) -> Expression:
        match expression:
            case Cast(input=OuterRef(depth=1) as ref, type=type) if is_injective(ref.type, type):
                found[expression] = None
        return with_children(expression, note)

    for below in plan_nodes(node):
        with_expressions(below, note)
    return list(found)


def _with_casts(left: Node, right: Node, kind: JoinKind, condition: Expression, casts: list[Cast]) -> Node:
    """The casts as columns of the left row, so that an equality with one gives its value."""
    lefts, extra = len(left.schema), len(casts)

    def change(expression: Expression) -> Expression:
        if isinstance(expression, Cast) and expression in casts:
            return OuterRef(
                depth=1,
                index=lefts + casts.index(expression),
                type=expression.type,
                nullable=expression.nullable,
            )
        return with_children(expression, change)

    def inside(node: Node) -> Node:
        return with_expressions(with_inputs(node, inside), change)

    values = [Cast(input=refs(left)[c.input.index], type=c.type) for c in casts]  # type: ignore[union-attr]
    names = (*(c.name for c in left.schema), *(f"cast{i + 1}" for i in range(extra)))
    wider = Project(input=left, expressions=(*refs(left), *values), names=names)
    joined = lateral_join(wider, inside(right), kind, _past(condition, lefts, extra))
    made = refs(joined)
    outputs = (*made[:lefts], *made[lefts + extra :])
    return Project(
        input=joined, expressions=outputs, names=tuple(joined.schema[r.index].name for r in outputs)
    )


def _past(expression: Expression, lefts: int, by: int) -> Expression:
    """References to columns from `lefts` on, further to the right."""
    if isinstance(expression, Ref) and expression.index >= lefts:
        return replace(expression, index=expression.index + by)
    return with_children(expression, lambda e: _past(e, lefts, by))


def _completed(found: Dependent, domain: Domain) -> Node:
    from tailrace.plan.dependent import completed

    return completed(found, domain)


def _on_domain(left: Node, right: Node, domain: Domain, kind: JoinKind, condition: Expression) -> Node:
    """`right` has O behind its columns; they must be those of the left row, and then go away."""
    lefts = len(left.schema)
    width = len(right.schema) - domain.width
    carried = [replace(ref, index=ref.index + lefts) for ref in refs(right)[width:]]
    never_null = not_null(left) | {i + lefts for i in not_null(right)}
    pairs = zip((refs(left)[i] for i in domain.columns), carried, strict=True)
    matching = [_matching(a, b, never_null) for a, b in pairs]
    joined = Join(left=left, right=right, kind=kind, condition=conjunction((*matching, condition)))
    if kind in ("semi", "anti") or not domain.width:
        return joined
    names = tuple(c.name for c in joined.schema)
    return Project(input=joined, expressions=refs(joined)[: lefts + width], names=names[: lefts + width])


def _matching(one: Ref, other: Ref, never_null: frozenset[int]) -> Expression:
    """Equality will do where one is never NULL, and an equality is what incremental joins are keyed by."""
    return equal(one, other) if {one.index, other.index} & never_null else same(one, other)


def _with_default(
    left: Node, found: Dependent, domain: Domain, condition: Expression, kind: JoinKind
) -> Node:
    """An aggregate without groups has a row for every left row; where none was found it is the default."""
    lefts = len(left.schema)
    width = len(found.node.schema) - domain.width
    marked = with_mark(found.node)
    order = (*refs(marked)[:width], refs(marked)[-1], *refs(marked)[width:-1])
    names = tuple(marked.schema[ref.index].name for ref in order)
    right = Project(input=marked, expressions=order, names=names)
    joined = _on_domain(left, right, domain, "left", TRUE)
    made = refs(joined)
    mark = made[lefts + width]
    values = [
        _or_default(mark, with_outer_as_left(default), value)
        for default, value in zip(found.default or (), made[lefts : lefts + width], strict=True)
    ]
    names = tuple(c.name for c in joined.schema[: lefts + width])
    node: Node = Project(input=joined, expressions=(*made[:lefts], *values), names=names)
    if condition == TRUE:
        return node
    if kind == "inner":
        return Filter(input=node, predicate=condition)
    kept = [
        Case(branches=((condition, v),), otherwise=Literal(text=None, type=v.type), type=v.type)
        for v in refs(node)[lefts:]
    ]
    return Project(input=node, expressions=(*refs(node)[:lefts], *kept), names=names)


def _or_default(mark: Expression, default: Expression, value: Expression) -> Expression:
    if isinstance(default, Literal) and default.text is None:
        return value
    return Case(branches=((is_null(mark), default),), otherwise=value, type=value.type)


def _filter(node: Filter) -> Node:
    """Conjuncts that are EXISTS or IN become semi joins; whatever else holds a subquery gets columns for
    it.
    """
    parts = conjuncts(node.predicate)
    rows = node.input
    plain = [p for p in parts if not has_subquery(p)]
    if plain:
        rows = Filter(input=rows, predicate=conjunction(plain))
    rest: list[Expression] = []
    for part in parts:
        if not has_subquery(part):
            continue
        joined = _as_join(rows, part)
        if joined is None:
            rest.append(part)
        else:
            rows = joined
    if not rest:
        return rows
    columns = Columns(rows)
    predicate = conjunction([columns.replaced(part) for part in rest])
    filtered = Filter(input=columns.node, predicate=predicate)
    names = tuple(c.name for c in node.schema)
    return Project(input=filtered, expressions=refs(filtered)[: len(names)], names=names)


def _as_join(rows: Node, part: Expression) -> Node | None:
    negated = isinstance(part, Call) and part.function == NOT
    inner = part.arguments[0] if isinstance(part, Call) and negated else part
    kind: JoinKind = "anti" if negated else "semi"
    match inner:
        case Exists(query=query):
            return lateral_join(rows, query, kind, TRUE)
        case InSubquery(arguments=arguments, query=query) if not any(map(has_subquery, arguments)):
            # NOT IN is NULL, hence not true, as soon as a NULL is about; an anti join knows nothing of that.
            if negated and (any(a.nullable for a in arguments) or any(c.nullable for c in query.schema)):
                return None
            return lateral_join(rows, query, kind, _all_equal(arguments, query, len(rows.schema)))
        case _:
            return None


def _all_equal(arguments: Sequence[Expression], query: Node, offset: int) -> Expression:
    columns = (replace(ref, index=ref.index + offset) for ref in refs(query))
    return conjunction(equal(a, c) for a, c in zip(arguments, columns, strict=True))


def _flat_map(node: FlatMap) -> Node:
    columns = Columns(node.input)
    arguments = tuple(columns.replaced(a) for a in node.arguments)
    flat = FlatMap(
        input=columns.node,
        function=node.function,
        arguments=arguments,
        columns=node.columns,
        outer=node.outer,
    )
    before, made = len(node.input.schema), refs(flat)
    outputs = (*made[:before], *made[len(columns.node.schema) :])
    return Project(input=flat, expressions=outputs, names=tuple(c.name for c in node.schema))


def _window(node: Window) -> Node:
    columns = Columns(node.input)
    calls = tuple(window_with(call, columns.replaced) for call in node.calls)
    window = Window(input=columns.node, calls=calls, names=node.names)
    made = refs(window)
    outputs = (*made[: len(node.input.schema)], *made[len(columns.node.schema) :])
    return Project(input=window, expressions=outputs, names=tuple(c.name for c in node.schema))


class Columns:
    """A node that grows a column for each subquery of the expressions over it."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self._rows = node
        self._known: dict[Expression, Expression] = {}

    def replaced(self, expression: Expression) -> Expression:
        """The expression with its subqueries replaced by columns of `node`."""
        if expression in self._known:
            return self._known[expression]
        match expression:
            case ScalarSubquery(query=query):
                result = self._scalar(query)
            case Exists(query=query):
                result = negation(is_null(self._mark(query)))
            case InSubquery(arguments=arguments, query=query):
                result = self._in([self.replaced(a) for a in arguments], query)
            case _:
                return with_children(expression, self.replaced)
        self._known[expression] = result
        return result

    def _last(self) -> Ref:
        return refs(self.node)[-1]

    def _scalar(self, query: Node) -> Expression:
        self.node = lateral_join(self.node, _at_most_one(query), "left", TRUE, self._rows)
        return self._last()

    def _mark(self, query: Node, condition: Callable[[int], Expression] | None = None) -> Expression:
        """A column that is NULL exactly where the query has no row (for which the condition holds)."""
        width = len(self.node.schema)
        marked = with_mark(Distinct(input=query if condition else _nothing_of(query)))
        self.node = lateral_join(
            self.node, marked, "left", condition(width) if condition else TRUE, self._rows
        )
        return self._last()

    def _in(self, arguments: Sequence[Expression], query: Node) -> Expression:
        """True if there is an equal row; else NULL if a NULL could have been equal; else false."""
        offset = len(self.node.schema)
        columns = [replace(ref, index=ref.index + offset) for ref in refs(query)]
        condition = conjunction(equal(a, c) for a, c in zip(arguments, columns, strict=True))
        found = negation(is_null(self._mark(query, lambda _: condition)))
        unsure = self._unsure(arguments, query)
        if unsure == FALSE:
            return found
        null = Literal(text=None, type=BOOLEAN)
        return Case(branches=((found, TRUE), (unsure, null)), otherwise=FALSE, type=BOOLEAN)

    def _unsure(self, arguments: Sequence[Expression], query: Node) -> Expression:
        """Of several columns only this is looked at: a NULL anywhere on one side, and a row on the other."""
        reasons: list[Expression] = []
        nullable = [a for a in arguments if a.nullable]
        if nullable:
            some = negation(is_null(self._mark(query)))
            reasons.append(conjunction((disjunction([is_null(a) for a in nullable]), some)))
        columns = [ref for ref in refs(query) if ref.nullable]
        if columns:
            nulls = Filter(input=query, predicate=disjunction([is_null(c) for c in columns]))
            reasons.append(negation(is_null(self._mark(nulls))))
        return disjunction(reasons)


def _nothing_of(query: Node) -> Node:
    """The query's rows without their columns."""
    one = Literal(text="1", type=BIGINT)
    return Project(input=query, expressions=(one,), names=("one",))


def _at_most_one(query: Node) -> Node:
    """The query, which fails for a second row unless there provably is none."""
    if frozenset() in infer_keys(query):
        return query
    only = AggregateCall(
        function="single(T)", arguments=refs(query), type=query.schema[0].type, nullable=True
    )
    return Aggregate(input=query, group_by=(), aggregates=(only,), names=(query.schema[0].name,))
