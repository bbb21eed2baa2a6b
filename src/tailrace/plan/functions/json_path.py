"""SQL/JSON path expressions: jsonb_path_exists and its like, and the operators @? and @@.

What a path means is in jvm/JsonPath.java.
"""

from __future__ import annotations

from collections.abc import Iterator

from tailrace.plan.functions.entry import Function, function

ARGUMENTS = (
    ("jsonb, text", "{0}, {1}, '{{}}', false"),
    ("jsonb, text, jsonb", "{0}, {1}, {2}, false"),
    ("jsonb, text, jsonb, boolean", "{0}, {1}, {2}, {3}"),
)
"""Document, path, the values of variables, whether errors are passed over; and as arguments of the Java functions."""

_QUERY = "tailrace_jsonb_path_query({})"
_SCALARS = {
    "jsonb_path_exists": ("boolean", "tailrace_jsonb_path_exists({})"),
    "jsonb_path_match": ("boolean", "tailrace_jsonb_path_match({})"),
    "jsonb_path_query_array": ("jsonb", f"concat('[', array_join({_QUERY}, ','), ']')"),
    "jsonb_path_query_first": ("jsonb", f"get({_QUERY}, 0)"),
}


def _functions() -> Iterator[Function]:
    for name, (result, text) in _SCALARS.items():
        for types, given in ARGUMENTS:
            yield function(f"{name}({types}) -> {result}", text.format(given), nulls="always")
    for operator, name in (("@?", "exists"), ("@@", "match")):
        text = f"tailrace_jsonb_path_{name}({{0}}, {{1}}, '{{{{}}}}', true)"
        yield function(f"{operator}(jsonb, text) -> boolean", text, nulls="always")


FUNCTIONS = tuple(_functions())
