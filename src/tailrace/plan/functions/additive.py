"""Aggregates that are functions of sums: each row contributes, contributions add up, the result is read off
the sums.

The batch text of such an aggregate is made of the same two functions that incremental maintenance uses, so
the two agree by construction.  A contribution is 0 for NULL.  FILTER is the caller's: `filtered` makes a
contribution 0 for rows that do not pass.  Contributions may be multiplied by a bigint weight and summed in
Spark without losing a digit, because their types are chosen so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tailrace.plan.expressions import AggregateCall
from tailrace.plan.functions.decimals import NUMERIC_DDL, Operand, quotient
from tailrace.types.core import Numeric
from tailrace.types.spark import spark_type


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one row adds: Spark text, and the Spark type of the sum."""

    text: str
    ddl: str

    def filtered(self, condition: str) -> Contribution:
        """The same for rows that pass a FILTER, 0 for the others."""
        return Contribution(f"CASE WHEN {condition} THEN {self.text} ELSE CAST(0 AS {self.ddl}) END", self.ddl)


@dataclass(frozen=True, slots=True)
class Additive:
    """`contributions(call, argument_texts)` and `finalize(call, sums)`: sums stand in the same order."""

    contributions: Callable[[AggregateCall, Sequence[str]], list[Contribution]]
    finalize: Callable[[AggregateCall, Sequence[str]], str]


def _counted(text: str) -> Contribution:
    return Contribution(f"CASE WHEN {text} IS NULL THEN 0L ELSE 1L END", "bigint")


def _if_any(count: str, text: str) -> str:
    """NULL of a group without a value."""
    return f"CASE WHEN {count} > 0 THEN {text} END"


COUNT = Additive(
    lambda call, texts: [_counted(texts[0]) if texts else Contribution("1L", "bigint")],
    lambda call, sums: sums[0],
)

SUM_INTEGER = Additive(
    lambda call, texts: [
        Contribution(f"coalesce(CAST({texts[0]} AS bigint), 0L)", "bigint"),
        _counted(texts[0]),
    ],
    lambda call, sums: _if_any(sums[1], sums[0]),
)


def _halves(call: AggregateCall, texts: Sequence[str]) -> list[Contribution]:
    """A bigint as its upper and lower half: sums of many do not overflow, and stay sums of longs."""
    value = f"coalesce(CAST({texts[0]} AS bigint), 0L)"
    return [
        Contribution(f"shiftright({value}, 32)", "bigint"),
        Contribution(f"({value} & 4294967295L)", "bigint"),
        _counted(texts[0]),
    ]


def _whole(sums: Sequence[str]) -> str:
    """The sum of the halves, decimal(38,0)."""
    upper = f"CAST({sums[0]} AS decimal(20,0)) * CAST(4294967296L AS decimal(10,0))"
    return f"CAST({upper} + CAST({sums[1]} AS decimal(20,0)) AS decimal(38,0))"


SUM_BIGINT = Additive(_halves, lambda call, sums: _if_any(sums[2], f"CAST({_whole(sums)} AS {NUMERIC_DDL})"))


def _scale(call: AggregateCall) -> int | None:
    """The scale of a numeric argument if Spark multiplies it by a weight exactly."""
    type = call.arguments[0].type
    return type.scale if isinstance(type, Numeric) and type.scale is not None and type.scale <= 6 else None


def _decimal_parts(call: AggregateCall, texts: Sequence[str]) -> list[Contribution]:
    """A numeric as its whole number and its fraction in units of the last digit."""
    scale = _scale(call)
    if scale is not None:
        ddl = f"decimal(38,{scale})"
        return [Contribution(f"coalesce({texts[0]}, CAST(0 AS {ddl}))", ddl), _counted(texts[0])]
    value = f"coalesce(CAST({texts[0]} AS {NUMERIC_DDL}), CAST(0 AS {NUMERIC_DDL}))"
    units = f"CAST(pmod({value}, 1BD) AS decimal(18,18)) * CAST('1000000000000000000' AS decimal(19,0))"
    return [
        Contribution(f"CAST(floor({value}) AS decimal(20,0))", "decimal(38,0)"),
        Contribution(f"CAST({units} AS decimal(18,0))", "decimal(38,0)"),
        _counted(texts[0]),
    ]


def _decimal_sum(call: AggregateCall, sums: Sequence[str]) -> tuple[str, str]:
    """The sum as a numeric, and the number of values."""
    if len(sums) == 2:
        return f"CAST({sums[0]} AS {NUMERIC_DDL})", sums[1]
    unit = "CAST('1000000000000000000' AS decimal(19,0))"
    carry = f"CAST({sums[1]} div {unit} AS decimal(19,0))"
    fraction = f"CAST({sums[1]} % {unit} AS decimal(18,0)) * CAST('0.000000000000000001' AS decimal(18,18))"
    whole = f"CAST({sums[0]} + {carry} AS decimal(37,18))"
    return f"({whole} + CAST({fraction} AS decimal(37,18)))", sums[2]


def _sum_numeric(call: AggregateCall, sums: Sequence[str]) -> str:
    total, count = _decimal_sum(call, sums)
    return _if_any(count, total)


def _avg_numeric(call: AggregateCall, sums: Sequence[str]) -> str:
    total, count = _decimal_sum(call, sums)
    return _if_any(count, _mean(total, count))


def _mean(total: str, count: str, scale: int = 18) -> str:
    return quotient(Operand(total, 20, scale), Operand(f"CAST(nullif({count}, 0L) AS decimal(19,0))", 19, 0))


SUM_NUMERIC = Additive(_decimal_parts, _sum_numeric)
AVG_NUMERIC = Additive(_decimal_parts, _avg_numeric)
AVG_INTEGER = Additive(
    SUM_INTEGER.contributions,
    lambda call, sums: _if_any(sums[1], _mean(f"CAST({sums[0]} AS decimal(19,0))", sums[1], scale=0)),
)
AVG_BIGINT = Additive(_halves, lambda call, sums: _if_any(sums[2], _mean(_whole(sums), sums[2], scale=0)))


def _booleans(wanted: str) -> Callable[[AggregateCall, Sequence[str]], list[Contribution]]:
    return lambda call, texts: [
        Contribution(f"CASE WHEN {texts[0]} <=> {wanted} THEN 1L ELSE 0L END", "bigint"),
        _counted(texts[0]),
    ]


BOOL_AND = Additive(_booleans("false"), lambda call, sums: _if_any(sums[1], f"{sums[0]} = 0"))
BOOL_OR = Additive(_booleans("true"), lambda call, sums: _if_any(sums[1], f"{sums[0]} > 0"))


def _squares(call: AggregateCall, texts: Sequence[str]) -> list[Contribution]:
    """Of integers, whose squares' sums are exact."""
    value = f"coalesce(CAST({texts[0]} AS bigint), 0L)"
    return [
        Contribution(value, "bigint"),
        Contribution(f"CAST({value} * {value} AS decimal(20,0))", "decimal(38,0)"),
        _counted(texts[0]),
    ]


def variance(*, sample: bool, root: bool) -> Additive:
    def finalize(call: AggregateCall, sums: Sequence[str]) -> str:
        total, squares, count = sums
        n = f"CAST({count} AS decimal(19,0))"
        exact = f"CAST({total} AS decimal(19,0))"
        spread = f"CAST({n} * {squares} - {exact} * {exact} AS double)"
        divisor = f"CAST(nullif({count} - {1 if sample else 0}, 0L) AS double)"
        value = f"{spread} / CAST(nullif({count}, 0L) AS double) / {divisor}"
        return f"CAST({f'sqrt({value})' if root else value} AS {spark_type(call.type)})"

    return Additive(_squares, finalize)
