"""What PostgreSQL calls a column that has no alias."""

from __future__ import annotations

from sqlglot import exp

from tailrace.plan.syntax.types import NamedType

_NAMES = {
    "array[]": "array",
    "list[]": "list",
    "map[]": "map",
    "array(query)": "array",
    "list(query)": "list",
}
_TYPES = {"int": "int4", "integer": "int4", "bigint": "int8", "smallint": "int2", "boolean": "bool"}


def output_name(node: exp.Expr) -> str:
    """A column's own name, a function's name, `case`, a cast's operand or type; else `?column?`."""
    match node:
        case exp.Column():
            return str(node.name)
        case exp.Dot():
            return str(node.expression.name)
        case exp.Anonymous():
            return _NAMES.get(node.name, node.name)
        case exp.Window() | exp.Paren() | exp.Collate() | exp.Bracket():
            return output_name(node.this)
        case exp.Cast():
            inner = output_name(node.this)
            name = node.args["to"].args["name"]
            if inner != "?column?" or not isinstance(name, NamedType):
                return inner
            return _TYPES.get(name.parts[-1], name.parts[-1])
        case exp.Case():
            default = node.args.get("default")
            named = output_name(default) if isinstance(default, exp.Column) else ""
            return named or "case"
        case exp.Exists():
            return "exists"
        case exp.Tuple():
            return "row"
        case exp.Boolean():
            return "bool"
        case exp.AtTimeZone():
            return "timezone"
        case exp.Subquery():
            return _subquery_name(node.this)
        case _:
            return "?column?"


def _subquery_name(query: exp.Expr) -> str:
    if isinstance(query, exp.Select) and query.expressions:
        item = query.expressions[0]
        return item.alias if isinstance(item, exp.Alias) else output_name(item)
    return "column1" if isinstance(query, exp.Values) else "?column?"
