"""What a SUBSCRIBE's rows look like: with `mz_diff`, in an order, or by key as the latest state of each.

The pairing of a key's old and new row is Spark's work: the reader gets finished rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailrace.engine.subscription import Shape, as_it_is
from tailrace.errors import SqlError, SyntaxFailure, UnknownColumn
from tailrace.ivm.zset import ZSet
from tailrace.plan.bind import bind_scalar
from tailrace.plan.expressions import Order, Ref
from tailrace.plan.names import FixedNames
from tailrace.plan.nodes import Node
from tailrace.plan.syntax.calls import parse_order
from tailrace.plan.syntax.tokens import Cursor, tokenize
from tailrace.plan.to_spark import render_order
from tailrace.types.core import BIGINT, TEXT, Column, Schema

if TYPE_CHECKING:
    from tailrace.statements.subscribe import KeyedOutput, OrderedOutput, Subscribe

_DIFF = Column("mz_diff", BIGINT, nullable=False)
_STATE = Column("mz_state", TEXT, nullable=False)


@dataclass(frozen=True, slots=True)
class Output:
    """`columns` behind the time; `names` of the same columns in the Spark text that `shape` makes."""

    columns: Schema
    names: Sequence[str]
    shape: Shape


def output_of(statement: Subscribe, node: Node) -> Output:
    from tailrace.statements.subscribe import KeyedOutput, OrderedOutput

    match statement.output:
        case None:
            return _plain(node, as_it_is(node.schema))
        case OrderedOutput():
            return _ordered(statement.output, node)
        case KeyedOutput():
            return _keyed(statement.output, node)


def _plain(node: Node, shape: Shape) -> Output:
    return Output((_DIFF, *node.schema), ["weight", *(f"c{i}" for i in range(len(node.schema)))], shape)


def _ordered(output: OrderedOutput, node: Node) -> Output:
    head = "ORDER BY "
    text = output.order_by
    parts = parse_order(cursor := Cursor(tokenize(head + text.text, text.start - len(head))))
    cursor.expect_end()
    schema = (*node.schema, _DIFF)
    places = [*(f"c{i}" for i in range(len(node.schema))), "weight"]
    orders = []
    for part in parts.expressions:
        by = bind_scalar(part.this, schema, FixedNames(), subqueries=False)
        if not isinstance(by, Ref):
            raise SyntaxFailure(
                "invalid ORDER BY in SUBSCRIBE WITHIN TIMESTAMP ORDER BY",
                detail="Only output columns and mz_diff can be ordered by.",
                position=text.start + 1,
            )
        nulls_first = bool(part.args.get("nulls_first"))
        orders.append(Order(by=by, descending=bool(part.args.get("desc")), nulls_first=nulls_first))
    clause = ", ".join(render_order(order, places) for order in orders)
    columns = "".join(f"c{i}, " for i in range(len(node.schema)))
    # A number, not an ORDER BY: several ticks of the past come out of one UNION, which keeps no order.
    numbered = f"row_number() OVER (ORDER BY {clause}) AS place"
    consolidated = as_it_is(node.schema)
    return _plain(node, lambda change: f"SELECT {columns}weight, {numbered} FROM ({consolidated(change)})")


def _keyed(output: KeyedOutput, node: Node) -> Output:
    names = [column.name for column in node.schema]
    for name in output.key:
        if name not in names:
            raise UnknownColumn(
                f"invalid keys in SUBSCRIBE ENVELOPE {output.envelope.value} (KEY ({', '.join(output.key)}))",
                detail=f'There is no column "{name}".',
                position=output.position,
            )
        if names.count(name) > 1:
            raise SqlError(f'column reference "{name}" is ambiguous', sqlstate="42702", position=output.position)
    key = [names.index(name) for name in output.key]
    value = [i for i in range(len(names)) if i not in key]
    keys = tuple(node.schema[i] for i in key)
    if output.envelope.value == "UPSERT":
        values = tuple(Column(node.schema[i].name, node.schema[i].type, True) for i in value)
        shown = [f"a{i}" for i in value]
    else:
        values = tuple(
            Column(f"{side}_{node.schema[i].name}", node.schema[i].type, True)
            for side in ("before", "after")
            for i in value
        )
        shown = [f"{side}{i}" for side in ("b", "a") for i in value]
    consolidated = as_it_is(node.schema)
    names_ = ["state", *(f"c{i}" for i in key), *shown]
    is_upsert = output.envelope.value == "UPSERT"

    def shape(change: ZSet) -> str:
        return _paired(consolidated(change), key, value, is_upsert=is_upsert)

    return Output((_STATE, *keys, *values), names_, shape)


def _paired(rows: str, key: Sequence[int], value: Sequence[int], *, is_upsert: bool) -> str:
    """One row a key: its state, its old values b… and its new ones a….  More than one row of a key is a violation."""
    keys = ", ".join(f"c{i}" for i in key)
    row = "struct(" + ", ".join(f"c{i}" for i in value) + ")" if value else "struct(1 AS one)"
    changed = "upsert" if is_upsert else "insert"
    sums = (
        "sum(greatest(weight, 0)) AS came, sum(greatest(-weight, 0)) AS went,"
        f" any_value({row}) FILTER (WHERE weight > 0) AS a, any_value({row}) FILTER (WHERE weight < 0) AS b"
    )
    grouped = f"SELECT {keys}, {sums} FROM ({rows}) GROUP BY {keys}"
    broken = "came > 1 OR went > 1"
    state = (
        f"CASE WHEN {broken} THEN 'key_violation' WHEN came = 0 THEN 'delete'"
        f" WHEN went = 1 THEN 'upsert' ELSE '{changed}' END"
    )
    shown = "".join(f", CASE WHEN NOT ({broken}) THEN {side}.c{i} END AS {side}{i}" for side in "ba" for i in value)
    return f"SELECT {keys}, {state} AS state{shown} FROM ({grouped})"
