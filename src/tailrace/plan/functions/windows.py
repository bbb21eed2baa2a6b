"""Window functions as Spark text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailrace.plan.expressions import WindowCall
from tailrace.plan.functions.aggregates import Group, aggregate_text
from tailrace.plan.functions.entry import parse_signature
from tailrace.plan.functions.ordered import Sort
from tailrace.types.core import SqlType

if TYPE_CHECKING:
    from tailrace.plan.spark_expressions import Environment

IGNORE_NULLS = "+ignore nulls"
"""Behind a function's id."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowFunction:
    """`by_place`: what it gives depends on the order of rows with equal sort keys, so all columns decide
    it.
    """

    id: str
    name: str
    arguments: tuple[SqlType, ...]
    result: SqlType
    spark: str
    by_place: bool
    nullable: bool


def _window(signature: str, spark: str, *, by_place: bool = True, nullable: bool = True) -> WindowFunction:
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
    _window("first_value(T) -> T", "first_value({0}){nulls}{over}"),
    _window("last_value(T) -> T", "last_value({0}){nulls}{over}", by_place=False),
    _window("nth_value(T, integer) -> T", "nth_value({0}, {1}){nulls}{over}", by_place=False),
)

_BY_NAME: dict[str, list[WindowFunction]] = {}
for _entry in WINDOWS:
    _BY_NAME.setdefault(_entry.name, []).append(_entry)
_BY_ID = {entry.id: entry for entry in WINDOWS}


def window_candidates(name: str) -> list[WindowFunction]:
    return _BY_NAME.get(name, [])


def window_names() -> tuple[str, ...]:
    return tuple(_BY_NAME)


def window_text(call: WindowCall, environment: Environment, ties: Sequence[str]) -> str:
    """The text of one window function.  `ties`: ORDER BY parts over all columns, for what depends on
    places.
    """
    id = call.function.removesuffix(IGNORE_NULLS)
    entry = _BY_ID.get(id)
    parts = [environment.order(order) for order in call.order_by]
    if (entry is not None and entry.by_place) or (call.frame or "").startswith("ROWS"):
        parts += ties
    over = _over([environment.render(p) for p in call.partition_by], parts, call.frame)
    arguments = [environment.render(argument) for argument in call.arguments]
    if entry is None:
        sorts = [Sort(environment.render(o.by), o.descending, o.nulls_first) for o in call.order_by]
        return aggregate_text(call, Group(arguments=arguments, sorts=sorts, tail=over))
    nulls = " IGNORE NULLS" if call.function.endswith(IGNORE_NULLS) else ""
    return entry.spark.format(*arguments, over=over, nulls=nulls)


def _over(partitions: Sequence[str], orders: Sequence[str], frame: str | None) -> str:
    parts = []
    if partitions:
        parts.append("PARTITION BY " + ", ".join(partitions))
    if orders:
        parts.append("ORDER BY " + ", ".join(orders))
    if frame:
        parts.append(frame)
    return f" OVER ({' '.join(parts)})"
