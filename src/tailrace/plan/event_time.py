"""Window aggregates in event time: those that are final once the watermark has passed the end of their window.

That is an aggregate that is grouped by `window_start` and `window_end` of one TUMBLE, HOP or CUMULATE, whose time is
the column that a table has a watermark for, and where nothing but filters and projections is in between.  Anything
else over windows is grouped like other rows: its groups change for as long as rows come.
"""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.plan.expressions import Ref
from tailrace.plan.functions.tables import WINDOWS
from tailrace.plan.nodes import Aggregate, Filter, FlatMap, Node, Project, Scan, Union

_FUNCTIONS = frozenset(entry.id for entry in WINDOWS)
_START, _END = 0, 1  # places among the columns of a window function


@dataclass(frozen=True, slots=True)
class EventTime:
    """`end`: the place of `window_end` in the aggregate's input.  `tables`: those whose watermarks count."""

    end: int
    tables: tuple[Scan, ...]


def event_time(node: Aggregate) -> EventTime | None:
    origins = {place: _window(node.input, place) for place in node.group_by}
    for end, found in origins.items():
        if found is None or found[1] != _END or (found[0], _START) not in origins.values():
            continue
        windows = found[0]
        time = windows.arguments[0]
        tables = _tables(windows.input, time.index) if isinstance(time, Ref) else None
        if tables:
            return EventTime(end, tuple(dict.fromkeys(tables)))
    return None


def _window(node: Node, place: int) -> tuple[FlatMap, int] | None:
    """The window function that a column comes from, and which of its columns it is."""
    match node:
        case Filter(input=rows):
            return _window(rows, place)
        case Project(input=rows, expressions=expressions):
            expression = expressions[place]
            return _window(rows, expression.index) if isinstance(expression, Ref) else None
        case FlatMap(input=rows):
            own = place - len(rows.schema)
            if own < 0:
                return _window(rows, place)
            return (node, own) if node.function in _FUNCTIONS else None
        case _:
            return None


def _tables(node: Node, place: int) -> list[Scan] | None:
    """The tables whose watermark is about this column; None if there is not one for every row."""
    match node:
        case Scan(watermark=watermark, append_only=True) if watermark == place:
            return [node]
        case Filter(input=rows):
            return _tables(rows, place)
        case Project(input=rows, expressions=expressions):
            expression = expressions[place]
            return _tables(rows, expression.index) if isinstance(expression, Ref) else None
        case FlatMap(input=rows) if place < len(rows.schema):
            return _tables(rows, place)
        case Union(inputs=inputs):
            every = [_tables(each, place) for each in inputs]
            return None if None in every else [scan for tables in every for scan in tables or ()]
        case _:
            return None
