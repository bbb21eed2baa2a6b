"""Mathematical functions."""

from __future__ import annotations

from tailrace.errors import NotSupported
from tailrace.plan.expressions import Call, Cast, Literal
from tailrace.plan.functions.entry import Render, SparkText, function


def _rounded(name: str) -> SparkText:
    """round and trunc to a constant number of digits: Spark takes no other."""

    def text(call: Call, render: Render) -> str:
        digits = call.arguments[1]
        while isinstance(digits, Cast):
            digits = digits.input
        if not (isinstance(digits, Literal) and digits.text is not None):
            raise NotSupported(f"{name} to a number of digits that is not a constant not yet supported")
        number, value = int(digits.text), render(call.arguments[0])
        if name == "round":
            return f"CAST(round({value}, {number}) AS decimal(38,18))"
        return (
            f"CAST(CASE WHEN {value} < 0 THEN ceil({value}, {number}) ELSE floor({value}, {number}) END"
            " AS decimal(38,18))"
        )

    return text


_DOUBLE = tuple(
    function(f"{name}(double precision) -> double precision", spark)
    for name, spark in {
        "sqrt": "sqrt({0})", "cbrt": "cbrt({0})", "exp": "exp({0})", "ln": "ln({0})", "log": "log10({0})",
        "log10": "log10({0})", "sin": "sin({0})", "cos": "cos({0})", "tan": "tan({0})", "cot": "cot({0})",
        "asin": "asin({0})", "acos": "acos({0})", "atan": "atan({0})",
        "sinh": "sinh({0})", "cosh": "cosh({0})",
        "tanh": "tanh({0})", "asinh": "asinh({0})", "acosh": "acosh({0})", "atanh": "atanh({0})",
        "degrees": "degrees({0})", "radians": "radians({0})", "sign": "sign({0})", "round": "rint({0})",
        "ceil": "CAST(ceil({0}) AS double)", "ceiling": "CAST(ceil({0}) AS double)",
        "floor": "CAST(floor({0}) AS double)", "abs": "abs({0})",
        "trunc": "CAST(CASE WHEN {0} < 0 THEN ceil({0}) ELSE floor({0}) END AS double)",
    }.items()
)  # fmt: skip

_NUMERIC = tuple(
    function(f"{name}(numeric) -> numeric", f"CAST({spark} AS decimal(38,18))")
    for name, spark in {
        "abs": "abs({0})", "round": "round({0}, 0)", "ceil": "ceil({0})", "ceiling": "ceil({0})",
        "floor": "floor({0})", "sign": "sign({0})",
        "trunc": "CASE WHEN {0} < 0 THEN ceil({0}) ELSE floor({0}) END",
        "sqrt": "sqrt(CAST({0} AS double))", "exp": "exp(CAST({0} AS double))",
        "ln": "ln(CAST({0} AS double))",
        "log": "log10(CAST({0} AS double))", "log10": "log10(CAST({0} AS double))",
    }.items()
)  # fmt: skip

FUNCTIONS = (
    *_DOUBLE,
    *_NUMERIC,
    *(function(f"abs({name}) -> {name}", "abs({0})") for name in ("smallint", "integer", "bigint", "real")),
    *(
        function(f"mod({name}, {name}) -> {name}", "({0} % {1})")
        for name in ("smallint", "integer", "bigint", "double precision")
    ),
    function("mod(numeric, numeric) -> numeric", "CAST({0} % {1} AS decimal(38,18))"),
    function("div(numeric, numeric) -> numeric", "CAST({0} div {1} AS decimal(38,18))"),
    function("round(numeric, integer) -> numeric", _rounded("round")),
    function("trunc(numeric, integer) -> numeric", _rounded("trunc")),
    function("power(double precision, double precision) -> double precision", "power({0}, {1})"),
    function("pow(double precision, double precision) -> double precision", "power({0}, {1})"),
    function(
        "power(numeric, numeric) -> numeric",
        "CAST(power(CAST({0} AS double), CAST({1} AS double)) AS decimal(38,18))",
    ),
    function("atan2(double precision, double precision) -> double precision", "atan2({0}, {1})"),
    function(
        "log(numeric, numeric) -> numeric",
        "CAST(log(CAST({0} AS double), CAST({1} AS double)) AS decimal(38,18))",
    ),
    function("pi() -> double precision", "pi()"),
    function("random() -> double precision", "rand()", volatile=True),
)
