"""LIKE and regular expressions.  The latter are PostgreSQL's (jvm/Regex.java)."""

from __future__ import annotations

import re

from tailrace.plan.expressions import Call, Literal
from tailrace.plan.functions.entry import Function, Render, SparkText, function
from tailrace.plan.spark_literals import quoted


def like_pattern(pattern: str) -> str:
    """A backslash before what needs none is dropped: Spark refuses it."""
    return re.sub(r"\\(.)", lambda found: found[0] if found[1] in "%_\\" else found[1], pattern, flags=re.DOTALL)


_NEEDLESS = quoted(r"(?<!\\)((?:\\\\)*)\\([^%_\\])")


def _like(template: str) -> SparkText:
    def text(call: Call, render: Render) -> str:
        value, pattern = call.arguments
        if isinstance(pattern, Literal) and pattern.text is not None:
            return template.format(render(value), quoted(like_pattern(pattern.text)))
        return template.format(render(value), f"regexp_replace({render(pattern)}, {_NEEDLESS}, '$1$2')")

    return text


_LIKES = {"~~": "({} LIKE {})", "!~~": "({} NOT LIKE {})", "~~*": "({} ILIKE {})", "!~~*": "({} NOT ILIKE {})"}


def _variants(name: str, result: str, spark: str, *defaults: str, nulls: str = "strict") -> tuple[Function, ...]:
    """`name(text, text, …)` with as many of its last arguments as are given; the rest are the defaults.

    `defaults` are `type value`; `{0}`, `{1}`, … in `spark` are all arguments, given or not.
    """
    types, values = zip(*(default.split(" ", 1) for default in defaults), strict=True)
    entries = []
    for given in range(len(defaults) + 1):
        arguments = [f"{{{2 + i}}}" if i < given else values[i] for i in range(len(defaults))]
        text = spark.format("{0}", "{1}", *arguments)
        signature = ", ".join(("text", "text", *types[:given]))
        entries.append(function(f"{name}({signature}) -> {result}", text, nulls=nulls))  # type: ignore[arg-type]
    return tuple(entries)


_GROUPS = "try_element_at(tailrace_regex_all({0}, {1}, {2}), 1)"

FUNCTIONS = (
    *(function(f"{symbol}(text, text) -> boolean", _like(template)) for symbol, template in _LIKES.items()),
    function("~(text, text) -> boolean", "tailrace_regex_matches({0}, {1}, '')"),
    function("!~(text, text) -> boolean", "(NOT tailrace_regex_matches({0}, {1}, ''))"),
    function("~*(text, text) -> boolean", "tailrace_regex_matches({0}, {1}, 'i')"),
    function("!~*(text, text) -> boolean", "(NOT tailrace_regex_matches({0}, {1}, 'i'))"),
    function("similar to(text, text, text) -> boolean", "tailrace_regex_similar({0}, {1}, {2})"),
    function("^@(text, text) -> boolean", "startswith({0}, {1})"),
    function("substring(text, text) -> text", "tailrace_regex_part({0}, {1}, 1, 1, -1, '')", nulls="always"),
    function("regexp_replace(text, text, text) -> text", "tailrace_regex_replace({0}, {1}, {2}, 1, -1, '')"),
    function("regexp_replace(text, text, text, text) -> text", "tailrace_regex_replace({0}, {1}, {2}, 1, -1, {3})"),
    function("regexp_replace(text, text, text, integer) -> text", "tailrace_regex_replace({0}, {1}, {2}, {3}, 1, '')"),
    function(
        "regexp_replace(text, text, text, integer, integer) -> text",
        "tailrace_regex_replace({0}, {1}, {2}, {3}, {4}, '')",
    ),
    function(
        "regexp_replace(text, text, text, integer, integer, text) -> text",
        "tailrace_regex_replace({0}, {1}, {2}, {3}, {4}, {5})",
    ),
    *_variants("regexp_match", "text[]", _GROUPS, "text ''", nulls="always"),
    *_variants("regexp_like", "boolean", "tailrace_regex_matches({0}, {1}, {2})", "text ''"),
    *_variants("regexp_split_to_array", "text[]", "tailrace_regex_split({0}, {1}, {2})", "text ''"),
    *_variants("regexp_count", "integer", "tailrace_regex_count({0}, {1}, {2}, {3})", "integer 1", "text ''"),
    *_variants(
        "regexp_substr",
        "text",
        "tailrace_regex_part({0}, {1}, {2}, {3}, {5}, {4})",
        "integer 1", "integer 1", "text ''", "integer 0",
        nulls="always",
    ),
    *_variants(
        "regexp_instr",
        "integer",
        "tailrace_regex_place({0}, {1}, {2}, {3}, {4}, {5})",
        "integer 1", "integer 1", "integer 0", "text ''",
    ),
)  # fmt: skip
