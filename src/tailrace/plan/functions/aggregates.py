"""Aggregate functions: what they take, what they give, and their batch text.

Every result is a function of the group's rows as a bag: without an ORDER BY of its own, an aggregate that
depends on order uses one fixed order, and float sums add in order of size.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from tailrace.plan.expressions import AggregateCall, WindowCall
from tailrace.plan.functions import additive as sums
from tailrace.plan.functions import regression
from tailrace.plan.functions.additive import Additive, Contribution
from tailrace.plan.functions.entry import parse_signature
from tailrace.plan.functions.ordered import Group
from tailrace.plan.functions.times import scaled
from tailrace.plan.raising import raising
from tailrace.types.core import SqlType
from tailrace.types.spark import spark_type

__all__ = [
    "JSON_AGGREGATES",
    "ORDERED_SETS",
    "Additive",
    "AggregateFunction",
    "Contribution",
    "Group",
    "additive",
    "aggregate_candidates",
    "aggregate_names",
    "aggregate_text",
]


Text = Callable[[AggregateCall | WindowCall, Group], str]


@dataclass(frozen=True, kw_only=True, slots=True)
class AggregateFunction:
    """`keeps_nulls`: rows whose argument is NULL count too."""

    id: str
    name: str
    arguments: tuple[SqlType, ...]
    result: SqlType
    additive: Additive | None
    spark: Text | None
    nullable: bool


def _aggregate(
    signature: str, spark: Text | None = None, *, additive: Additive | None = None, nullable: bool = True
) -> AggregateFunction:
    name, arguments, result, _ = parse_signature(signature)
    id = signature.split(" -> ")[0]
    return AggregateFunction(
        id=id,
        name=name,
        arguments=arguments,
        result=result,
        additive=additive,
        spark=spark,
        nullable=nullable,
    )


def _plain(function: str, argument: str = "{}") -> Text:
    """A Spark aggregate of the first argument that needs no order."""

    def text(call: AggregateCall | WindowCall, group: Group) -> str:
        value = argument.format(group.arguments[0])
        if group.kept:
            return _OF_ARRAY[function].format(group.collected(value))
        return f"{function}({'DISTINCT ' if group.distinct else ''}{value}){group.tail}"

    return text


def _folded(operator: str) -> str:
    rest = f"aggregate(slice(s, 2, cardinality(s)), s[0], (x, y) -> x {operator} y)"
    return f"element_at(transform(array({{0}}), s -> CASE WHEN cardinality(s) > 0 THEN {rest} END), 1)"


_OF_ARRAY = {
    "min": "array_min({0})", "max": "array_max({0})",
    "bit_and": _folded("&"), "bit_or": _folded("|"), "bit_xor": _folded("^"),
}  # fmt: skip
"""The same of values that are in an array already."""


def _float_sum(call: AggregateCall | WindowCall, group: Group) -> str:
    """In order of size, so that the same bag always gives the same sum."""
    values = f"array_sort({group.collected(f'CAST({group.arguments[0]} AS double)')})"
    total = f"aggregate({values}, 0D, (total, x) -> total + x)"
    return f"CAST(CASE WHEN {group.count(group.arguments[0])} > 0 THEN {total} END AS {spark_type(call.type)})"


def _float_avg(call: AggregateCall | WindowCall, group: Group) -> str:
    values = f"array_sort({group.collected(f'CAST({group.arguments[0]} AS double)')})"
    total = f"aggregate({values}, 0D, (total, x) -> total + x)"
    return f"CASE WHEN {group.count(group.arguments[0])} > 0 THEN {total} / cardinality({values}) END"


def _float_variance(*, sample: bool, root: bool) -> Text:
    """Two passes over the sorted values: the mean, then the squares of the distances to it."""

    def text(call: AggregateCall | WindowCall, group: Group) -> str:
        values = f"array_sort({group.collected(f'CAST({group.arguments[0]} AS double)')})"
        count = f"cardinality({values})"
        mean = f"aggregate({values}, 0D, (total, x) -> total + x) / nullif({count}, 0)"
        spread = (
            f"aggregate({values}, named_struct('mean', {mean}, 'sum', 0D), (s, x) ->"
            " named_struct('mean', s.mean,"
            f" 'sum', s.sum + (x - s.mean) * (x - s.mean)), s -> s.sum)"
        )
        less = 1 if sample else 0  # and of as many values, or none, there is no spread
        value = f"{spread} / CASE WHEN {count} > {less} THEN {count} - {less} END"
        return f"CAST({f'sqrt({value})' if root else value} AS {spark_type(call.type)})"

    return text


def _array(call: AggregateCall | WindowCall, group: Group) -> str:
    rows = group.sorted(group.arguments[:1])
    return f"CASE WHEN {group.count()} > 0 THEN transform({rows}, r -> r.v0) END"


def _string(call: AggregateCall | WindowCall, group: Group) -> str:
    rows = group.sorted(group.arguments)
    present = f"filter({rows}, r -> r.v0 IS NOT NULL)"
    return (
        f"aggregate({present}, CAST(NULL AS string), (s, r) ->"
        " CASE WHEN s IS NULL THEN r.v0 ELSE concat(s, coalesce(r.v1, ''), r.v0) END)"
    )


def _json_array(call: AggregateCall | WindowCall, group: Group) -> str:
    rows = group.sorted(group.arguments[:1])
    members = f"array_join(transform({rows}, r -> coalesce(r.v0, 'null')), ',')"
    return f"CASE WHEN {group.count()} > 0 THEN concat('[', {members}, ']') END"


def _json_object(call: AggregateCall | WindowCall, group: Group) -> str:
    """Of equal keys the last value wins, as in any JSON text."""
    rows = group.sorted(group.arguments)
    null = raising("22023", "field name must not be null")
    key = f"tailrace_json_string(CAST(coalesce(r.v0, {null}) AS binary))"
    entries = f"transform({rows}, r -> concat({key}, ':', coalesce(r.v1, 'null')))"
    document = f"concat('{{', array_join({entries}, ','), '}}')"
    return f"CASE WHEN {group.count()} > 0 THEN tailrace_jsonb({document}) END"


def _ranked(group: Group) -> str:
    """The values of an ordered-set aggregate, in its order; the first argument is the fraction asked for."""
    rows = group.sorted(group.arguments)
    return f"filter({rows}, r -> r.v{len(group.arguments) - 1} IS NOT NULL)"


_WRONG_FRACTION = raising("22003", "percentile value is not between 0 and 1")


def _discrete(fraction: str) -> str:
    """The first value whose place among all is at least the fraction."""
    return f"try_element_at(s, greatest(CAST(ceil({fraction} * cardinality(s)) AS int), 1)).v1"


def _continuous(fraction: str) -> str:
    """Between the two values that lie next to the fraction."""
    at = f"{fraction} * (cardinality(s) - 1)"
    low, high = f"s[CAST(floor({at}) AS int)].v1", f"s[CAST(ceil({at}) AS int)].v1"
    return f"{low} + ({high} - {low}) * ({at} - floor({at}))"


def _percentile(value: Callable[[str], str], *, several: bool = False) -> Text:
    """`value`: Spark text of the value at a fraction of the sorted `s`.  `several`: the fractions are an array."""

    def checked(fraction: str) -> str:
        return f"CASE WHEN {fraction} NOT BETWEEN 0 AND 1 THEN {_WRONG_FRACTION} ELSE {value(fraction)} END"

    def text(call: AggregateCall | WindowCall, group: Group) -> str:
        found = f"transform(s[0].v0, p -> {checked('p')})" if several else checked("s[0].v0")
        return f"element_at(transform(array({_ranked(group)}), s -> CASE WHEN cardinality(s) > 0 THEN {found} END), 1)"

    return text


def _mode(call: AggregateCall | WindowCall, group: Group) -> str:
    """The most frequent value; of several the first in order."""
    values = f"transform({_ranked(group)}, r -> r.v0)"
    counted = "transform(array_distinct(s), e -> struct(cardinality(filter(s, x -> x = e)) AS n, e AS e))"
    best = "filter(c, e -> e.n = array_max(transform(c, x -> x.n)))"
    first = f"element_at(transform(array({counted}), c -> try_element_at({best}, 1).e), 1)"
    return f"element_at(transform(array({values}), s -> {first}), 1)"


def _interval_sum(call: AggregateCall | WindowCall, group: Group) -> str:
    """Months, days and µs each for itself."""
    value = group.arguments[0]
    if group.distinct:
        parts = [f"aggregate({group.collected(value)}, 0L, (n, i) -> n + i.{p})" for p in _PARTS]
    else:
        parts = [group.total(f"coalesce(CAST({value}.{part} AS bigint), 0L)", "bigint") for part in _PARTS]
    months, days, micros = parts
    total = f"named_struct('months', CAST({months} AS int), 'days', CAST({days} AS int), 'micros', {micros})"
    return f"CASE WHEN {group.count(value)} > 0 THEN {total} END"


def _interval_avg(call: AggregateCall | WindowCall, group: Group) -> str:
    value = group.arguments[0]
    count = f"cardinality({group.collected(value)})" if group.distinct else group.count(value)
    whole = f"named_struct('i', {_interval_sum(call, group)}, 'n', {count})"
    return f"element_at(transform(array({whole}), v -> CASE WHEN v.n > 0 THEN {scaled('v.i', '(1D / v.n)')} END), 1)"


_PARTS = ("months", "days", "micros")


def _map(call: AggregateCall | WindowCall, group: Group) -> str:
    rows = group.sorted(group.arguments)
    empty = f"CAST(map() AS {spark_type(call.type)})"
    last = (
        f"aggregate(filter({rows}, r -> r.v0 IS NOT NULL), {empty}, (m, e) ->"
        " map_concat(map_filter(m, (k, v) -> k <> e.v0), map(e.v0, e.v1)))"
    )
    return f"CASE WHEN {group.count()} > 0 THEN {last} END"


def _single(call: AggregateCall | WindowCall, group: Group) -> str:
    """The value of the only row of a subquery; of more than one it is an error."""
    error = raising("21000", "more than one row returned by a subquery used as an expression")
    value = f"any_value({group.arguments[0]}){group.tail}"
    return f"CASE WHEN {group.count()} > 1 THEN {error} ELSE {value} END"


ORDERED_SETS = ("percentile_disc", "percentile_cont", "mode")
"""Aggregates that are written with WITHIN GROUP (ORDER BY value): the value is their last argument."""

JSON_AGGREGATES = ("jsonb_agg", "json_agg", "jsonb_object_agg", "json_object_agg")

_INTEGERS = ("smallint", "integer")
_SPREADS = (
    ("variance", True, False), ("var_samp", True, False), ("var_pop", False, False),
    ("stddev", True, True), ("stddev_samp", True, True), ("stddev_pop", False, True),
)  # fmt: skip

AGGREGATES = (
    _aggregate("count() -> bigint", additive=sums.COUNT, nullable=False),
    _aggregate("count(T) -> bigint", _plain("count"), additive=sums.COUNT, nullable=False),
    *(_aggregate(f"sum({t}) -> bigint", additive=sums.SUM_INTEGER) for t in (*_INTEGERS, "uint2")),
    *(_aggregate(f"sum({t}) -> numeric", additive=sums.SUM_BIGINT) for t in ("bigint", "uint4")),
    _aggregate("sum(numeric) -> numeric", additive=sums.SUM_NUMERIC),
    _aggregate("sum(real) -> real", _float_sum),
    _aggregate("sum(double precision) -> double precision", _float_sum),
    *(_aggregate(f"avg({t}) -> numeric", additive=sums.AVG_INTEGER) for t in (*_INTEGERS, "uint2")),
    *(_aggregate(f"avg({t}) -> numeric", additive=sums.AVG_BIGINT) for t in ("bigint", "uint4")),
    _aggregate("avg(numeric) -> numeric", additive=sums.AVG_NUMERIC),
    _aggregate("avg(double precision) -> double precision", _float_avg),
    *(
        _aggregate(f"{name}({t}) -> {t}", _plain(name, f"{{}} + CAST(0 AS {spark})"))  # no -0: it equals 0
        for name in ("min", "max")
        for t, spark in (("real", "float"), ("double precision", "double"))
    ),
    _aggregate("min(T) -> T", _plain("min")),
    _aggregate("max(T) -> T", _plain("max")),
    *(_aggregate(f"{name}(boolean) -> boolean", additive=sums.BOOL_AND) for name in ("bool_and", "every")),
    _aggregate("bool_or(boolean) -> boolean", additive=sums.BOOL_OR),
    *(
        _aggregate(f"{name}({t}) -> numeric", additive=sums.variance(sample=sample, root=root))
        for name, sample, root in _SPREADS
        for t in _INTEGERS
    ),
    *(
        _aggregate(f"{name}({t}) -> {result}", _float_variance(sample=sample, root=root))
        for name, sample, root in _SPREADS
        for t, result in (
            ("bigint", "numeric"),
            ("numeric", "numeric"),
            ("double precision", "double precision"),
        )
    ),
    _aggregate(
        "regr_count(double precision, double precision) -> bigint",
        regression.count_of_floats,
        additive=regression.COUNT,
        nullable=False,
    ),
    *(
        _aggregate(f"{name}({t}, {t}) -> double precision", regression.of_floats, additive=additive)
        for name in regression.FORMULAS
        for t, additive in (("double precision", None), ("integer", regression.OF_INTEGERS))
    ),
    _aggregate("string_agg(text, text) -> text", _string),
    _aggregate("array_agg(T) -> T[]", _array),
    _aggregate("list_agg(T) -> T list", _array),
    *(_aggregate(f"{name}(jsonb) -> jsonb", _json_array) for name in ("jsonb_agg", "json_agg")),
    *(_aggregate(f"{name}(text, jsonb) -> jsonb", _json_object) for name in ("jsonb_object_agg", "json_object_agg")),
    *(
        _aggregate(f"{name}({t}) -> {t}", _plain(name))
        for name in ("bit_and", "bit_or", "bit_xor")
        for t in ("smallint", "integer", "bigint")
    ),
    _aggregate("sum(interval) -> interval", _interval_sum),
    _aggregate("avg(interval) -> interval", _interval_avg),
    _aggregate("any_value(T) -> T", _plain("min")),
    _aggregate("percentile_disc(double precision, T) -> T", _percentile(_discrete)),
    _aggregate("percentile_disc(double precision[], T) -> T[]", _percentile(_discrete, several=True)),
    _aggregate("percentile_cont(double precision, double precision) -> double precision", _percentile(_continuous)),
    _aggregate(
        "percentile_cont(double precision[], double precision) -> double precision[]",
        _percentile(_continuous, several=True),
    ),
    _aggregate("mode(T) -> T", _mode),
    _aggregate("single(T) -> T", _single),
    _aggregate("map_agg(text, T) -> map[text=>T]", _map),
)

_BY_NAME: dict[str, list[AggregateFunction]] = defaultdict(list)
for _entry in AGGREGATES:
    _BY_NAME[_entry.name].append(_entry)
_BY_ID = {entry.id: entry for entry in AGGREGATES}


def aggregate_candidates(name: str) -> list[AggregateFunction]:
    return _BY_NAME.get(name, [])


def aggregate_names() -> tuple[str, ...]:
    return tuple(_BY_NAME)


def additive(call: AggregateCall) -> Additive | None:
    """How to keep this aggregate as sums; None if it has to look at its rows again."""
    return None if call.distinct else _BY_ID[call.function].additive


def aggregate_text(call: AggregateCall | WindowCall, group: Group) -> str:
    """The batch text of an aggregate over the rows of a group or of a window."""
    entry = _BY_ID[call.function]
    if group.distinct and entry.additive is not None:
        return _distinct_text(call, entry, entry.additive, group)
    if entry.additive is not None:
        return _additive_text(call, entry.additive, group)
    assert entry.spark is not None
    return entry.spark(call, group)


def _additive_text(call: AggregateCall | WindowCall, rule: Additive, group: Group) -> str:
    parts = rule.contributions(call, group.arguments)  # type: ignore[arg-type]
    totals = [
        f"coalesce(CAST({group.total(part.text, part.ddl)} AS {part.ddl}), CAST(0 AS {part.ddl}))" for part in parts
    ]
    return rule.finalize(call, totals)  # type: ignore[arg-type]


def _distinct_text(call: AggregateCall | WindowCall, entry: AggregateFunction, rule: Additive, group: Group) -> str:
    """Each value once: the contributions of the distinct values, added up."""
    if entry.spark is not None:
        return entry.spark(call, group)
    values = f"array_sort({group.collected(group.arguments[0])})"
    parts = rule.contributions(call, ["x"])  # type: ignore[arg-type]
    totals = [
        f"CAST(aggregate({values}, CAST(0 AS {part.ddl}), (total, x) ->"
        f" CAST(total + {part.text} AS {part.ddl}))"
        f" AS {part.ddl})"
        for part in parts
    ]
    return rule.finalize(call, totals)  # type: ignore[arg-type]
