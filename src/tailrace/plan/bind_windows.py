"""The OVER clause: named windows and frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from tailrace.errors import DataError, NotSupported, SqlError
from tailrace.plan.coercion import FLOATS
from tailrace.plan.expressions import Cast, Order
from tailrace.plan.syntax.expressions import position_of
from tailrace.plan.value_times import interval_value
from tailrace.types.core import DATE, TIMESTAMP, Numeric, SqlType, Timestamp, TimestampTz


def window_definitions(windows: Sequence[exp.Expr]) -> dict[str, exp.Expr]:
    """What the WINDOW clause says, by name.  A window may build on those before it."""
    named: dict[str, exp.Expr] = {}
    for window in windows:
        name = window.this.name
        try:
            if name in named:
                raise SqlError(f'window "{name}" is already defined', sqlstate="42P20")
            named[name] = named_window(window, named)
        except SqlError as error:
            error.position = position_of(window.this)
            raise
    return named


def named_window(node: exp.Expr, named: Mapping[str, exp.Expr]) -> exp.Expr:
    """The window's definition; a name in it is replaced by what WINDOW says."""
    name = node.args.get("alias")
    if name is None:
        return node
    definition = named.get(name.name)
    if definition is None:
        raise SqlError(f'window "{name.name}" does not exist', sqlstate="42704")
    _check_addition(node, name.name, definition)
    merged = exp.Window(this=node.this)
    for part in ("partition_by", "order", "spec"):
        merged.set(part, node.args.get(part) or definition.args.get(part))
    return merged


def _check_addition(node: exp.Expr, name: str, definition: exp.Expr) -> None:
    """OVER w is the window itself; OVER (w …) adds to it what it does not have."""
    if node.args.get("itself"):
        return
    if node.args.get("partition_by"):
        raise SqlError(f'cannot override PARTITION BY clause of window "{name}"', sqlstate="42P20")
    if node.args.get("order") and definition.args.get("order"):
        raise SqlError(f'cannot override ORDER BY clause of window "{name}"', sqlstate="42P20")
    if definition.args.get("spec"):
        raise SqlError(
            f'cannot copy window "{name}" because it has a frame clause',
            hint=f"OVER {name}, without parentheses, is the window itself.",
            sqlstate="42P20",
        )


def range_orders(spec: exp.Expr | None, orders: Sequence[Order]) -> list[Order]:
    """A RANGE of dates is one of timestamps: Spark knows no offset of a date but whole days."""
    offsets = [] if spec is None else [spec.args["start"], spec.args["end"]]
    if spec is None or spec.args["kind"].upper() != "RANGE" or all(isinstance(each, str) for each in offsets):
        return list(orders)
    return [replace(o, by=Cast(input=o.by, type=TIMESTAMP)) if o.by.type == DATE else o for o in orders]


def frame_text(spec: exp.Expr | None, orders: Sequence[Order]) -> str | None:
    """The frame clause as Spark text, but that Spark knows neither GROUPS nor EXCLUDE.  Offsets are constants."""
    if spec is None:
        return None
    kind = spec.args["kind"].upper()
    if kind == "GROUPS" and not orders:
        raise SqlError("GROUPS mode requires an ORDER BY clause", sqlstate="42P20")
    by = orders[0].by.type if kind == "RANGE" and orders else None
    start = _bound(spec.args["start"], spec.args.get("start_side"), kind, by)
    end = _bound(spec.args["end"], spec.args.get("end_side"), kind, by)
    _check_direction(start, end)
    offsets = [bound for bound in (start, end) if _has_offset(bound)]
    if len({" MONTH " in offset for offset in offsets}) > 1:
        raise NotSupported("RANGE from months to days not yet supported", hint="Say both in months, or both in days.")
    if kind == "RANGE" and len(orders) != 1 and any(_has_offset(bound) for bound in (start, end)):
        raise SqlError(
            "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column", sqlstate="42P20"
        )
    if kind == "RANGE" and not orders:  # all rows are peers
        start, end = "UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING"
    excluded = f" EXCLUDE {spec.args['exclude'].upper()}" if spec.args.get("exclude") else ""
    return f"{kind} BETWEEN {start} AND {end}{excluded}"


def _has_offset(bound: str) -> bool:
    return not bound.startswith(("UNBOUNDED", "CURRENT"))


def _check_direction(start: str, end: str) -> None:
    if start == "UNBOUNDED FOLLOWING":
        raise SqlError("frame start cannot be UNBOUNDED FOLLOWING", sqlstate="42P20")
    if end == "UNBOUNDED PRECEDING":
        raise SqlError("frame end cannot be UNBOUNDED PRECEDING", sqlstate="42P20")
    if start == "CURRENT ROW" and end.endswith("PRECEDING"):
        raise SqlError("frame starting from current row cannot have preceding rows", sqlstate="42P20")
    if start.endswith("FOLLOWING") and (end.endswith("PRECEDING") or end == "CURRENT ROW"):
        raise SqlError("frame starting from following row cannot have preceding rows", sqlstate="42P20")


def _has_fractions(type: SqlType) -> bool:
    return isinstance(type, Numeric) or type in FLOATS


def _bound(value: str | exp.Expr, side: str | None, kind: str, by: SqlType | None) -> str:
    """`by`: the type of what a RANGE is ordered by."""
    if value == "current row":
        return "CURRENT ROW"
    if value == "unbounded":
        return f"UNBOUNDED {(side or '').upper()}"
    fractions = by is not None and _has_fractions(by)
    if isinstance(value, exp.Literal) and not value.is_string and (fractions or value.this.isdigit()):
        return f"{value.this} {(side or '').upper()}"
    if isinstance(value, exp.Literal) and value.is_string and isinstance(by, Timestamp | TimestampTz):
        return f"{_interval(value.this)} {(side or '').upper()}"
    if kind == "RANGE" and isinstance(value, exp.Cast) and isinstance(value.this, exp.Literal):
        return f"{_interval(value.this.this)} {(side or '').upper()}"
    if isinstance(value, exp.Neg):
        raise DataError("frame offset must not be negative", sqlstate="22013")
    raise NotSupported(f"{kind} frames with an offset that is not a whole number not yet supported")


def _interval(text: str) -> str:
    """Spark has intervals of months, and others of days and shorter times, but none of both."""
    months, days, micros = interval_value(text)
    if months and (days or micros):
        raise NotSupported("RANGE frames with an offset of months and days not yet supported")
    if months:
        return f"INTERVAL '{months}' MONTH"
    seconds, rest = divmod(days * 86_400_000_000 + micros, 1_000_000)
    return f"INTERVAL '{seconds}.{rest:06d}' SECOND"
