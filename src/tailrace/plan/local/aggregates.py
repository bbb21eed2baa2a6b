"""Aggregates of a group's rows, given as tuples of argument values, already filtered, distinct and ordered."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from tailrace.errors import DataError
from tailrace.plan.local.casts import in_range
from tailrace.plan.local.contract import NotLocal, Rows
from tailrace.plan.value_json import print_json, read_json
from tailrace.plan.values import parse_value
from tailrace.types.core import NUMERIC


def _present(rows: Rows) -> list[Any]:
    return [row[0] for row in rows if row[0] is not None]


def _of_present(choose: Callable[[list[Any]], Any]) -> Callable[[Rows], Any]:
    def apply(rows: Rows) -> Any:
        values = _present(rows)
        return choose(values) if values else None

    return apply


def _string(rows: Rows) -> str | None:
    present = [row for row in rows if row[0] is not None]
    if not present:
        return None
    return str(present[0][0]) + "".join((separator or "") + text for text, separator in present[1:])


def _single(rows: Rows) -> Any:
    if len(rows) > 1:
        raise DataError("more than one row returned by a subquery used as an expression", sqlstate="21000")
    return rows[0][0] if rows else None


def _numeric_sum(values: list[int]) -> Decimal:
    return parse_value(str(sum(values)), NUMERIC)  # type: ignore[no-any-return]


def _json_array(rows: Rows) -> str | None:
    return print_json([None if row[0] is None else read_json(row[0]) for row in rows]) if rows else None


_AGGREGATES: dict[str, Callable[[Rows], Any]] = {
    "count()": len,
    "count(T)": lambda rows: len(_present(rows)),
    "sum(smallint)": _of_present(lambda values: in_range(sum(values), "bigint")),
    "sum(integer)": _of_present(lambda values: in_range(sum(values), "bigint")),
    "sum(bigint)": _of_present(_numeric_sum),
    "min(T)": _of_present(min),
    "max(T)": _of_present(max),
    "bool_and(boolean)": _of_present(all),
    "every(boolean)": _of_present(all),
    "bool_or(boolean)": _of_present(any),
    "string_agg(text, text)": _string,
    "array_agg(T)": lambda rows: [row[0] for row in rows] or None,
    "list_agg(T)": lambda rows: [row[0] for row in rows] or None,
    "jsonb_agg(jsonb)": _json_array,
    "single(T)": _single,
}


def aggregate(function: str) -> Callable[[Rows], Any]:
    """Raises NotLocal."""
    found = _AGGREGATES.get(function)
    if found is None:
        raise NotLocal(function)
    return found
