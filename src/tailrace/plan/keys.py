"""Which columns identify a row: sound, and minimal.  An upsert sink needs one of these.

Everything is a question of what determines what.  A key of an input determines that input's columns; `a = b`
lets either determine the other; `a = constant` is determined by nothing.  A set that determines all columns
is a key. NULL counts as a value: at most one row has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import TypeAlias, assert_never

from tailrace.plan.build import conjuncts
from tailrace.plan.coercion import INTEGERS, family
from tailrace.plan.expressions import Call, Cast, Expression, Literal, Ref
from tailrace.plan.functions.operators import EQUALS, NOT_DISTINCT
from tailrace.plan.functions.tables import ORDINALITY
from tailrace.plan.nodes import (
    Aggregate,
    Distinct,
    Except,
    Filter,
    FlatMap,
    Intersect,
    Join,
    Key,
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
from tailrace.types.core import BOOLEAN, DATE, NUMERIC, TEXT, TIMESTAMP, TIMESTAMPTZ, UUID, SqlType

Keys: TypeAlias = frozenset[Key]
Dependency: TypeAlias = tuple[Key, Key]
"""The columns on the left determine those on the right."""

_MOST = 64  # keys followed up; more only cost time


def infer_keys(node: Node) -> Keys:
    """Column sets that identify a row.  None known: rows may repeat.  The empty key: at most one row."""
    match node:
        case Scan(keys=keys):
            return minimal(keys)
        case Values():
            return _values(node)
        case Filter(input=rows, predicate=predicate):
            return _reduced(infer_keys(rows), len(rows.schema), _equalities(predicate))
        case Project():
            return _project(node)
        case FlatMap():
            return _flat_map(node)
        case Join():
            return _join(node)
        case Aggregate(input=rows, group_by=groups):
            places = {column: i for i, column in enumerate(groups)}
            below = (k for k in infer_keys(rows) if k <= set(groups))
            every = frozenset(set(groups) - fixed(rows))
            return minimal(frozenset(places[c] for c in k) for k in (every, *below))
        case Distinct(input=rows):
            return minimal([frozenset(range(len(rows.schema))) - fixed(rows), *infer_keys(rows)])
        case Union(inputs=inputs):  # UNION ALL: the same row may come from both sides
            return infer_keys(inputs[0]) if len(inputs) == 1 else frozenset()
        case Except(left=left, all=every):
            whole = [] if every else [frozenset(range(len(left.schema)))]
            return minimal([*whole, *infer_keys(left)])
        case Intersect(left=left, right=right, all=every):
            whole = [] if every else [frozenset(range(len(left.schema)))]
            return minimal([*whole, *infer_keys(left), *infer_keys(right)])
        case TopK(input=rows, partition_by=partition, limit=limit):
            first = [frozenset(partition) - fixed(rows)] if limit is not None and limit <= 1 else []
            return minimal([*first, *infer_keys(rows)])
        case Window():
            return _window(node)
        case Recursion(all=False):
            return frozenset({frozenset(range(len(node.schema)))})
        case Recursion() | Working():
            return frozenset()
        case _:
            assert_never(node)


def fixed(node: Node) -> Key:
    """Columns that hold the same value in every row."""
    match node:
        case Filter(input=rows, predicate=predicate):
            constants = frozenset(c for left, right in _equalities(predicate) if not left for c in right)
            return closure(constants | fixed(rows), _equalities(predicate))
        case Project(input=rows, expressions=outputs):
            below = fixed(rows)
            return frozenset(i for i, e in enumerate(outputs) if _is_constant(e) or _column(e) in below)
        case Aggregate(input=rows, group_by=groups):
            below = fixed(rows)
            return frozenset(i for i, column in enumerate(groups) if column in below)
        case Join(left=left, right=right, kind="inner", condition=condition):
            moved = frozenset(c + len(left.schema) for c in fixed(right))
            return closure(fixed(left) | moved, _equalities(condition))
        case Join(left=left, kind="left" | "semi" | "anti"):
            return fixed(left)
        case Distinct(input=rows) | TopK(input=rows) | Window(input=rows) | FlatMap(input=rows):
            return fixed(rows)
        case _:
            return frozenset()


def minimal(keys: Iterable[Key]) -> Keys:
    """Without those that contain another."""
    every = set(keys)
    return frozenset(key for key in every if not any(other < key for other in every))


def closure(columns: Key, dependencies: Sequence[Dependency]) -> Key:
    """All columns that these determine."""
    known = set(columns)
    grown = True
    while grown:
        grown = False
        for left, right in dependencies:
            if left <= known and not right <= known:
                known |= right
                grown = True
    return frozenset(known)


def _values(node: Values) -> Keys:
    if len(node.rows) <= 1:
        return frozenset({frozenset()})
    different = (
        i
        for i in range(len(node.schema))
        if all(isinstance(row[i], Literal) for row in node.rows)
        and len({row[i] for row in node.rows}) == len(node.rows)
    )
    return frozenset(frozenset({i}) for i in different)


def _equalities(predicate: Expression) -> list[Dependency]:
    """What a condition that holds for every row says about its columns."""
    found: list[Dependency] = []
    for part in conjuncts(predicate):
        if not (isinstance(part, Call) and part.function in (EQUALS, NOT_DISTINCT)):
            continue
        left, right = (_column(side) for side in part.arguments)
        if left is not None and right is not None:
            found += [(frozenset({left}), frozenset({right})), (frozenset({right}), frozenset({left}))]
        elif left is not None and _is_constant(part.arguments[1]):
            found.append((frozenset(), frozenset({left})))
        elif right is not None and _is_constant(part.arguments[0]):
            found.append((frozenset(), frozenset({right})))
    return found


def _column(expression: Expression) -> int | None:
    """The column that an expression is, or whose value it shows without loss."""
    while isinstance(expression, Cast) and is_injective(expression.input.type, expression.type):
        expression = expression.input
    return expression.index if isinstance(expression, Ref) else None


def _is_constant(expression: Expression) -> bool:
    while isinstance(expression, Cast):
        expression = expression.input
    return isinstance(expression, Literal)


_SHOWN_EXACTLY = (*INTEGERS, BOOLEAN, DATE, UUID, NUMERIC, TIMESTAMP, TIMESTAMPTZ)


def is_injective(source: SqlType, target: SqlType) -> bool:
    """Do different values stay different under this cast?"""
    one, other = family(source), family(target)
    if other == TEXT and target == TEXT:
        return one in _SHOWN_EXACTLY or one == TEXT
    widening = (*INTEGERS, NUMERIC)
    if one in widening and other in widening:
        return one in INTEGERS and (other in INTEGERS or target == NUMERIC)
    return (one, other) == (DATE, TIMESTAMP) and target == TIMESTAMP


def _reduced(keys: Keys, width: int, extra: Sequence[Dependency]) -> Keys:
    """The keys of rows for which more is known: shorter, and with equal columns in each other's place."""
    whole = frozenset(range(width))
    dependencies = [*extra, *((key, whole) for key in keys)]
    return minimal(_shrunk(v, whole, dependencies) for key in keys for v in _variants(key, extra))


def _shrunk(key: Key, whole: Key, dependencies: Sequence[Dependency]) -> Key:
    for column in sorted(key):
        without = key - {column}
        if closure(without, dependencies) >= whole:
            key = without
    return key


def _variants(key: Key, dependencies: Sequence[Dependency]) -> list[Key]:
    """The key with columns replaced by others that are equal to them."""
    equal: dict[int, set[int]] = {}
    for left, right in dependencies:
        if len(left) == 1 and len(right) == 1:
            equal.setdefault(next(iter(left)), set()).update(right)
    choices = [sorted({column, *equal.get(column, ())}) for column in sorted(key)]
    return [frozenset(chosen) for _, chosen in zip(range(_MOST), product(*choices), strict=False)]


def _project(node: Project) -> Keys:
    places: dict[int, list[int]] = {}
    for i, expression in enumerate(node.expressions):
        column = _column(expression)
        if column is not None:
            places.setdefault(column, []).append(i)
    found: list[Key] = []
    for key in infer_keys(node.input):
        if key <= places.keys():
            combinations = product(*(places[column] for column in sorted(key)))
            found += [frozenset(chosen) for _, chosen in zip(range(_MOST), combinations, strict=False)]
    return minimal(found)


def _flat_map(node: FlatMap) -> Keys:
    """A set's elements may repeat; their numbers do not."""
    if not node.function.endswith(ORDINALITY):
        return frozenset()
    number = len(node.schema) - 1
    return frozenset(key | {number} for key in infer_keys(node.input))


def _join(node: Join) -> Keys:
    left, right = infer_keys(node.left), infer_keys(node.right)
    if node.kind in ("semi", "anti"):
        extra = [d for d in _equalities(node.condition) if _within(d, len(node.left.schema))]
        return _reduced(left, len(node.left.schema), extra) if node.kind == "semi" else left
    width = len(node.left.schema)
    whole = frozenset(range(len(node.schema)))
    lefts, rights = frozenset(range(width)), whole - frozenset(range(width))
    moved = [frozenset(c + width for c in key) for key in right]
    equalities = _equalities(node.condition)
    dependencies: list[Dependency] = []
    # Rows of an outer join that found no partner say nothing of the far side: there a row of the near side
    # stands alone, so what the near side's key determines stays true, but not the way back.
    if node.kind in ("inner", "left"):
        dependencies += [(key, lefts) for key in left]
    if node.kind in ("inner", "right"):
        dependencies += [(key, rights) for key in moved]
    if node.kind == "inner":
        dependencies += equalities
    if node.kind == "left" and _matches_once(moved, lefts, rights, equalities):
        dependencies += [(lefts, rights)]
    if node.kind == "right" and _matches_once(list(left), rights, lefts, equalities):
        dependencies += [(rights, lefts)]
    dependencies += [(one | other, whole) for one in left for other in moved]
    candidates = {one | other for one in left for other in moved}
    candidates |= {key for key in (*left, *moved) if closure(key, dependencies) >= whole}
    variants = (
        v for key in candidates for v in (_variants(key, equalities) if node.kind == "inner" else [key])
    )
    return minimal(
        _shrunk(key, whole, dependencies) for key in variants if closure(key, dependencies) >= whole
    )


def _within(dependency: Dependency, width: int) -> bool:
    return all(column < width for side in dependency for column in side)


def _matches_once(keys: Sequence[Key], near: Key, far: Key, equalities: Sequence[Dependency]) -> bool:
    """Does a row of the near side find at most one partner, because the condition fixes a key of the far
    side?
    """
    fixed = closure(near, equalities) & far
    return any(key <= fixed for key in keys)


def _window(node: Window) -> Keys:
    """row_number() counts the rows of a partition, so both together are a key."""
    found = list(infer_keys(node.input))
    width = len(node.input.schema)
    for i, call in enumerate(node.calls):
        columns = [part.index for part in call.partition_by if isinstance(part, Ref)]
        if call.function == "over row_number()" and len(columns) == len(call.partition_by):
            found.append(frozenset({*columns, width + i}))
    return minimal(found)
