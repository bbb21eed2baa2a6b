"""SESSION over a relation: its rows beside the sessions that they are in, as a query over window functions.

A row is in the session of the row before it, in its partition and by time, if that is no more than the gap away.  A
session lasts from its first row to the gap after its last one, so that a row that comes can make it longer, or one
session of two.  The window functions recompute the partitions that rows came to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from tailrace.plan.bind_body import renamed
from tailrace.plan.bind_window_tables import column_of, milliseconds, time_of
from tailrace.plan.nodes import Node
from tailrace.plan.parse import parse_query
from tailrace.plan.scope import Field, fields_of
from tailrace.types.core import TimestampTz

ROWS = "rows of sessions"
"""What the query calls the relation."""


def in_sessions(
    node: Node, fields: Sequence[Field], call: exp.Anonymous, bind: Callable[[exp.Expr, Node], Node]
) -> tuple[Node, list[Field]]:
    """The rows of `node` beside their sessions, and what the columns are called.  `bind` binds a query over ROWS."""
    given = call.args["window"]
    time, gap = time_of(fields, given["timecol"]), milliseconds(given["gap"], "gap")
    named = given.get("partition_by", exp.Tuple()).expressions
    width = len(node.schema)
    names = [f"c{i}" for i in range(width)]
    keys = [names[column_of(fields, each, "PARTITION BY").index] for each in named]
    text = _query(names, names[time.index], keys, gap, zoned=isinstance(time.type, TimestampTz))
    made = bind(parse_query(text), renamed(node, names, ROWS))
    made = renamed(made, [column.name for column in node.schema], ROWS)
    return made, [*fields, *fields_of(made.schema[width:], (), width)]


def _query(names: Sequence[str], time: str, keys: Sequence[str], gap: int, *, zoned: bool) -> str:
    by = f"PARTITION BY {', '.join(keys)} " if keys else ""
    wall, last = (" AT TIME ZONE 'UTC'", "timestamptz") if zoned else ("", "timestamp")
    length = f"INTERVAL '{gap} milliseconds'"
    moments = f"SELECT *, date_trunc('milliseconds', {time}) AS at FROM \"{ROWS}\" WHERE {time} IS NOT NULL"
    begun = f"CASE WHEN at - lag(at) OVER ({by}ORDER BY at) <= {length} THEN 0 ELSE 1 END"
    marked = f"SELECT *, {begun} AS begins FROM ({moments}) AS moments"
    numbered = f"SELECT *, sum(begins) OVER ({by}ORDER BY at) AS number FROM ({marked}) AS marked"
    session = f"OVER (PARTITION BY {', '.join([*keys, 'number'])})"
    limits = f"SELECT *, min(at) {session} AS s, max(at) {session} + {length} AS e FROM ({numbered}) AS numbered"
    return (
        f"SELECT {', '.join(names)}, (s{wall})::timestamp(3) AS window_start, (e{wall})::timestamp(3) AS window_end,"
        f" (e - INTERVAL '1 millisecond')::{last}(3) AS window_time FROM ({limits}) AS limits"
    )
