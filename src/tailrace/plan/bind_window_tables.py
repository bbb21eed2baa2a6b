"""TUMBLE, HOP and CUMULATE over a relation: its rows, once for each window that a row's time is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from tailrace.errors import NotSupported, SqlError, UnknownColumn
from tailrace.plan.expressions import Literal, Ref
from tailrace.plan.functions.tables import WINDOWS
from tailrace.plan.nodes import FlatMap, Node
from tailrace.plan.scope import Field, fields_of
from tailrace.plan.syntax.expressions import position_of
from tailrace.plan.value_times import interval_value
from tailrace.types.core import BIGINT, Column, Timestamp, TimestampTz

_STEPS = {"hop": "slide", "cumulate": "step"}
_MILLISECONDS = Timestamp(3)


def windowed(node: Node, fields: Sequence[Field], call: exp.Anonymous) -> tuple[Node, list[Field]]:
    """The rows of `node` beside their windows, and what the columns are called."""
    given: Mapping[str, exp.Expr] = call.args["window"]
    name = call.name
    time = time_of(fields, given["timecol"])
    size = milliseconds(given["size"], "size")
    step = milliseconds(given[_STEPS[name]], _STEPS[name]) if name in _STEPS else size
    offset = milliseconds(given["offset"], "offset", positive=False) if "offset" in given else 0
    if size % step:
        raise SqlError(
            f"{name.upper()} table function based aggregate requires size must be an integral multiple of"
            f" {_STEPS.get(name, 'size')}, but got size {size} ms and {_STEPS.get(name, 'size')} {step} ms",
            position=position_of(given["size"]),
            sqlstate="22023",
        )
    zoned = isinstance(time.type, TimestampTz)
    wanted = f"{name}({'timestamptz' if zoned else 'timestamp'}, "
    [function] = [each for each in WINDOWS if each.id.startswith(wanted)]
    numbers = (Literal(text=str(number), type=BIGINT) for number in (size, step, offset))
    flat = FlatMap(
        input=node,
        function=function.id,
        arguments=(Ref(index=time.index, type=time.type, nullable=time.nullable), *numbers),
        columns=(
            Column("window_start", _MILLISECONDS, False),
            Column("window_end", _MILLISECONDS, False),
            Column("window_time", TimestampTz(3) if zoned else _MILLISECONDS, False),
        ),
    )
    width = len(node.schema)
    return flat, [*fields, *fields_of(flat.schema[width:], (), width)]


def column_of(fields: Sequence[Field], identifier: exp.Expr, clause: str) -> Field:
    name = identifier.name
    folded = not identifier.args.get("quoted")
    found = [field for field in fields if field.is_called(name, folded=folded) and not field.qualified_only]
    if len(found) != 1:
        raise UnknownColumn(f'column "{name}" of {clause} does not exist', position=position_of(identifier))
    return found[0]


def time_of(fields: Sequence[Field], identifier: exp.Expr) -> Field:
    """The column that DESCRIPTOR names."""
    found = column_of(fields, identifier, "DESCRIPTOR")
    if not isinstance(found.type, Timestamp | TimestampTz):
        raise SqlError(
            "The window function requires the timecol is a time attribute type,"
            f" but is {str(found.type).upper()}.",
            hint="Give a column of type timestamp or timestamptz.",
            position=position_of(identifier),
            sqlstate="42804",
        )
    return found


def milliseconds(expression: exp.Expr, what: str, *, positive: bool = True) -> int:
    """A constant interval in milliseconds."""
    position = position_of(expression)
    negative = isinstance(expression, exp.Neg)
    inner = expression.this if negative else expression
    text = inner.this if isinstance(inner, exp.Cast) else inner
    if not (isinstance(text, exp.Literal) and text.is_string):
        raise SqlError(f"the {what} of windows must be a constant interval", position=position, sqlstate="42601")
    months, days, micros = interval_value(text.name)
    if months:
        raise NotSupported(f"a {what} of windows in months or years not supported", position=position)
    length, rest = divmod(days * 86_400_000_000 + micros, 1000)
    if rest or (positive and length <= 0):
        raise SqlError(f"the {what} of windows must be a positive number of milliseconds", position=position)
    return -length if negative else length
