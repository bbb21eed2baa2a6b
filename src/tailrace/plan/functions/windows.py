"""Window functions as Spark text.

Rows with equal sort keys are peers.  A frame of RANGE or GROUPS begins and ends with a whole group of them, so the
columns that put peers in a fixed order cannot be part of the window's ORDER BY: where that order matters each row
is numbered before (`Numbers`), and a frame of GROUPS is one of RANGE over the number of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tailrace.plan.expressions import WindowCall
from tailrace.plan.functions.aggregates import Group, aggregate_text
from tailrace.plan.functions.entry import parse_signature
from tailrace.plan.functions.ordered import Sort
from tailrace.plan.raising import raising
from tailrace.types.core import SqlType

if TYPE_CHECKING:
    from tailrace.plan.spark_expressions import Environment

IGNORE_NULLS = "+ignore nulls"
"""Behind a function's id."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Where a row stands in its partition, as texts: `place` is its own number, `peers` that of its group."""

    place: str
    peers: str


OfFrame: TypeAlias = Callable[[Group, str, bool], str]
"""The text of a function that looks at its frame: from the frame's rows, a row's place, and whether NULLs are passed
over."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowFunction:
    """`by_place`: what it gives depends on the order of peers, so all columns decide it.

    `spark` is a template, for what looks at the whole partition whatever the frame is; or it is of the frame.
    """

    id: str
    name: str
    arguments: tuple[SqlType, ...]
    result: SqlType
    spark: str | OfFrame
    by_place: bool
    nullable: bool


def _window(
    signature: str, spark: str | OfFrame, *, by_place: bool = True, nullable: bool = True
) -> WindowFunction:
    name, arguments, result, _ = parse_signature(signature)
    return WindowFunction(
        id=f"over {signature.split(' -> ')[0]}",
        name=name,
        arguments=arguments,
        result=result,
        spark=spark,
        by_place=by_place,
        nullable=nullable,
    )


def _outermost(function: str, index: int) -> OfFrame:
    """The value of the first or of the last row."""

    def text(frame: Group, place: str, ignore_nulls: bool) -> str:
        if frame.kept:
            return f"try_element_at({_in_order(frame, place, ignore_nulls)}, {index}).v"
        value = frame.arguments[0]
        counted = f"CASE WHEN {value} IS NOT NULL THEN {place} END" if ignore_nulls else place
        return f"{function}({value}, {counted}){frame.tail}"

    return text


def _nth(frame: Group, place: str, ignore_nulls: bool) -> str:
    n = frame.arguments[1]
    error = raising("22016", "argument of nth_value must be greater than zero")
    found = f"try_element_at({_in_order(frame, place, ignore_nulls)}, {n}).v"
    return f"CASE WHEN {n} > 0 THEN {found} WHEN {n} <= 0 THEN {error} END"


def _in_order(frame: Group, place: str, ignore_nulls: bool) -> str:
    """The frame's rows as an array: `place` and the value `v`."""
    value = frame.arguments[0]
    row = f"named_struct('place', {place}, 'v', {value})"
    rows = frame.collected(f"CASE WHEN {value} IS NOT NULL THEN {row} END" if ignore_nulls else row)
    return f"array_sort({rows}, (l, r) -> l.place - r.place)"


WINDOWS = (
    _window("row_number() -> bigint", "CAST(row_number(){over} AS bigint)", nullable=False),
    _window("rank() -> bigint", "CAST(rank(){over} AS bigint)", by_place=False, nullable=False),
    _window("dense_rank() -> bigint", "CAST(dense_rank(){over} AS bigint)", by_place=False, nullable=False),
    _window("percent_rank() -> double precision", "percent_rank(){over}", by_place=False, nullable=False),
    _window("cume_dist() -> double precision", "cume_dist(){over}", by_place=False, nullable=False),
    _window("ntile(integer) -> integer", "ntile({0}){over}", nullable=False),
    _window("lag(T) -> T", "lag({0}){nulls}{over}"),
    _window("lag(T, integer) -> T", "lag({0}, {1}){nulls}{over}"),
    _window("lag(T, integer, T) -> T", "lag({0}, {1}, {2}){nulls}{over}"),
    _window("lead(T) -> T", "lead({0}){nulls}{over}"),
    _window("lead(T, integer) -> T", "lead({0}, {1}){nulls}{over}"),
    _window("lead(T, integer, T) -> T", "lead({0}, {1}, {2}){nulls}{over}"),
    _window("first_value(T) -> T", _outermost("min_by", 1)),
    _window("last_value(T) -> T", _outermost("max_by", -1)),
    _window("nth_value(T, integer) -> T", _nth),
)

_BY_NAME: dict[str, list[WindowFunction]] = {}
for _entry in WINDOWS:
    _BY_NAME.setdefault(_entry.name, []).append(_entry)
_BY_ID = {entry.id: entry for entry in WINDOWS}


def window_candidates(name: str) -> list[WindowFunction]:
    return _BY_NAME.get(name, [])


def window_names() -> tuple[str, ...]:
    return tuple(_BY_NAME)


def needs_numbers(call: WindowCall) -> bool:
    entry = _entry_of(call)
    kind, kept = _frame(call)
    if entry is not None:
        return not isinstance(entry.spark, str)
    return kind.startswith("GROUPS") or kept is not None


def numbers(call: WindowCall, environment: Environment, ties: Sequence[str]) -> Numbers:
    """The texts that number a row.  `ties`: ORDER BY parts over all columns."""
    partition = [environment.render(p) for p in call.partition_by]
    order = [environment.order(part) for part in call.order_by]
    place = f"row_number(){_over(partition, [*order, *ties], None)}"
    return Numbers(place, f"dense_rank(){_over(partition, order, None)}" if order else "1")


def window_text(call: WindowCall, environment: Environment, ties: Sequence[str], numbers: Numbers | None) -> str:
    """The text of one window function.  `ties`: ORDER BY parts over all columns, for what depends on places."""
    entry = _entry_of(call)
    partition = [environment.render(p) for p in call.partition_by]
    order = [environment.order(part) for part in call.order_by]
    arguments = [environment.render(argument) for argument in call.arguments]
    ignore_nulls = call.function.endswith(IGNORE_NULLS)
    if entry is not None and isinstance(entry.spark, str):
        over = _over(partition, [*order, *(ties if entry.by_place else ())], None)
        return entry.spark.format(*arguments, over=over, nulls=" IGNORE NULLS" if ignore_nulls else "")
    frame, kept = _frame(call)
    if frame.startswith("ROWS"):
        order += ties
    elif frame.startswith("GROUPS"):
        assert numbers is not None
        frame, order = frame.replace("GROUPS", "RANGE", 1), [numbers.peers]
    group = Group(
        arguments=arguments,
        sorts=[Sort(environment.render(o.by), o.descending, o.nulls_first) for o in call.order_by],
        tail=_over(partition, order, frame),
        kept=kept.format(place=numbers.place, peers=numbers.peers) if kept and numbers else "",
        numbers=f"'place', {numbers.place}, 'peers', {numbers.peers}" if numbers else "",
    )
    if entry is None:
        return aggregate_text(call, group)
    assert numbers is not None
    assert not isinstance(entry.spark, str)
    return entry.spark(group, numbers.place, ignore_nulls)


def _entry_of(call: WindowCall) -> WindowFunction | None:
    """None for an aggregate."""
    return _BY_ID.get(call.function.removesuffix(IGNORE_NULLS))


_KEPT = {
    "CURRENT ROW": "e.place <> {place}",
    "GROUP": "e.peers <> {peers}",
    "TIES": "e.peers <> {peers} OR e.place = {place}",
}
"""What EXCLUDE leaves of the frame's rows `e`."""


def _frame(call: WindowCall) -> tuple[str, str | None]:
    """The frame without EXCLUDE, or nothing if it is the default; and what EXCLUDE leaves of it."""
    frame, _, excluded = (call.frame or "").partition(" EXCLUDE ")
    return frame, _KEPT[excluded] if excluded else None


def _over(partitions: Sequence[str], orders: Sequence[str], frame: str | None) -> str:
    parts = []
    if partitions:
        parts.append("PARTITION BY " + ", ".join(partitions))
    if orders:
        parts.append("ORDER BY " + ", ".join(orders))
    if frame:
        parts.append(frame)
    return f" OVER ({' '.join(parts)})"
