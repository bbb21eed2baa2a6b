"""Mathematical functions."""

from __future__ import annotations

from tailrace.errors import NotSupported
from tailrace.plan.expressions import Call, Cast, Literal
from tailrace.plan.functions.domains import DOMAINS, defined, powered
from tailrace.plan.functions.entry import Render, SparkText, function
from tailrace.plan.functions.let import let
from tailrace.plan.raising import raising
from tailrace.types.core import DOUBLE


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


def _of_degrees(name: str) -> str:
    """To the last digit but one at most: 15 digits, so that sind(30) is 0.5."""
    return f"CAST(round({name}(radians({{0}})), 15) AS double)"


_DOUBLE = tuple(
    function(f"{name}(double precision) -> double precision", spark)
    for name, spark in {
        "cbrt": "cbrt({0})", "exp": "exp({0})", "cot": "cot({0})", "atan": "atan({0})",
        "sinh": "sinh({0})", "cosh": "cosh({0})", "tanh": "tanh({0})", "asinh": "asinh({0})",
        "degrees": "degrees({0})", "radians": "radians({0})", "sign": "sign({0})", "round": "rint({0})",
        "ceil": "CAST(ceil({0}) AS double)", "ceiling": "CAST(ceil({0}) AS double)",
        "floor": "CAST(floor({0}) AS double)", "abs": "abs({0})",
        "trunc": "CAST(CASE WHEN {0} < 0 THEN ceil({0}) ELSE floor({0}) END AS double)",
        "sind": _of_degrees("sin"), "cosd": _of_degrees("cos"), "tand": _of_degrees("tan"),
    }.items()
)  # fmt: skip

_NUMERIC = tuple(
    function(f"{name}(numeric) -> numeric", f"CAST({spark} AS decimal(38,18))")
    for name, spark in {
        "abs": "abs({0})", "round": "round({0}, 0)", "ceil": "ceil({0})", "ceiling": "ceil({0})",
        "floor": "floor({0})", "sign": "sign({0})",
        "trunc": "CASE WHEN {0} < 0 THEN ceil({0}) ELSE floor({0}) END",
        "exp": "exp(CAST({0} AS double))", "trim_scale": "{0}",
    }.items()
)  # fmt: skip



def _defined(name: str) -> SparkText:
    """A function of doubles; of a numeric to the digits of a double."""

    def text(call: Call, render: Render) -> str:
        if call.type == DOUBLE:
            return defined(name, render(call.arguments[0]))
        return f"CAST({defined(name, f'CAST({render(call.arguments[0])} AS double)')} AS decimal(38,18))"

    return text


def _log(call: Call, render: Render) -> str:
    base, number = (defined("ln", f"CAST({render(argument)} AS double)") for argument in call.arguments)
    return f"CAST({number} / {base} AS decimal(38,18))"


_DIGITS = "regexp_extract(CAST({0} AS string), '[.](\\\\d*?)0*$', 1)"


def _divisor(spark: str) -> str:
    """Euclid's algorithm, in enough steps for any two numbers of 64 bits."""
    start = "named_struct('a', CAST({0} AS bigint), 'b', CAST({1} AS bigint))"
    step = "CASE WHEN s.b = 0 THEN s ELSE named_struct('a', s.b, 'b', s.a % s.b) END"
    return f"CAST(aggregate(sequence(1, 92), {start}, (s, i) -> {step}, s -> abs(s.a)) AS {spark})"


def _multiple(spark: str) -> str:
    whole = f"abs(CAST({{0}} AS bigint) div nullif({_divisor('bigint')}, 0) * {{1}})"
    return f"CAST(CASE WHEN {{0}} = 0 OR {{1}} = 0 THEN 0 ELSE {whole} END AS {spark})"


def _factorial(call: Call, render: Render) -> str:
    error = raising("22003", "factorial of a negative number is undefined")
    product = "aggregate(sequence(2L, greatest({x}, 2L)), CAST(1 AS decimal(38,0)), (p, i) ->"
    product += " CAST(p * CASE WHEN {x} < 2 THEN 1 ELSE i END AS decimal(38,0)))"
    body = f"CASE WHEN {{x}} < 0 THEN {error} ELSE CAST({product} AS decimal(38,18)) END"
    return let({"x": render(call.arguments[0])}, body)


def _bucket() -> str:
    """Counted from 1; 0 and count + 1 are for what lies outside.  The bounds may run downwards."""
    error = raising("2201G", "count must be greater than zero")
    same = raising("2201G", "lower bound cannot equal upper bound")
    up = "CAST(floor(({0} - {1}) * {3} / ({2} - {1})) AS int) + 1"
    return (
        f"CASE WHEN {{3}} <= 0 THEN {error} WHEN {{1}} = {{2}} THEN {same}"
        f" WHEN ({{1}} < {{2}} AND {{0}} < {{1}}) OR ({{1}} > {{2}} AND {{0}} > {{1}}) THEN 0"
        f" WHEN ({{1}} < {{2}} AND {{0}} >= {{2}}) OR ({{1}} > {{2}} AND {{0}} <= {{2}}) THEN {{3}} + 1 ELSE {up} END"
    )


_BUCKET = _bucket()
_WHOLE = (("integer", "int"), ("bigint", "bigint"))

FUNCTIONS = (
    *_DOUBLE,
    *_NUMERIC,
    *(function(f"{name}(double precision) -> double precision", _defined(name)) for name in DOMAINS),
    *(function(f"{name}(numeric) -> numeric", _defined(name)) for name in ("sqrt", "ln", "log", "log10")),
    *(function(f"abs({name}) -> {name}", "abs({0})") for name in ("smallint", "integer", "bigint", "real")),
    *(
        function(f"mod({name}, {name}) -> {name}", "({0} % {1})")
        for name in ("smallint", "integer", "bigint", "double precision")
    ),
    *(function(f"gcd({name}, {name}) -> {name}", _divisor(spark)) for name, spark in _WHOLE),
    *(function(f"lcm({name}, {name}) -> {name}", _multiple(spark)) for name, spark in _WHOLE),
    function("to_hex(integer) -> text", "lower(hex(CAST({0} AS bigint) & 4294967295L))"),
    function("to_hex(bigint) -> text", "lower(hex({0}))"),
    function("to_bin(integer) -> text", "bin(CAST({0} AS bigint) & 4294967295L)"),
    function("to_bin(bigint) -> text", "bin({0})"),
    function("to_oct(integer) -> text", "conv(hex(CAST({0} AS bigint) & 4294967295L), 16, 8)"),
    function("to_oct(bigint) -> text", "conv(hex({0}), 16, 8)"),
    function("mod(numeric, numeric) -> numeric", "CAST({0} % {1} AS decimal(38,18))"),
    function("div(numeric, numeric) -> numeric", "CAST({0} div {1} AS decimal(38,18))"),
    function("factorial(bigint) -> numeric", _factorial),
    function("scale(numeric) -> integer", f"char_length({_DIGITS})"),
    function("min_scale(numeric) -> integer", f"char_length({_DIGITS})"),
    function("width_bucket(numeric, numeric, numeric, integer) -> integer", _BUCKET),
    function("width_bucket(double precision, double precision, double precision, integer) -> integer", _BUCKET),
    function("round(numeric, integer) -> numeric", _rounded("round")),
    function("trunc(numeric, integer) -> numeric", _rounded("trunc")),
    *(
        function(f"{name}(double precision, double precision) -> double precision", powered)
        for name in ("power", "pow")
    ),
    *(function(f"{name}(numeric, numeric) -> numeric", powered) for name in ("power", "pow")),
    function("atan2(double precision, double precision) -> double precision", "atan2({0}, {1})"),
    function("log(numeric, numeric) -> numeric", _log),
    function("to_char(numeric, text) -> text", "tailrace_number_text(CAST({0} AS string), {1})"),
    function("to_char(double precision, text) -> text", "tailrace_number_text(CAST({0} AS string), {1})"),
    function("to_char(integer, text) -> text", "tailrace_number_text(CAST({0} AS string), {1})"),
    function("to_char(bigint, text) -> text", "tailrace_number_text(CAST({0} AS string), {1})"),
    function("to_number(text, text) -> numeric", "CAST(tailrace_number_read({0}, {1}) AS decimal(38,18))"),
    function("pi() -> double precision", "pi()"),
    function("random() -> double precision", "rand()", volatile=True),
)
