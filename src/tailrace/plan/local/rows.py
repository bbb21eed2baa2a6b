"""The rows of a plan, node by node, each a list.  For the few thousand rows that a catalog has.

A plan that turns out to look at many more is left to Spark: no query may keep the driver busy for long.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from itertools import zip_longest
from typing import Any, assert_never

from tailrace.plan.build import conjuncts
from tailrace.plan.equalities import equalities
from tailrace.plan.expressions import AggregateCall, Call, Order
from tailrace.plan.functions.operators import NOT_DISTINCT
from tailrace.plan.functions.tables import ORDINALITY, apart
from tailrace.plan.local.aggregates import aggregate
from tailrace.plan.local.contract import Evaluate, Functions, Leaf, NotLocal, Outer, Row, Rows
from tailrace.plan.local.expressions import Compiler
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
from tailrace.plan.recursion import endless
from tailrace.types.core import VECTORS

MOST_ROWS = 2_000_000
"""That one query looks at, over all its nodes."""

MOST_STEPS = 100_000
"""Of a recursion."""


def rows_of(node: Node, leaf: Leaf, functions: Functions, order_by: Sequence[Order] = ()) -> Rows:
    """The plan's rows, in this order if one is given.  Raises NotLocal, or the error that the query meets."""
    evaluator = _Evaluator(leaf, functions)
    return evaluator.ordered(evaluator.rows(node, ()), order_by, ())


class _Evaluator:
    def __init__(self, leaf: Leaf, functions: Functions) -> None:
        self._leaf = leaf
        self._scanned: dict[str, Rows] = {}
        self._working: dict[str, Rows] = {}
        self._looked_at = 0
        self._compiler = Compiler(self.rows, functions)
        self._compiled: dict[int, tuple[Any, Evaluate]] = {}

    def rows(self, node: Node, outer: Outer) -> Rows:
        found = self._rows(node, outer)
        self._looks_at(len(found))
        return found

    def _rows(self, node: Node, outer: Outer) -> Rows:
        match node:
            case Scan():
                return self._scan(node)
            case Values(rows=rows):
                return [tuple(self._value(e, (), outer) for e in row) for row in rows]
            case Filter(input=input, predicate=predicate):
                holds = self._compile(predicate)
                return [row for row in self.rows(input, outer) if holds(row, outer) is True]
            case Project(input=input, expressions=expressions):
                parts = [self._compile(e) for e in expressions]
                return [tuple(part(row, outer) for part in parts) for row in self.rows(input, outer)]
            case FlatMap():
                return self._flat_map(node, outer)
            case Join():
                return self._join(node, outer)
            case Aggregate():
                return self._aggregate(node, outer)
            case Distinct(input=input):
                return list({key_of(row): row for row in self.rows(input, outer)}.values())
            case Union(inputs=inputs):
                return [row for each in inputs for row in self.rows(each, outer)]
            case Except() | Intersect():
                return self._set_operation(node, outer)
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

    def _scan(self, scan: Scan) -> Rows:
        if scan.relation not in self._scanned:
            self._scanned[scan.relation] = list(self._leaf(scan))
        return self._scanned[scan.relation]

    def _looks_at(self, rows: int) -> None:
        self._looked_at += rows
        if self._looked_at > MOST_ROWS:
            raise NotLocal("many rows")

    def _compile(self, expression: Any) -> Evaluate:
        """Once for each place in the plan: a correlated subquery comes by often."""
        known = self._compiled.get(id(expression))
        if known is None:
            known = self._compiled[id(expression)] = (expression, self._compiler.compile(expression))
        return known[1]

    def _value(self, expression: Any, row: Row, outer: Outer) -> Any:
        return self._compile(expression)(row, outer)

    def ordered(self, rows: Rows, order_by: Sequence[Order], outer: Outer) -> Rows:
        """Sorted by the last part first: sorting is stable."""
        for part in reversed(order_by):
            by = self._compile(part.by)
            pairs = [(by(row, outer), row) for row in rows]
            nulls = [row for value, row in pairs if value is None]
            present = [pair for pair in pairs if pair[0] is not None]
            present.sort(key=lambda pair: _sortable(pair[0]), reverse=part.descending)
            sorted_rows = [row for _, row in present]
            rows = nulls + sorted_rows if part.nulls_first else sorted_rows + nulls
        return rows

    def _flat_map(self, node: FlatMap, outer: Outer) -> Rows:
        name = node.function.removesuffix(ORDINALITY)
        make = _set(name)
        arguments = [self._compile(argument) for argument in node.arguments]
        numbered = node.function != name
        found: Rows = []
        for row in self.rows(node.input, outer):
            values = [argument(row, outer) for argument in arguments]
            sets = make(values)
            self._looks_at(max(map(len, sets)))  # before any is made
            made = list(zip_longest(*sets))
            found += [(*row, *members, *((place,) if numbered else ())) for place, members in enumerate(made, start=1)]
            if node.outer and not made:
                found.append((*row, *[None] * len(node.columns)))
        return found

    def _join(self, join: Join, outer: Outer) -> Rows:
        left, right = self.rows(join.left, outer), self.rows(join.right, outer)
        width = len(join.right.schema)
        condition = self._compile(join.condition)
        candidates = self._candidates(join, right, outer)
        matched: set[int] = set()
        found: Rows = []
        for row in left:
            possible = candidates(row)
            self._looks_at(len(possible))
            partners = [i for i in possible if condition((*row, *right[i]), outer) is True]
            match join.kind:
                case "semi" | "anti":
                    found += [row] if bool(partners) == (join.kind == "semi") else []
                case _:
                    matched.update(partners)
                    found += [(*row, *right[i]) for i in partners]
                    if not partners and join.kind in ("left", "full"):
                        found.append((*row, *[None] * width))
        if join.kind in ("right", "full"):
            empty = (None,) * len(join.left.schema)
            found += [(*empty, *row) for i, row in enumerate(right) if i not in matched]
        return found

    def _candidates(self, join: Join, right: Rows, outer: Outer) -> Callable[[Row], Sequence[int]]:
        """Places of the right rows that may match: by a hash of the equalities, if there are any."""
        pairs = equalities(join)
        if not pairs:
            everything = range(len(right))
            return lambda row: everything
        lefts = [self._compile(one) for one, _ in pairs]
        rights = [self._compile(other) for _, other in pairs]
        nulls_meet = any(isinstance(c, Call) and c.function == NOT_DISTINCT for c in conjuncts(join.condition))
        places: defaultdict[Hashable, list[int]] = defaultdict(list)
        for i, row in enumerate(right):
            key = tuple(part(row, outer) for part in rights)
            if nulls_meet or None not in key:
                places[key_of(key)].append(i)
        return lambda row: places.get(key_of(tuple(part(row, outer) for part in lefts)), ())

    def _aggregate(self, node: Aggregate, outer: Outer) -> Rows:
        groups: dict[Hashable, Rows] = {} if node.group_by else {(): []}
        firsts: dict[Hashable, Row] = {}
        for row in self.rows(node.input, outer):
            group = tuple(row[i] for i in node.group_by)
            groups.setdefault(key_of(group), []).append(row)
            firsts.setdefault(key_of(group), group)
        return [
            (*firsts.get(key, ()), *(self._aggregated(call, rows, outer) for call in node.aggregates))
            for key, rows in groups.items()
        ]

    def _aggregated(self, call: AggregateCall, rows: Rows, outer: Outer) -> Any:
        finish = aggregate(call.function)
        if call.filter is not None:
            keep = self._compile(call.filter)
            rows = [row for row in rows if keep(row, outer) is True]
        arguments = [self._compile(argument) for argument in call.arguments]
        # Without an ORDER BY of its own an aggregate that depends on order uses that of the values, as in Spark.
        pairs = sorted(
            ((tuple(argument(row, outer) for argument in arguments), row) for row in rows),
            key=lambda pair: [_with_nulls(value) for value in pair[0]],
        )
        if call.order_by:
            places = {id(row): values for values, row in pairs}
            pairs = [(places[id(row)], row) for row in self.ordered([row for _, row in pairs], call.order_by, outer)]
        values = [value for value, _ in pairs]
        return finish(list({key_of(value): value for value in values}.values()) if call.distinct else values)

    def _recursion(self, node: Recursion, outer: Outer) -> Rows:
        before = self._working.get(node.name, [])
        known: set[Hashable] = set()
        found: Rows = []
        working = self.rows(node.seed, outer)
        steps = 0
        while working:
            steps += 1
            if steps > MOST_STEPS:
                raise endless(node.name, f"{MOST_STEPS:,} steps")
            if not node.all:
                fresh = {key_of(row): row for row in working if key_of(row) not in known}
                known |= fresh.keys()
                working = list(fresh.values())
            found += working
            self._working[node.name] = working
            working = self.rows(node.step, outer) if working else []
        self._working[node.name] = before
        return found

    def _set_operation(self, node: Except | Intersect, outer: Outer) -> Rows:
        left, right = self.rows(node.left, outer), self.rows(node.right, outer)
        wanted = isinstance(node, Intersect)
        if not node.all:
            known = {key_of(row) for row in right}
            return list({key_of(row): row for row in left if (key_of(row) in known) == wanted}.values())
        counts, found = Counter(map(key_of, right)), []
        for row in left:
            has = counts[key_of(row)] > 0
            counts[key_of(row)] -= has
            if has == wanted:
                found.append(row)
        return found

    def _top_k(self, node: TopK, outer: Outer) -> Rows:
        rows = sorted(self.rows(node.input, outer), key=lambda row: [_with_nulls(value) for value in row])
        rows = self.ordered(rows, node.order_by, outer)
        groups: dict[Hashable, Rows] = {}
        for row in rows:
            groups.setdefault(key_of(tuple(row[i] for i in node.partition_by)), []).append(row)
        end = None if node.limit is None else node.offset + node.limit
        return [row for group in groups.values() for row in group[node.offset : end]]

    def _window(self, node: Window, outer: Outer) -> Rows:
        rows = [(*row, i) for i, row in enumerate(self.rows(node.input, outer))]
        columns: list[list[Any]] = []
        for call in node.calls:
            if call.function != "over row_number()":
                raise NotLocal(call.function)
            partition = [self._compile(e) for e in call.partition_by]
            order = self.ordered(
                sorted(rows, key=lambda row: [_with_nulls(value) for value in row]), call.order_by, outer
            )
            counts: Counter[Hashable] = Counter()
            numbers: dict[int, int] = {}
            for row in order:
                key = key_of(tuple(part(row, outer) for part in partition))
                counts[key] += 1
                numbers[row[-1]] = counts[key]
            columns.append([numbers[i] for i in range(len(rows))])
        return [(*row, *(column[i] for column in columns)) for *row, i in rows]


def key_of(value: Any) -> Hashable:
    """Equal for equal values, also of arrays and records."""
    if isinstance(value, tuple | list):
        return tuple(key_of(part) for part in value)
    if isinstance(value, dict):
        return tuple(sorted((k, key_of(v)) for k, v in value.items()))
    return value  # type: ignore[no-any-return]


def _sortable(value: Any) -> Any:
    return [_with_nulls(part) for part in value] if isinstance(value, tuple | list) else value


def _with_nulls(value: Any) -> tuple[bool, Any]:
    """A value that sorts beside NULLs: they come first."""
    return (value is not None, None if value is None else _sortable(value))


def _series(start: int, end: int, step: int = 1) -> range:
    if step == 0:
        raise NotLocal("generate_series")
    return range(start, end + (1 if step > 0 else -1), step)


def _set(function: str) -> Callable[[list[Any]], list[Sequence[Any]]]:
    """From the arguments' values to the members of a set, or of several that stand side by side."""
    parts = apart(function)
    unknown = [name for name, _ in parts if name not in _SETS]
    if unknown:
        raise NotLocal(unknown[0])

    def sets(values: list[Any]) -> list[Sequence[Any]]:
        found, first = [], 0
        for name, count in parts:
            given = values[first : first + count]
            found.append([] if None in given else _SETS[name](*given))
            first += count
        return found

    return sets


_SETS: dict[str, Callable[..., Any]] = {
    **{
        f"generate_series({', '.join([type] * count)})": _series for type in ("integer", "bigint") for count in (2, 3)
    },
    "generate_subscripts(T[], integer)": lambda values, dimension: range(1, len(values) + 1),
    **{f"generate_subscripts({vector}, integer)": lambda values, dimension: range(len(values)) for vector in VECTORS},
    "_pg_expandarray(smallint[])": lambda values: [(value, place) for place, value in enumerate(values, start=1)],
    "unnest(T[])": list,
    "unnest(T list)": list,
}
