"""Comparison, logic and arithmetic."""

from __future__ import annotations

from tailrace.plan.expressions import Call
from tailrace.plan.functions.decimals import add, divide, multiply, remainder, subtract
from tailrace.plan.functions.domains import powered
from tailrace.plan.functions.entry import Function, Render, function, joined
from tailrace.plan.raising import raising
from tailrace.plan.values import RANGES
from tailrace.types.core import Scalar
from tailrace.types.spark import spark_type

EQUALS, NOT_EQUALS = "=", "<>"
AND, OR, NOT = "and", "or", "not"
IN = "in"
IS_NULL, NOT_DISTINCT = "is null", "is not distinct from"

_LOGIC = (
    function("and(boolean...) -> boolean", joined("({})", " AND "), id=AND),
    function("or(boolean...) -> boolean", joined("({})", " OR "), id=OR),
    function("not(boolean) -> boolean", "(NOT {0})", id=NOT),
    function("is null(T) -> boolean", "({0} IS NULL)", nulls="never", id=IS_NULL),
    function("is true(boolean) -> boolean", "({0} <=> true)", nulls="never"),
    function("is false(boolean) -> boolean", "({0} <=> false)", nulls="never"),
    function("is not distinct from(T, T) -> boolean", "({0} <=> {1})", nulls="never", id=NOT_DISTINCT),
)

_SYMBOLS = ("=", "<>", "<", "<=", ">", ">=")

_COMPARISON = (
    *(function(f"{symbol}(T, T) -> boolean", f"({{0}} {symbol} {{1}})") for symbol in _SYMBOLS),
    function("in(T...) -> boolean", lambda call, render: _in([render(a) for a in call.arguments]), id=IN),
)

_QUANTIFIED = tuple(
    function(
        f"{symbol} {word}(T, {collection}) -> boolean",
        f"{spark}({{1}}, e -> {template})",
        nulls="always",
    )
    for symbol, template in (
        *((s, f"{{0}} {s} e") for s in _SYMBOLS),
        ("~~", "{0} LIKE e"),
        ("~~*", "{0} ILIKE e"),
        ("!~~", "{0} NOT LIKE e"),
        ("!~~*", "{0} NOT ILIKE e"),
        ("~", "tailrace_regex_matches({0}, e, '')"),
        ("~*", "tailrace_regex_matches({0}, e, 'i')"),
        ("!~", "NOT tailrace_regex_matches({0}, e, '')"),
        ("!~*", "NOT tailrace_regex_matches({0}, e, 'i')"),
    )
    for word, spark in (("any", "exists"), ("all", "forall"))
    for collection in ("T[]", "T list")
)

# The text of jsonb is in an order of its own only where documents are equal.
_JSON_ORDER = tuple(
    function(f"{symbol}(jsonb, jsonb) -> boolean", f"(tailrace_jsonb_compare({{0}}, {{1}}) {symbol} 0)")
    for symbol in ("<", "<=", ">", ">=")
)

# A NULL among the elements is larger than any value; to Spark it is smaller.
_ARRAY_ORDER = tuple(
    function(
        f"{symbol}(T[], T[]) -> boolean",
        f"(transform({{0}}, e -> struct(e IS NULL, e)) {symbol} transform({{1}}, e -> struct(e IS NULL, e)))",
    )
    for symbol in ("<", "<=", ">", ">=")
)


def _in(texts: list[str]) -> str:
    return f"({texts[0]} IN ({', '.join(texts[1:])}))"


def checked(text: str, type_name: str) -> str:
    """The value if the unsigned type holds it, else an error."""
    least, most = RANGES[type_name]
    spark = spark_type(Scalar(type_name))
    error = raising("22003", f"{type_name} out of range")
    return f"CAST(CASE WHEN {text} NOT BETWEEN {least} AND {most} THEN {error} ELSE {text} END AS {spark})"


def _unsigned(symbol: str, type_name: str) -> Function:
    def text(call: Call, render: Render) -> str:
        a, b = (f"CAST({render(each)} AS decimal(20,0))" for each in call.arguments)
        operator = "div" if symbol == "/" else symbol
        return checked(f"({a} {operator} {b})", type_name)

    return function(f"{symbol}({type_name}, {type_name}) -> {type_name}", text)


_INTEGERS = tuple(
    entry
    for name, spark in (("smallint", "smallint"), ("integer", "int"), ("bigint", "bigint"))
    for entry in (
        *(function(f"{s}({name}, {name}) -> {name}", f"({{0}} {s} {{1}})") for s in "+-*%&|"),
        function(f"/({name}, {name}) -> {name}", f"CAST({{0}} div {{1}} AS {spark})"),
        function(f"-({name}) -> {name}", "(- {0})"),
        function(f"+({name}) -> {name}", "{0}"),
        function(f"~({name}) -> {name}", "(~{0})"),
        function(f"#({name}, {name}) -> {name}", "({0} ^ {1})"),
        function(f"<<({name}, integer) -> {name}", f"CAST(shiftleft({{0}}, {{1}}) AS {spark})"),
        function(f">>({name}, integer) -> {name}", f"CAST(shiftright({{0}}, {{1}}) AS {spark})"),
    )
)

_UNSIGNED = tuple(_unsigned(symbol, name) for name in ("uint2", "uint4", "uint8") for symbol in "+-*/%")

_NUMERIC = (
    function("+(numeric, numeric) -> numeric", add),
    function("-(numeric, numeric) -> numeric", subtract),
    function("*(numeric, numeric) -> numeric", multiply),
    function("/(numeric, numeric) -> numeric", divide),
    function("%(numeric, numeric) -> numeric", remainder),
    function("-(numeric) -> numeric", "(- {0})"),
    function("^(numeric, numeric) -> numeric", powered),
    function("+(numeric) -> numeric", "{0}"),
)

_FLOATS = tuple(
    entry
    for name, spark in (("real", "float"), ("double precision", "double"))
    for entry in (
        *(function(f"{s}({name}, {name}) -> {name}", f"({{0}} {s} {{1}})") for s in "+-*%"),
        function(f"/({name}, {name}) -> {name}", f"CAST({{0}} / {{1}} AS {spark})"),
        function(f"-({name}) -> {name}", "(- {0})"),
        function(f"+({name}) -> {name}", "{0}"),
    )
)

# Of a real and another number PostgreSQL makes a double precision.
_MIXED_FLOATS = tuple(
    function(f"{s}({one}, {other}) -> double precision", f"(CAST({{0}} AS double) {s} CAST({{1}} AS double))")
    for s in "+-*/"
    for one, other in (("real", "double precision"), ("double precision", "real"))
)

FUNCTIONS = (
    *_LOGIC,
    *_JSON_ORDER,
    *_ARRAY_ORDER,
    *_COMPARISON,
    *_QUANTIFIED,
    *_INTEGERS,
    *_UNSIGNED,
    *_NUMERIC,
    *_FLOATS,
    *_MIXED_FLOATS,
    function("^(double precision, double precision) -> double precision", powered),
)
