"""Ranges of numbers, dates and times.

They are the structs that types/core.py's RangeOf describes.  Two lower bounds are compared as (lower, after), two upper
bounds as (endless, upper, until): NULL is the least field of a struct to Spark, as no lower bound is the least to us.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tailrace.plan.expressions import Call
from tailrace.plan.functions.entry import Function, Render, function
from tailrace.plan.functions.let import let
from tailrace.plan.raising import raising
from tailrace.plan.value_ranges import DISORDER
from tailrace.types.core import DATE, RANGES, TEXT, TIMESTAMP, TIMESTAMPTZ, RangeOf, SqlType
from tailrace.types.spark import spark_type

_FLAGS = ("[]", "[)", "(]", "()")
_NO_FLAGS = raising("22000", "range constructor flags argument must not be null")
_BAD_FLAGS = raising("42601", "invalid range bound flags")


def _struct(holds: str, lower: str, after: str, endless: str, upper: str, until: str) -> str:
    return (
        f"named_struct('holds', {holds}, 'lower', {lower}, 'after', {after},"
        f" 'endless', {endless}, 'upper', {upper}, 'until', {until})"
    )


def empty(type: RangeOf) -> str:
    none = f"CAST(NULL AS {spark_type(type.element)})"
    return _struct("false", none, "false", "false", none, "false")


def made(lower: str, upper: str, type: RangeOf, from_lower: str = "true", until_upper: str = "false") -> str:
    """The range between two bounds, NULL for none; `from_lower` and `until_upper` tell whether they belong to it."""
    disorder, low, high = raising("22000", DISORDER), "{l}", "{u}"
    after, until, smaller = "{l} IS NOT NULL AND NOT {i}", "{u} IS NOT NULL AND {j}", "false"
    if type.is_discrete:
        low = f"CASE WHEN {{i}} THEN {{l}} ELSE {_next('{l}', type)} END"
        high = f"CASE WHEN {{j}} THEN {_next('{u}', type)} ELSE {{u}} END"
        after, until, smaller = "false", "false", f"{low} >= {high}"
    body = (
        f"CAST(CASE WHEN {{l}} > {{u}} THEN {disorder}"
        f" WHEN ({{l}} = {{u}} AND NOT ({{i}} AND {{j}})) OR {smaller} THEN {empty(type)}"
        f" ELSE {_struct('true', low, after, '{u} IS NULL', high, until)} END AS {spark_type(type)})"
    )
    return let({"l": lower, "u": upper, "i": from_lower, "j": until_upper}, body)


def _next(value: str, type: RangeOf) -> str:
    return f"date_add({value}, 1)" if type.element == DATE else f"({value} + CAST(1 AS {spark_type(type.element)}))"


def from_text(value: str, type: RangeOf, cast: Callable[[str, SqlType, SqlType], str]) -> str:
    """A text form as a range; `cast` reads a bound."""
    lower, upper = (cast(f"get({{p}}, {place})", TEXT, type.element) for place in (1, 2))
    flags = "startswith(get({p}, 0), '[')", "endswith(get({p}, 0), ']')"
    read = f"CASE WHEN get({{p}}, 0) = 'empty' THEN {empty(type)} ELSE {made(lower, upper, type, *flags)} END"
    whole = f"CAST(CASE WHEN {{p}} IS NOT NULL THEN {read} END AS {spark_type(type)})"
    return let({"p": f"tailrace_range_parts({value})"}, whole)


def _constructor(type: RangeOf) -> Callable[[Call, Render], str]:
    def text(call: Call, render: Render) -> str:
        lower, upper, *flags = (render(argument) for argument in call.arguments)
        if not flags:
            return made(lower, upper, type)
        known = ", ".join(f"'{each}'" for each in _FLAGS)
        wrong = f"WHEN {{f}} IS NULL THEN {_NO_FLAGS} WHEN {{f}} NOT IN ({known}) THEN {_BAD_FLAGS}"
        asked = let({"f": flags[0]}, f"CASE {wrong} ELSE {{f}} END")
        return made(lower, upper, type, f"startswith({asked}, '[')", f"endswith({asked}, ']')")

    return text


def _lower(range: str) -> str:
    return f"struct({range}.lower, {range}.after)"


def _upper(range: str) -> str:
    return f"struct({range}.endless, {range}.upper, {range}.until)"


def _reaches(one: str, other: str) -> str:
    """Does `one` begin no later than `other` ends?  Of two ranges that hold something."""
    return (
        f"({one}.lower IS NULL OR {other}.endless OR {one}.lower < {other}.upper"
        f" OR ({one}.lower = {other}.upper AND {other}.until AND NOT {one}.after))"
    )


def _meets(one: str, other: str) -> str:
    """Does `other` begin exactly where `one` ends, nothing between them and nothing in both?"""
    return f"coalesce({one}.upper = {other}.lower AND {one}.until = {other}.after, false)"


_BOTH = "({a}.holds AND {b}.holds)"
_OVERLAP = f"({_BOTH} AND {_reaches('{a}', '{b}')} AND {_reaches('{b}', '{a}')})"
_ADJACENT = f"({_BOTH} AND ({_meets('{a}', '{b}')} OR {_meets('{b}', '{a}')}))"
_BEFORE = f"({_BOTH} AND NOT {_reaches('{b}', '{a}')})"
_WITHIN = (
    f"(NOT {{b}}.holds OR ({{a}}.holds AND {_lower('{a}')} <= {_lower('{b}')} AND {_upper('{a}')} >= {_upper('{b}')}))"
)
_HOLDS = (
    "({a}.holds AND ({a}.lower IS NULL OR {a}.lower < {b} OR ({a}.lower = {b} AND NOT {a}.after))"
    " AND ({a}.endless OR {a}.upper > {b} OR ({a}.upper = {b} AND {a}.until)))"
)


def _two(body: str, *, swapped: bool = False) -> Callable[[Call, Render], str]:
    """Of two arguments a and b, or b and a; NULL if one of them is."""

    def text(call: Call, render: Render) -> str:
        a, b = (render(argument) for argument in call.arguments)
        values = {"a": b, "b": a} if swapped else {"a": a, "b": b}
        known = "{a} IS NOT NULL AND {b} IS NOT NULL"
        whole = f"CASE WHEN {known} THEN {body} END"
        return let(values, f"CAST({whole} AS {spark_type(call.type)})" if isinstance(call.type, RangeOf) else whole)

    return text


def _span(lower: str, upper: str) -> str:
    """From the lower bound of one range to the upper of another; each is a condition: of a if it is true, else of b."""
    fields = ("lower", "after"), ("endless", "upper", "until")
    low, high = (
        [f"CASE WHEN {chosen} THEN {{a}}.{field} ELSE {{b}}.{field} END" for field in names]
        for chosen, names in zip((lower, upper), fields, strict=True)
    )
    return _struct("true", *low, *high)


_LOWER_INC = "CASE WHEN {0} IS NOT NULL THEN {0}.lower IS NOT NULL AND NOT {0}.after END"
_BEGINS_FIRST = f"{_lower('{a}')} <= {_lower('{b}')}"
_ENDS_LAST = f"{_upper('{a}')} >= {_upper('{b}')}"
_BOTH_SPANNED = _span(_BEGINS_FIRST, _ENDS_LAST)
_MERGED = f"CASE WHEN NOT {{a}}.holds THEN {{b}} WHEN NOT {{b}}.holds THEN {{a}} ELSE {_BOTH_SPANNED} END"
_GAP = raising("22000", "result of range union would not be contiguous")
_UNION = f"CASE WHEN {_BOTH} AND NOT ({_OVERLAP} OR {_ADJACENT}) THEN {_GAP} ELSE {_MERGED} END"
_HOLE = raising("22000", "result of range difference would not be contiguous")


def _intersection(type: RangeOf) -> str:
    common = _span(f"{_lower('{a}')} >= {_lower('{b}')}", f"{_upper('{a}')} <= {_upper('{b}')}")
    return f"CASE WHEN {_OVERLAP} THEN {common} ELSE {empty(type)} END"


def _difference(type: RangeOf) -> str:
    """What a has before b begins, or after b ends: the bound of b that it now has changes sides."""
    head = _struct("true", "{a}.lower", "{a}.after", "false", "{b}.lower", "{b}.after")
    tail = _struct("true", "{b}.upper", "{b}.until", "{a}.endless", "{a}.upper", "{a}.until")
    first, last = f"{_lower('{a}')} < {_lower('{b}')}", f"{_upper('{a}')} > {_upper('{b}')}"
    return (
        f"CASE WHEN NOT {_OVERLAP} THEN {{a}} WHEN {first} AND {last} THEN {_HOLE}"
        f" WHEN {first} THEN {head} WHEN {last} THEN {tail} ELSE {empty(type)} END"
    )


def _of(name: str, type: RangeOf) -> Iterator[Function]:
    element = {TIMESTAMP: "timestamp", TIMESTAMPTZ: "timestamptz"}.get(type.element, str(type.element))
    pair = f"({name}, {name})"
    yield function(f"{name}({element}, {element}) -> {name}", _constructor(type), nulls="never")
    yield function(f"{name}({element}, {element}, text) -> {name}", _constructor(type), nulls="never")
    yield function(f"lower({name}) -> {element}", "{0}.lower", nulls="always")
    yield function(f"upper({name}) -> {element}", "{0}.upper", nulls="always")
    yield function(f"isempty({name}) -> boolean", "(NOT {0}.holds)")
    yield function(f"lower_inc({name}) -> boolean", _LOWER_INC)
    yield function(f"upper_inc({name}) -> boolean", "{0}.until")
    yield function(f"lower_inf({name}) -> boolean", "({0}.holds AND {0}.lower IS NULL)")
    yield function(f"upper_inf({name}) -> boolean", "{0}.endless")
    yield function(f"@>{pair} -> boolean", _two(_WITHIN))
    yield function(f"<@{pair} -> boolean", _two(_WITHIN, swapped=True))
    yield function(f"@>({name}, {element}) -> boolean", _two(_HOLDS))
    yield function(f"<@({element}, {name}) -> boolean", _two(_HOLDS, swapped=True))
    yield function(f"&&{pair} -> boolean", _two(_OVERLAP))
    yield function(f"<<{pair} -> boolean", _two(_BEFORE))
    yield function(f">>{pair} -> boolean", _two(_BEFORE, swapped=True))
    yield function(f"&<{pair} -> boolean", _two(f"({_BOTH} AND {_upper('{a}')} <= {_upper('{b}')})"))
    yield function(f"&>{pair} -> boolean", _two(f"({_BOTH} AND {_lower('{a}')} >= {_lower('{b}')})"))
    yield function(f"-|-{pair} -> boolean", _two(_ADJACENT))
    yield function(f"range_merge{pair} -> {name}", _two(_MERGED))
    yield function(f"+{pair} -> {name}", _two(_UNION))
    yield function(f"*{pair} -> {name}", _two(_intersection(type)))
    yield function(f"-{pair} -> {name}", _two(_difference(type)))


FUNCTIONS = tuple(entry for name, type in RANGES.items() for entry in _of(name, type))
