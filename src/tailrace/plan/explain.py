"""A plan as an indented tree that people can read, with the columns' names instead of their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from tailrace.plan.build import TRUE
from tailrace.plan.explain_expressions import shown
from tailrace.plan.expressions import AggregateCall, Order, WindowCall
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
    inputs,
)

Annotate = Callable[[Node], str]
Names = Callable[[str], str]


def _nothing(node: Node) -> str:
    return ""


def _id(relation: str) -> str:
    return relation


def explain(node: Node, annotate: Annotate = _nothing, relation_name: Names = _id) -> str:
    """One line a node, inputs below it, two blanks deeper.  `annotate` adds a remark, `relation_name` a
    scan's name.
    """
    return "\n".join(_lines(node, annotate, relation_name, 0))


def _lines(node: Node, annotate: Annotate, relation_name: Names, depth: int) -> list[str]:
    remark = annotate(node)
    line = "  " * depth + _described(node, relation_name) + (f"  -- {remark}" if remark else "")
    below = [text for each in inputs(node) for text in _lines(each, annotate, relation_name, depth + 1)]
    return [line, *below]


def _described(node: Node, relation_name: Names) -> str:
    names = [column.name for column in inputs(node)[0].schema] if inputs(node) else []
    match node:
        case Scan(relation=relation, schema=schema):
            return f"Scan {relation_name(relation)} ({', '.join(c.name for c in schema)})"
        case Values(rows=rows, schema=schema):
            return (
                f"Values {len(rows)} row{'' if len(rows) == 1 else 's'} ({', '.join(c.name for c in schema)})"
            )
        case Filter(predicate=predicate):
            return f"Filter {shown(predicate, names)}"
        case Project():
            return "Project " + ", ".join(
                _output(e, n, names) for e, n in zip(node.expressions, node.names, strict=True)
            )
        case FlatMap(function=function, arguments=arguments, columns=columns):
            given = ", ".join(shown(a, names) for a in arguments)
            made = ", ".join(c.name for c in columns)
            return f"FlatMap {function.partition('(')[0]}({given}) as ({made})" + (
                " outer" if node.outer else ""
            )
        case Join(kind=kind, condition=condition):
            both = [*names, *(c.name for c in node.right.schema)]
            return f"Join {kind}" + ("" if condition == TRUE else f" on {shown(condition, both)}")
        case Aggregate(group_by=groups, aggregates=calls):
            by = f" by {', '.join(names[i] for i in groups)}" if groups else ""
            return f"Aggregate{by}: {', '.join(_aggregate(call, names) for call in calls) or 'nothing'}"
        case Distinct():
            return "Distinct"
        case Union():
            return "Union all"
        case Except(all=every) | Intersect(all=every):
            return type(node).__name__ + (" all" if every else "")
        case TopK():
            return _top_k(node, names)
        case Recursion(name=name, all=every):
            return f"Recursion {name}" + (" all" if every else "")
        case Working(name=name):
            return f"Working {name}"
        case Window(calls=calls):
            return "Window " + ", ".join(_window(call, names) for call in calls)
        case _:
            assert_never(node)


def _output(expression: object, name: str, names: Sequence[str]) -> str:
    text = shown(expression, names)  # type: ignore[arg-type]
    return text if text == name else f"{text} as {name}"


def _order(orders: Sequence[Order], names: Sequence[str]) -> str:
    def part(order: Order) -> str:
        nulls = (
            ""
            if order.nulls_first == order.descending
            else " nulls first"
            if order.nulls_first
            else " nulls last"
        )
        return shown(order.by, names) + (" desc" if order.descending else "") + nulls

    return ", ".join(map(part, orders))


def _aggregate(call: AggregateCall, names: Sequence[str]) -> str:
    arguments = ", ".join(shown(a, names) for a in call.arguments) or (
        "*" if call.function == "count()" else ""
    )
    distinct = "distinct " if call.distinct else ""
    order = f" order by {_order(call.order_by, names)}" if call.order_by else ""
    condition = f" filter (where {shown(call.filter, names)})" if call.filter is not None else ""
    return f"{call.function.partition('(')[0]}({distinct}{arguments}{order}){condition}"


def _window(call: WindowCall, names: Sequence[str]) -> str:
    name = call.function.removeprefix("over ").partition("(")[0]
    parts = []
    if call.partition_by:
        parts.append("partition by " + ", ".join(shown(p, names) for p in call.partition_by))
    if call.order_by:
        parts.append("order by " + _order(call.order_by, names))
    if call.frame:
        parts.append(call.frame.lower())
    return f"{name}({', '.join(shown(a, names) for a in call.arguments)}) over ({' '.join(parts)})"


def _top_k(node: TopK, names: Sequence[str]) -> str:
    text = "TopK"
    if node.partition_by:
        text += " per " + ", ".join(names[i] for i in node.partition_by)
    if node.order_by:
        text += " order by " + _order(node.order_by, names)
    if node.limit is not None:
        text += f" limit {node.limit}"
    return text + (f" offset {node.offset}" if node.offset else "")
