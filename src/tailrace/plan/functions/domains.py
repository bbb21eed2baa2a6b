"""Functions that are not defined everywhere: PostgreSQL fails where Spark gives NULL, NaN or infinity."""

from __future__ import annotations

from tailrace.plan.expressions import Call
from tailrace.plan.functions.entry import Render
from tailrace.plan.functions.let import let
from tailrace.plan.raising import raising
from tailrace.types.core import DOUBLE


def within(argument: str, domain: dict[str, tuple[str, str]], value: str) -> str:
    """`value`, or the error of the first condition that holds; both write `{x}` for the argument.

    `domain` is `{condition: (SQLSTATE, message)}`.
    """
    branches = " ".join(f"WHEN {condition} THEN {raising(*error)}" for condition, error in domain.items())
    return let({"x": argument}, f"CASE {branches} ELSE {value} END")


def _power(base: str, exponent: str) -> str:
    zero = raising("2201F", "zero raised to a negative power is undefined")
    complex = raising("2201F", "a negative number raised to a non-integer power yields a complex result")
    return let(
        {"x": base, "y": exponent},
        f"CASE WHEN {{x}} = 0 AND {{y}} < 0 THEN {zero} WHEN {{x}} < 0 AND {{y}} <> rint({{y}}) THEN {complex}"
        " ELSE power({x}, {y}) END",
    )


def powered(call: Call, render: Render) -> str:
    """Of doubles; of numerics to the digits of a double."""
    if call.type == DOUBLE:
        return _power(*(render(argument) for argument in call.arguments))
    base, exponent = (f"CAST({render(argument)} AS double)" for argument in call.arguments)
    return f"CAST({_power(base, exponent)} AS decimal(38,18))"


_SQRT = {"{x} < 0": ("2201F", "cannot take square root of a negative number")}
_LOG = {
    "{x} = 0": ("2201E", "cannot take logarithm of zero"),
    "{x} < 0": ("2201E", "cannot take logarithm of a negative number"),
}
_UNIT = {"abs({x}) > 1": ("22003", "input is out of range")}
_FINITE = {"abs({x}) = double('Infinity')": ("22003", "input is out of range")}

DOMAINS: dict[str, tuple[dict[str, tuple[str, str]], str]] = {
    "sqrt": (_SQRT, "sqrt({x})"),
    "ln": (_LOG, "ln({x})"),
    "log": (_LOG, "log10({x})"),
    "log10": (_LOG, "log10({x})"),
    "asin": (_UNIT, "asin({x})"),
    "acos": (_UNIT, "acos({x})"),
    "atanh": (_UNIT, "atanh({x})"),
    "acosh": ({"{x} < 1": ("22003", "input is out of range")}, "acosh({x})"),
    "sin": (_FINITE, "sin({x})"),
    "cos": (_FINITE, "cos({x})"),
    "tan": (_FINITE, "tan({x})"),
}
"""By name, for doubles: where each is not defined, and its Spark text."""


def defined(name: str, argument: str) -> str:
    """One of DOMAINS applied to a double."""
    domain, value = DOMAINS[name]
    return within(argument, domain, value)
