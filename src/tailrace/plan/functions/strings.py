"""Text.  Patterns are in patterns.py, bytes in bytes.py."""

from __future__ import annotations

from tailrace.errors import NotSupported
from tailrace.plan.expressions import Call, Expression, Literal
from tailrace.plan.functions.entry import Render, SparkText, function, joined
from tailrace.plan.functions.let import let
from tailrace.plan.raising import raising


def constant(expression: Expression, what: str) -> str:
    """The text of a constant argument.  Raises NotSupported for anything else."""
    if isinstance(expression, Literal) and expression.text is not None:
        return expression.text
    raise NotSupported(f"{what} that is not a constant not yet supported")


def substring(call: Call, render: Render) -> str:
    """PostgreSQL counts places before the first character into the length."""
    text, start, *rest = (render(argument) for argument in call.arguments)
    if not rest:
        return f"substring({text}, greatest({start}, 1))"
    negative = raising("22011", "negative substring length not allowed")
    first = f"greatest({start}, 1)"
    return (
        f"CASE WHEN {rest[0]} < 0 THEN {negative} ELSE"
        f" substring({text}, {first}, greatest({start} + {rest[0]} - {first}, 0)) END"
    )


def _cased(name: str) -> SparkText:
    """Letter by letter, as PostgreSQL does it; where all are ASCII, Spark's own function is the same and quicker."""
    body = f"CASE WHEN octet_length({{x}}) = char_length({{x}}) THEN {name}({{x}}) ELSE tailrace_{name}({{x}}) END"
    return lambda call, render: let({"x": render(call.arguments[0])}, body)


def _character(call: Call, render: Render) -> str:
    """Of any code point; Spark's chr counts modulo 256."""
    none = raising("54000", "null character not permitted")
    negative = raising("22023", "character number must be positive")
    large = raising("54000", "requested character too large for encoding: {}", "CAST({x} AS string)")
    text = "decode(unhex(lpad(hex({x}), 8, '0')), 'UTF-32')"
    errors = f"WHEN {{x}} = 0 THEN {none} WHEN {{x}} < 0 THEN {negative} WHEN {{x}} > 1114111 THEN {large}"
    body = f"CASE {errors} ELSE {text} END"
    return let({"x": render(call.arguments[0])}, body)


def _split_part(call: Call, render: Render) -> str:
    text, separator, place = (render(argument) for argument in call.arguments)
    zero = raising("22023", "field position must not be zero")
    return f"CASE WHEN {place} = 0 THEN {zero} ELSE split_part({text}, {separator}, {place}) END"


def _formatted(call: Call, render: Render) -> str:
    template, *values = (render(argument) for argument in call.arguments)
    return f"tailrace_format({template}, CAST(array({', '.join(values)}) AS array<string>))"


OUTPUT_BOOLEAN = "output(boolean)"
"""A boolean as it is printed: t or f, where a cast to text gives true or false."""

# Without a separator each character is a part; an empty one leaves the text whole.
_PARTS = (
    "CASE WHEN {0} = '' THEN CAST(array() AS array<string>) WHEN {1} IS NULL THEN split({0}, '')"
    " WHEN {1} = '' THEN array({0}) ELSE split({0}, concat('\\\\Q', {1}, '\\\\E'), -1) END"
)

FUNCTIONS = (
    function(
        "escaped pattern(text, text) -> text",
        "regexp_replace(replace({0}, '\\\\', '\\\\\\\\'), concat('\\\\Q', {1}, '\\\\E(.)'), '\\\\\\\\$1')",
    ),
    function("||(text, text) -> text", "concat({0}, {1})"),
    function("concat(text...) -> text", joined("concat_ws('', {})", ", "), nulls="never"),
    function("concat_ws(text, text...) -> text", joined("concat_ws({})", ", "), nulls="always"),
    function(
        "fits(text, integer) -> text",
        "CASE WHEN char_length(rtrim({0})) > {1} THEN "
        + raising("22001", "value too long for type character varying({})", "CAST({1} AS string)")
        + " ELSE {0} END",
    ),
    function("lower(text) -> text", _cased("lower")),
    function("upper(text) -> text", _cased("upper")),
    function("length(text) -> integer", "char_length({0})"),
    function("char_length(text) -> integer", "char_length({0})"),
    function("character_length(text) -> integer", "char_length({0})"),
    function("octet_length(text) -> integer", "octet_length({0})"),
    function("bit_length(text) -> integer", "bit_length({0})"),
    function("substring(text, integer) -> text", substring),
    function("substring(text, integer, integer) -> text", substring),
    function("substr(text, integer) -> text", substring),
    function("substr(text, integer, integer) -> text", substring),
    function(
        "left(text, integer) -> text",
        "CASE WHEN {1} >= 0 THEN left({0}, {1}) ELSE left({0}, greatest(char_length({0}) + {1}, 0)) END",
    ),
    function(
        "right(text, integer) -> text",
        "CASE WHEN {1} >= 0 THEN right({0}, {1}) ELSE right({0}, greatest(char_length({0}) + {1}, 0)) END",
    ),
    function("lpad(text, integer) -> text", "lpad({0}, {1})"),
    function("lpad(text, integer, text) -> text", "lpad({0}, {1}, {2})"),
    function("rpad(text, integer) -> text", "rpad({0}, {1})"),
    function("rpad(text, integer, text) -> text", "rpad({0}, {1}, {2})"),
    function("ltrim(text) -> text", "ltrim({0})"),
    function("ltrim(text, text) -> text", "ltrim({1}, {0})"),
    function("rtrim(text) -> text", "rtrim({0})"),
    function("rtrim(text, text) -> text", "rtrim({1}, {0})"),
    function("btrim(text) -> text", "trim({0})"),
    function("btrim(text, text) -> text", "trim(BOTH {1} FROM {0})"),
    function("replace(text, text, text) -> text", "replace({0}, {1}, {2})"),
    function("translate(text, text, text) -> text", "translate({0}, {1}, {2})"),
    function("reverse(text) -> text", "reverse({0})"),
    function("repeat(text, integer) -> text", "repeat({0}, {1})"),
    function("split_part(text, text, integer) -> text", _split_part),
    function("strpos(text, text) -> integer", "instr({0}, {1})"),
    function("starts_with(text, text) -> boolean", "startswith({0}, {1})"),
    function("ascii(text) -> integer", "ascii({0})"),
    function("chr(integer) -> text", _character),
    function("overlay(text, text, integer) -> text", "overlay({0} PLACING {1} FROM {2})"),
    function("overlay(text, text, integer, integer) -> text", "overlay({0} PLACING {1} FROM {2} FOR {3})"),
    function("md5(text) -> text", "md5(CAST({0} AS binary))"),
    function("initcap(text) -> text", "tailrace_capitals({0})"),
    function("casefold(text) -> text", "lower({0})"),
    function("string_to_array(text, text) -> text[]", _PARTS, nulls="always"),
    function(
        "string_to_array(text, text, text) -> text[]",
        f"transform({_PARTS}, e -> CASE WHEN e = {{2}} THEN NULL ELSE e END)",
        nulls="always",
    ),
    function("quote_literal(text) -> text", "tailrace_quote_literal({0})"),
    function("quote_nullable(text) -> text", "coalesce(tailrace_quote_literal({0}), 'NULL')", nulls="never"),
    function("quote_ident(text) -> text", "tailrace_quote_identifier({0})"),
    function("normalize(text) -> text", "tailrace_normalized({0}, 'NFC')"),
    function("normalize(text, text) -> text", "tailrace_normalized({0}, {1})"),
    function("output(boolean) -> text", "CASE WHEN {0} THEN 't' WHEN NOT {0} THEN 'f' END", id=OUTPUT_BOOLEAN),
    function("format(text, text...) -> text", _formatted, nulls="always"),
)
