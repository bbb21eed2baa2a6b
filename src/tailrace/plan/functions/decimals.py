"""Exact arithmetic on numeric, which Spark by itself would round: it derives a result's scale from the
operands' types.

decimal(38,18) * decimal(38,18) is decimal(38,6) to Spark.  So operands are given the narrowest type
their origin proves (an integer, a constant), and wide ones are multiplied in two parts.  Results are
decimal(38,18), right to the last digit, whether spark.sql.decimalOperations.allowPrecisionLoss is on
or off.  Sums and products of numbers with fractions take 19 digits before the point; more is an
error.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from tailrace.plan.expressions import Call, Cast, Expression, Literal
from tailrace.plan.functions.entry import Render
from tailrace.plan.functions.let import let
from tailrace.plan.values import parse_value
from tailrace.types.core import BIGINT, INTEGER, NUMERIC, SMALLINT, UINT2, UINT4, UINT8, Numeric

NUMERIC_DDL = "decimal(38,18)"
_ADDEND = "decimal(37,18)"  # one digit of room for the carry: Spark keeps the scale
_INTEGER_DIGITS = {SMALLINT: 5, INTEGER: 10, BIGINT: 19, UINT2: 5, UINT4: 10, UINT8: 20}
_SMALL_DIVISOR = 5  # digits; by more, Spark would leave too few digits before the point
_EXACT_SCALE = 6  # Spark never cuts a product's scale below this


@dataclass(frozen=True, slots=True)
class Operand:
    """A text of type decimal(whole + scale, scale)."""

    text: str
    whole: int
    scale: int

    @property
    def precision(self) -> int:
        return self.whole + self.scale


def operand(expression: Expression, render: Render) -> Operand:
    """An argument in the narrowest decimal that surely holds it."""
    match expression:
        case Literal(text=str() as text, type=Numeric()):
            return _constant(parse_value(text, expression.type))
        case Cast(input=inner, type=Numeric(scale=None)) if inner.type in _INTEGER_DIGITS:
            digits = _INTEGER_DIGITS[inner.type]
            return Operand(f"CAST({render(inner)} AS decimal({digits},0))", digits, 0)
        case Cast(input=inner, type=Numeric(scale=None)) if isinstance(inner.type, Numeric):
            scale = inner.type.scale
            if scale is not None and scale <= 18:
                return Operand(f"CAST({render(inner)} AS decimal({20 + scale},{scale}))", 20, scale)
    return Operand(render(expression), 20, 18)


def _constant(value: Decimal) -> Operand:
    whole, _, fraction = f"{abs(value):f}".partition(".")
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    precision = max(len(whole) + len(fraction), 1)
    text = f"{'-' if value < 0 else ''}{whole or '0'}" + (f".{fraction}" if fraction else "")
    return Operand(f"CAST('{text}' AS decimal({precision},{len(fraction)}))", precision - len(fraction), len(fraction))


def add(call: Call, render: Render) -> str:
    return total([render(argument) for argument in call.arguments], " + ")


def subtract(call: Call, render: Render) -> str:
    return total([render(argument) for argument in call.arguments], " - ")


def total(texts: list[str], sign: str = " + ") -> str:
    first, *rest = texts
    result = first
    for text in rest:
        result = f"(CAST({result} AS {_ADDEND}){sign}CAST({text} AS {_ADDEND}))"
    return result


def multiply(call: Call, render: Render) -> str:
    one, other = (operand(argument, render) for argument in call.arguments)
    return product(one, other)


def product(one: Operand, other: Operand) -> str:
    if one.scale + other.scale <= _EXACT_SCALE or one.precision + other.precision < 38:
        return f"CAST({one.text} * {other.text} AS {NUMERIC_DDL})"
    both_wide = one.scale > _EXACT_SCALE and other.scale > _EXACT_SCALE
    terms = [
        f"CAST({a} * {b} AS {NUMERIC_DDL})"
        for a in _parts(one, "{a}", both_wide)
        for b in _parts(other, "{b}", both_wide)
    ]
    return let({"a": one.text, "b": other.text}, total(terms))


def _parts(value: Operand, name: str, both_wide: bool) -> list[str]:
    """The whole number and the fraction of a wide operand; a narrow one as it is.

    19 digits times 18 are 38 with the carry, which is all that a decimal holds.
    """
    if value.scale <= _EXACT_SCALE:
        return [name]
    return [_whole(name, min(value.whole, 19) if both_wide else value.whole), _fraction(name)]


def _whole(name: str, digits: int = 19) -> str:
    return f"CAST(floor({name}) AS decimal({digits},0))"


def _fraction(name: str) -> str:
    return f"CAST(pmod({name}, 1BD) AS decimal(18,18))"


def divide(call: Call, render: Render) -> str:
    one, other = (operand(argument, render) for argument in call.arguments)
    return quotient(one, other)


def quotient(one: Operand, other: Operand) -> str:
    """Of whole numbers, and by small ones, Spark keeps 18 digits.

    By anything else: a quotient of doubles, then one step of Newton's method, which makes 16 right digits 30.
    """
    if one.scale == other.scale == 0 and one.whole <= 20 and other.whole <= 19:
        whole = f"CAST({one.text} AS decimal(20,0)) / CAST({other.text} AS decimal(19,0))"
        return f"CAST({whole} AS {NUMERIC_DDL})"
    if other.scale == 0 and other.whole <= _SMALL_DIVISOR:
        return f"CAST(CAST({one.text} AS {NUMERIC_DDL}) / {other.text} AS {NUMERIC_DDL})"
    guess = f"CAST(CAST({{a}} AS double) / CAST({{b}} AS double) AS {NUMERIC_DDL})"
    step = f"CAST(CAST({_rest()} AS double) / CAST({{b}} AS double) AS {NUMERIC_DDL})"
    inner = let({"q": guess, "b": "{b}", "a": "{a}"}, total(["{q}", step]))
    return let({"a": f"CAST({one.text} AS {NUMERIC_DDL})", "b": f"CAST({other.text} AS {NUMERIC_DDL})"}, inner)


def _rest() -> str:
    """a − q·b to 36 digits after the point.  Of the four products only that of the fractions has so many."""
    q, b = (_whole("{q}"), _fraction("{q}")), (_whole("{b}"), _fraction("{b}"))
    coarse = [f"CAST({x} * {y} AS {NUMERIC_DDL})" for x, y in ((q[0], b[0]), (q[0], b[1]), (q[1], b[0]))]
    small = total(["{a}", *coarse], " - ")
    return f"(CAST({small} AS decimal(38,36)) - CAST({q[1]} * {b[1]} AS decimal(38,36)))"


def remainder(call: Call, render: Render) -> str:
    one, other = (render(argument) for argument in call.arguments)
    return f"CAST({one} % {other} AS {NUMERIC_DDL})"


def as_numeric(text: str) -> str:
    """Any number's text as an unscaled numeric."""
    return f"CAST({text} AS {NUMERIC_DDL})"


__all__ = [
    "NUMERIC",
    "Operand",
    "add",
    "as_numeric",
    "divide",
    "multiply",
    "product",
    "quotient",
    "remainder",
    "subtract",
    "total",
]
