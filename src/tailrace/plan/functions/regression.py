"""Aggregates of pairs (y, x): corr, covar_pop, covar_samp and the regr_ family.  Pairs with a NULL do not count.

All are functions of six numbers: how many pairs there are, the sums of x and of y, and the sums of squares and products
of the distances to their means.  For integers these are exact sums, so the aggregates are kept as sums; for floats
two passes over the pairs, in a fixed order, find them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tailrace.plan.expressions import AggregateCall, WindowCall
from tailrace.plan.functions.additive import Additive, Contribution
from tailrace.plan.functions.let import let
from tailrace.plan.functions.ordered import Group

FORMULAS = {
    "corr": "CASE WHEN {xx} <> 0 AND {yy} <> 0 THEN {xy} / sqrt({xx} * {yy}) END",
    "covar_pop": "{xy} / {n}",
    "covar_samp": "{xy} / nullif({n} - 1D, 0D)",
    "regr_avgx": "{x} / {n}",
    "regr_avgy": "{y} / {n}",
    "regr_sxx": "{xx}",
    "regr_syy": "{yy}",
    "regr_sxy": "{xy}",
    "regr_slope": "CASE WHEN {xx} <> 0 THEN {xy} / {xx} END",
    "regr_intercept": "CASE WHEN {xx} <> 0 THEN ({y} - {x} * {xy} / {xx}) / {n} END",
    "regr_r2": "CASE WHEN {xx} = 0 THEN NULL WHEN {yy} = 0 THEN 1D ELSE ({xy} * {xy}) / ({xx} * {yy}) END",
}
"""n, x, y: the number and the sums; xx, yy, xy: the sums of the distances' products.  All are doubles; n is not 0."""

_NAMES = ("n", "x", "y", "xx", "yy", "xy")


def _result(name: str, numbers: str) -> str:
    """The formula over a struct of the six numbers; NULL without a pair."""
    formula = FORMULAS[name].format(**{each: f"{{s}}.{each}" for each in _NAMES})
    return let({"s": numbers}, f"CASE WHEN {{s}}.n > 0 THEN {formula} END")


def _name(call: AggregateCall | WindowCall) -> str:
    return call.function.partition("(")[0]


def _both(y: str, x: str) -> str:
    return f"{y} IS NOT NULL AND {x} IS NOT NULL"


def _count(call: AggregateCall, texts: Sequence[str]) -> list[Contribution]:
    return [Contribution(f"CASE WHEN {_both(*texts)} THEN 1L ELSE 0L END", "bigint")]


def _products(call: AggregateCall, texts: Sequence[str]) -> list[Contribution]:
    y, x = (f"CAST({text} AS bigint)" for text in texts)

    def part(value: str, ddl: str) -> Contribution:
        return Contribution(f"CASE WHEN {_both(y, x)} THEN CAST({value} AS {ddl}) ELSE CAST(0 AS {ddl}) END", ddl)

    products = [part(value, "decimal(38,0)") for value in (f"{x} * {x}", f"{y} * {y}", f"{x} * {y}")]
    return [*_count(call, texts), part(x, "bigint"), part(y, "bigint"), *products]


def _of_sums(call: AggregateCall, sums: Sequence[str]) -> str:
    n, x, y, xx, yy, xy = sums
    exact = {name: f"CAST({text} AS decimal(19,0))" for name, text in (("n", n), ("x", x), ("y", y))}

    def distances(products: str, one: str, other: str) -> str:
        times_n = f"CAST({exact['n']} * {products} - {exact[one]} * {exact[other]} AS double)"
        return f"{times_n} / CAST(nullif({n}, 0L) AS double)"

    texts = (
        *(f"CAST({text} AS double)" for text in (n, x, y)),
        *(distances(*each) for each in ((xx, "x", "x"), (yy, "y", "y"), (xy, "x", "y"))),
    )
    fields = ", ".join(f"'{name}', {text}" for name, text in zip(_NAMES, texts, strict=True))
    return _result(_name(call), f"named_struct({fields})")


COUNT = Additive(_count, lambda call, sums: sums[0])
OF_INTEGERS = Additive(_products, _of_sums)


def of_floats(call: AggregateCall | WindowCall, group: Group) -> str:
    y, x = group.arguments
    pair = f"named_struct('y', CAST({y} AS double), 'x', CAST({x} AS double))"
    pairs = f"array_sort({group.collected(f'CASE WHEN {_both(y, x)} THEN {pair} END')})"
    sums = (
        "aggregate({p}, named_struct('x', 0D, 'y', 0D), (s, e) -> named_struct('x', s.x + e.x, 'y', s.y + e.y),"
        " s -> named_struct('n', CAST(cardinality({p}) AS double), 'x', s.x, 'y', s.y,"
        " 'mx', s.x / nullif(cardinality({p}), 0), 'my', s.y / nullif(cardinality({p}), 0)))"
    )
    zero = "named_struct('n', m.n, 'x', m.x, 'y', m.y, 'mx', m.mx, 'my', m.my, 'xx', 0D, 'yy', 0D, 'xy', 0D)"
    step = (
        "named_struct('n', s.n, 'x', s.x, 'y', s.y, 'mx', s.mx, 'my', s.my,"
        " 'xx', s.xx + (e.x - s.mx) * (e.x - s.mx), 'yy', s.yy + (e.y - s.my) * (e.y - s.my),"
        " 'xy', s.xy + (e.x - s.mx) * (e.y - s.my))"
    )
    numbers = f"element_at(transform(array({sums}), m -> aggregate({{p}}, {zero}, (s, e) -> {step})), 1)"
    return _result(_name(call), let({"p": pairs}, numbers))


def count_of_floats(call: AggregateCall | WindowCall, group: Group) -> str:
    y, x = group.arguments
    pair = f"CASE WHEN {_both(y, x)} THEN named_struct('y', {y}, 'x', {x}) END"
    return f"CAST(cardinality({group.collected(pair)}) AS bigint)"
