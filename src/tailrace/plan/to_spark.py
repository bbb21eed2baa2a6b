"""The batch meaning of a plan: ONE Spark SQL text.  The same plan always gives the same text.

Output columns are `c0 … c{n-1}`.  A row of NULLs, an overflow, a bad cast mean what they mean in PostgreSQL,
on a session in ANSI mode with the time zone UTC and case-sensitive names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from tailrace.errors import NotSupported
from tailrace.plan.comparable import is_comparable
from tailrace.plan.expressions import Expression, Order
from tailrace.plan.functions.aggregates import Group, aggregate_text
from tailrace.plan.functions.ordered import Sort
from tailrace.plan.functions.tables import generator
from tailrace.plan.functions.windows import Numbers, needs_numbers, numbers, window_text
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
from tailrace.plan.outer import outer_refs
from tailrace.plan.recursion import Keep, fixpoint
from tailrace.plan.spark_expressions import Environment
from tailrace.plan.spark_json import shared_parses
from tailrace.types.core import Schema
from tailrace.types.spark import spark_type

Leaf = Callable[[Scan], str]
"""The table expression of a relation: a view's name, or a subquery in parentheses, with columns c0, c1, …"""

Outer = tuple[Sequence[str], ...]

_JOINS = {
    "inner": "INNER JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN",
    "semi": "LEFT SEMI JOIN", "anti": "LEFT ANTI JOIN",
}  # fmt: skip


def render(node: Node, leaf: Leaf, keep: Keep | None = None) -> str:
    """The Spark SQL text of a plan over the relations that `leaf` names.

    A recursion in it is worked out right away, with a Spark job a step, and `keep` is where its rows stay.
    """
    return _Renderer(leaf, keep).query(node, ())


def render_expression(expression: Expression, columns: Sequence[str]) -> str:
    """The Spark text of one expression; `Ref(i)` becomes `columns[i]`."""
    return Environment(columns=columns).render(expression)


def render_order(order: Order, columns: Sequence[str]) -> str:
    """One part of an ORDER BY as Spark text."""
    return Environment(columns=columns).order(order)


class _Renderer:
    def __init__(self, leaf: Leaf, keep: Keep | None) -> None:
        self._leaf = leaf
        self._keep = keep
        self._aliases = 0
        self._working: dict[str, str] = {}
        self._recursions: dict[Recursion, str] = {}

    def query(self, node: Node, outer: Outer) -> str:
        """A SELECT with the node's rows.  `outer`: the columns of the enclosing rows, the nearest first."""
        match node:
            case Scan() | Filter() | Project():
                return self._select(node, outer)
            case Values():
                return self._values(node, outer)
            case FlatMap():
                return self._flat_map(node, outer)
            case Join():
                return self._join(node, outer)
            case Aggregate():
                return self._aggregate(node, outer)
            case Distinct(input=input):
                text, alias = self._from(input, outer)
                return f"SELECT DISTINCT {_names(node.schema, alias)} FROM {text}"
            case Union(inputs=inputs):
                return " UNION ALL ".join(f"({self.query(each, outer)})" for each in inputs)
            case Except(left=left, right=right, all=every) | Intersect(left=left, right=right, all=every):
                word = ("EXCEPT" if isinstance(node, Except) else "INTERSECT") + (" ALL" if every else "")
                return f"({self.query(left, outer)}) {word} ({self.query(right, outer)})"
            case TopK():
                return self._top_k(node, outer)
            case Window():
                return self._window(node, outer)
            case Recursion():
                return self._recursion(node, outer)
            case Working(name=name):
                return self._working[name]
            case _:
                assert_never(node)

    def _alias(self) -> str:
        self._aliases += 1
        return f"t{self._aliases}"

    def _from(self, node: Node, outer: Outer) -> tuple[str, str]:
        """A node as an item of FROM, and its alias."""
        alias = self._alias()
        text = self._leaf(node) if isinstance(node, Scan) else f"({self.query(node, outer)})"
        return f"{text} AS {alias}", alias

    def _environment(self, columns: Sequence[str], outer: Outer, known: dict[Expression, str]) -> Environment:
        return Environment(columns=columns, outer=outer, known=known, query=self.query)

    def _select(self, node: Scan | Filter | Project, outer: Outer) -> str:
        """A projection over filters over anything, as one SELECT, so that both share one parse of a JSON
        column.
        """
        expressions: tuple[Expression, ...] | None = None
        input: Node = node
        if isinstance(input, Project):
            expressions, input = input.expressions, input.input
        predicates: list[Expression] = []
        while isinstance(input, Filter):
            predicates.append(input.predicate)
            input = input.input
        source, alias = ("", "") if _is_nothing(input) else self._from(input, outer)
        columns = _columns(input.schema, alias)
        clauses, known = shared_parses((*(expressions or ()), *predicates), columns, alias)
        environment = self._environment(columns, outer, known)
        outputs = columns if expressions is None else [environment.render(e) for e in expressions]
        text = f"SELECT {_outputs(outputs)}" + (f" FROM {source}{clauses}" if source else "")
        if predicates:
            text += " WHERE " + " AND ".join(environment.render(p) for p in reversed(predicates))
        return text

    def _values(self, node: Values, outer: Outer) -> str:
        if not node.schema:
            return (
                "SELECT 1 AS one" if len(node.rows) == 1 else f"SELECT 1 AS one FROM range({len(node.rows)})"
            )
        if not node.rows:
            nulls = [f"CAST(NULL AS {spark_type(column.type)})" for column in node.schema]
            return f"SELECT {_outputs(nulls)} WHERE false"
        environment = self._environment((), outer, {})
        rows = (f"SELECT {_outputs([environment.render(e) for e in row])}" for row in node.rows)
        return " UNION ALL ".join(rows)

    def _flat_map(self, node: FlatMap, outer: Outer) -> str:
        source, alias = self._from(node.input, outer)
        columns = _columns(node.input.schema, alias)
        environment = self._environment(columns, outer, {})
        view = f"{alias}f"
        names = [f"{view}_{i}" for i in range(len(node.columns))]
        text = generator(node.function, [environment.render(a) for a in node.arguments], node)
        outputs = [*columns, *(f"{view}.{name}" for name in names)]
        kind = "LATERAL VIEW OUTER" if node.outer else "LATERAL VIEW"
        return f"SELECT {_outputs(outputs)} FROM {source} {kind} {text} {view} AS {', '.join(names)}"

    def _join(self, node: Join, outer: Outer) -> str:
        left, left_alias = self._from(node.left, outer)
        right, right_alias = self._from(node.right, outer)
        columns = _columns(node.left.schema, left_alias) + _columns(node.right.schema, right_alias)
        condition = self._environment(columns, outer, {}).render(node.condition)
        outputs = _outputs(columns[: len(node.schema)])
        return f"SELECT {outputs} FROM {left} {_JOINS[node.kind]} {right} ON {condition}"

    def _aggregate(self, node: Aggregate, outer: Outer) -> str:
        source, alias = self._from(node.input, outer)
        columns = _columns(node.input.schema, alias)
        environment = self._environment(columns, outer, {})
        groups = [columns[i] for i in node.group_by]
        outputs = list(groups)
        for call in node.aggregates:
            condition = "" if call.filter is None else f" FILTER (WHERE {environment.render(call.filter)})"
            group = Group(
                arguments=[environment.render(argument) for argument in call.arguments],
                sorts=[Sort(environment.render(o.by), o.descending, o.nulls_first) for o in call.order_by],
                tail=condition,
                distinct=call.distinct,
            )
            outputs.append(aggregate_text(call, group))
        if not outputs:  # no column at all: one row for the whole, however many there are
            return f"SELECT count(1) AS one FROM {source}"
        text = f"SELECT {_outputs(outputs)} FROM {source}"
        return f"{text} GROUP BY {', '.join(groups)}" if groups else text

    def _top_k(self, node: TopK, outer: Outer) -> str:
        source, alias = self._from(node.input, outer)
        columns = _columns(node.schema, alias)
        environment = self._environment(columns, outer, {})
        order = ", ".join(
            [*(environment.order(o) for o in node.order_by), *_tie_breakers(node.schema, columns)]
        )
        if not node.partition_by:
            limit = "" if node.limit is None else f" LIMIT {node.limit}"
            offset = f" OFFSET {node.offset}" if node.offset else ""
            by = f" ORDER BY {order}" if order else ""
            return f"SELECT {_outputs(columns)} FROM {source}{by}{limit}{offset}"
        partition = ", ".join(columns[i] for i in node.partition_by)
        number = f"row_number() OVER (PARTITION BY {partition} ORDER BY {order})"
        inner = f"SELECT {_outputs(columns)}, {number} AS place FROM {source}"
        bounds = [f"place > {node.offset}"] if node.offset else []
        if node.limit is not None:
            bounds.append(f"place <= {node.offset + node.limit}")
        names = _names(node.schema, None)
        return f"SELECT {names} FROM ({inner}) WHERE {' AND '.join(bounds) or 'true'}"

    def _recursion(self, node: Recursion, outer: Outer) -> str:
        if self._keep is None or (outer and next(outer_refs(node), None) is not None):
            raise NotSupported("a recursive query in this place not yet supported")

        def query(part: Node, working: str | None) -> str:
            before = dict(self._working)
            if working is not None:
                self._working[node.name] = working
            text = self.query(part, outer)
            self._working = before
            return text

        if node not in self._recursions or self._working:  # inside another one it may depend on that one's rows
            self._recursions[node] = fixpoint(node, query, self._keep)
        return self._recursions[node]

    def _window(self, node: Window, outer: Outer) -> str:
        source, alias = self._from(node.input, outer)
        numbered = self._numbered(node, source, alias, outer)
        known: dict[object, Numbers] = {}
        if numbered is not None:
            source, alias, known = numbered
        columns = _columns(node.input.schema, alias)
        environment = self._environment(columns, outer, {})
        ties = _tie_breakers(node.input.schema, columns)
        calls = (window_text(c, environment, ties, known.get((c.partition_by, c.order_by))) for c in node.calls)
        return f"SELECT {_outputs([*columns, *calls])} FROM {source}"

    def _numbered(
        self, node: Window, source: str, alias: str, outer: Outer
    ) -> tuple[str, str, dict[object, Numbers]] | None:
        """The source with the numbers that calls need, by partition and order; None if none does."""
        orders = {(c.partition_by, c.order_by): c for c in node.calls if needs_numbers(c)}
        if not orders:
            return None
        columns = _columns(node.input.schema, alias)
        ties = _tie_breakers(node.input.schema, columns)
        environment = self._environment(columns, outer, {})
        inner = self._alias()
        texts: list[str] = []
        known: dict[object, Numbers] = {}
        for i, (order, call) in enumerate(orders.items()):
            found = numbers(call, environment, ties)
            texts += [f"{found.place} AS place{i}", f"{found.peers} AS peers{i}"]
            known[order] = Numbers(f"{inner}.place{i}", f"{inner}.peers{i}")
        return f"(SELECT {', '.join([_outputs(columns), *texts])} FROM {source}) AS {inner}", inner, known


def _is_nothing(node: Node) -> bool:
    """One row without columns: what a SELECT without FROM selects from."""
    return isinstance(node, Values) and not node.schema and len(node.rows) == 1


def _columns(schema: Schema, alias: str) -> list[str]:
    return [f"{alias}.c{i}" for i in range(len(schema))]


def _names(schema: Schema, alias: str | None) -> str:
    prefix = f"{alias}." if alias else ""
    return ", ".join(f"{prefix}c{i}" for i in range(len(schema))) or "1 AS one"


def _outputs(texts: Sequence[str]) -> str:
    return ", ".join(f"{text} AS c{i}" for i, text in enumerate(texts)) or "1 AS one"


def _tie_breakers(schema: Schema, columns: Sequence[str]) -> list[str]:
    """All columns, so that equal sort keys leave no choice.  Spark cannot order maps."""
    return [f"{c} ASC NULLS LAST" for c, s in zip(columns, schema, strict=True) if is_comparable(s.type)]
