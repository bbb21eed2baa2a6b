"""Text and bytes."""

from __future__ import annotations

import re

from tailrace.errors import NotSupported
from tailrace.plan.expressions import Call, Expression, Literal
from tailrace.plan.functions.entry import Render, function, joined
from tailrace.plan.raising import raising
from tailrace.plan.spark_literals import quoted


def constant(expression: Expression, what: str) -> str:
    """The text of a constant argument.  Raises NotSupported for anything else."""
    if isinstance(expression, Literal) and expression.text is not None:
        return expression.text
    raise NotSupported(f"{what} that is not a constant not yet supported")


def _substring(call: Call, render: Render) -> str:
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


def _regexp_replace(call: Call, render: Render) -> str:
    """The first match, or with the flag g all; `\\1` in the replacement is the first group."""
    pattern = constant(call.arguments[1], "regexp_replace with a pattern")
    replacement = constant(call.arguments[2], "regexp_replace with a replacement")
    flags = constant(call.arguments[3], "regexp_replace with flags") if len(call.arguments) > 3 else ""
    everywhere = "g" in flags
    shift = 0 if everywhere else 1
    java = re.sub(
        r"\\(\d|&|\\)|([$])",
        lambda m: "\\$" if m.group(2) else _group(m.group(1), shift),
        replacement,
    )
    prefix = "(?i)" if "i" in flags else ""
    if not everywhere:
        pattern, java = f"^((?s:.*?))(?:{pattern})", f"$1{java}"
    return f"regexp_replace({render(call.arguments[0])}, {quoted(prefix + pattern)}, {quoted(java)})"


def _group(reference: str, shift: int) -> str:
    if reference == "\\":
        return "\\\\"
    return "$" + str((0 if reference == "&" else int(reference)) + shift)


def _regexp_match(call: Call, render: Render) -> str:
    """The groups of the first match, or the whole of it if there are none."""
    pattern = constant(call.arguments[1], "regexp_match with a pattern")
    flags = constant(call.arguments[2], "regexp_match with flags") if len(call.arguments) > 2 else ""
    java = quoted(("(?i)" if "i" in flags else "") + pattern)
    text = render(call.arguments[0])
    try:
        groups = re.compile(pattern).groups
    except re.error:
        groups = 0
    parts = ", ".join(f"regexp_extract({text}, {java}, {i})" for i in (range(1, groups + 1) if groups else (0,)))
    return f"CASE WHEN {text} RLIKE {java} THEN array({parts}) END"


def _encoded(call: Call, render: Render) -> str:
    format = constant(call.arguments[1], "encode with a format")
    value = render(call.arguments[0])
    texts = {"hex": f"lower(hex({value}))", "base64": f"base64({value})"}
    if format not in texts:
        raise NotSupported(f"encode with the format {format} not yet supported")
    return texts[format]


def _decoded(call: Call, render: Render) -> str:
    format = constant(call.arguments[1], "decode with a format")
    value = render(call.arguments[0])
    texts = {"hex": f"unhex({value})", "base64": f"unbase64({value})", "escape": f"CAST({value} AS binary)"}
    if format not in texts:
        raise NotSupported(f"decode with the format {format} not yet supported")
    return texts[format]


_CHARSETS = {
    "utf8": "UTF-8",
    "utf-8": "UTF-8",
    "unicode": "UTF-8",
    "latin1": "ISO-8859-1",
    "sql_ascii": "UTF-8",
}


def _charset(call: Call) -> str:
    """A character set by Java's name."""
    name = constant(call.arguments[1], "conversion with an encoding")
    if name.lower() not in _CHARSETS:
        raise NotSupported(f"the encoding {name} not yet supported")
    return quoted(_CHARSETS[name.lower()])


_MATCHING = (
    function("~~(text, text) -> boolean", "({0} LIKE {1})"),
    function("!~~(text, text) -> boolean", "(NOT ({0} LIKE {1}))"),
    function("~~*(text, text) -> boolean", "({0} ILIKE {1})"),
    function("!~~*(text, text) -> boolean", "(NOT ({0} ILIKE {1}))"),
    function("~(text, text) -> boolean", "({0} RLIKE {1})"),
    function("!~(text, text) -> boolean", "(NOT ({0} RLIKE {1}))"),
    function("~*(text, text) -> boolean", "({0} RLIKE concat('(?i)', {1}))"),
    function("!~*(text, text) -> boolean", "(NOT ({0} RLIKE concat('(?i)', {1})))"),
    function("^@(text, text) -> boolean", "startswith({0}, {1})"),
)

FUNCTIONS = (
    *_MATCHING,
    function(
        "escaped pattern(text, text) -> text",
        "regexp_replace(replace({0}, '\\\\', '\\\\\\\\'), concat('\\\\Q', {1}, '\\\\E(.)'), '\\\\\\\\$1')",
    ),
    function("||(text, text) -> text", "concat({0}, {1})"),
    function("||(bytea, bytea) -> bytea", "concat({0}, {1})"),
    function("concat(text...) -> text", joined("concat_ws('', {})", ", "), nulls="never"),
    function("concat_ws(text, text...) -> text", joined("concat_ws({})", ", "), nulls="always"),
    function(
        "fits(text, integer) -> text",
        "CASE WHEN char_length(rtrim({0})) > {1} THEN "
        + raising("22001", "value too long for type character varying({})", "CAST({1} AS string)")
        + " ELSE {0} END",
    ),
    function("lower(text) -> text", "lower({0})"),
    function("upper(text) -> text", "upper({0})"),
    function("initcap(text) -> text", "initcap({0})"),
    function("length(text) -> integer", "char_length({0})"),
    function("char_length(text) -> integer", "char_length({0})"),
    function("character_length(text) -> integer", "char_length({0})"),
    function("length(bytea) -> integer", "octet_length({0})"),
    function("octet_length(text) -> integer", "octet_length({0})"),
    function("octet_length(bytea) -> integer", "octet_length({0})"),
    function("bit_length(text) -> integer", "bit_length({0})"),
    function("bit_length(bytea) -> integer", "bit_length({0})"),
    function("substring(text, integer) -> text", _substring),
    function("substring(text, integer, integer) -> text", _substring),
    function("substr(text, integer) -> text", _substring),
    function("substr(text, integer, integer) -> text", _substring),
    function("substring(text, text) -> text", "nullif(regexp_extract({0}, {1}, 0), '')", nulls="always"),
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
    function("split_part(text, text, integer) -> text", "split_part({0}, {1}, {2})"),
    function("strpos(text, text) -> integer", "instr({0}, {1})"),
    function("starts_with(text, text) -> boolean", "startswith({0}, {1})"),
    function("ascii(text) -> integer", "ascii({0})"),
    function("chr(integer) -> text", "chr({0})"),
    function("to_hex(integer) -> text", "lower(hex({0}))"),
    function("to_hex(bigint) -> text", "lower(hex({0}))"),
    function("overlay(text, text, integer) -> text", "overlay({0} PLACING {1} FROM {2})"),
    function("overlay(text, text, integer, integer) -> text", "overlay({0} PLACING {1} FROM {2} FOR {3})"),
    function("md5(text) -> text", "md5(CAST({0} AS binary))"),
    function("md5(bytea) -> text", "md5({0})"),
    function("sha224(bytea) -> bytea", "unhex(sha2({0}, 224))"),
    function("sha256(bytea) -> bytea", "unhex(sha2({0}, 256))"),
    function("sha384(bytea) -> bytea", "unhex(sha2({0}, 384))"),
    function("sha512(bytea) -> bytea", "unhex(sha2({0}, 512))"),
    function("crc32(text) -> uint4", "crc32(CAST({0} AS binary))"),
    function("crc32(bytea) -> uint4", "crc32({0})"),
    function("encode(bytea, text) -> text", _encoded),
    function("decode(text, text) -> bytea", _decoded),
    function("convert_from(bytea, text) -> text", lambda c, r: f"decode({r(c.arguments[0])}, {_charset(c)})"),
    function("convert_to(text, text) -> bytea", lambda c, r: f"encode({r(c.arguments[0])}, {_charset(c)})"),
    function("regexp_replace(text, text, text) -> text", _regexp_replace),
    function("regexp_replace(text, text, text, text) -> text", _regexp_replace),
    function("regexp_match(text, text) -> text[]", _regexp_match, nulls="always"),
    function("regexp_match(text, text, text) -> text[]", _regexp_match, nulls="always"),
    function("regexp_split_to_array(text, text) -> text[]", "split({0}, {1})"),
    function(
        "string_to_array(text, text) -> text[]",
        "CASE WHEN {0} = '' THEN CAST(array() AS array<string>) ELSE split({0}, concat('\\\\Q', {1}, '\\\\E'), -1) END",
    ),
    function("quote_literal(text) -> text", "concat('\\'', replace({0}, '\\'', '\\'\\''), '\\'')"),
    function(
        "quote_ident(text) -> text",
        "CASE WHEN {0} RLIKE '^[a-z_][a-z0-9_$]*$' THEN {0} ELSE concat('\"', replace({0}, '\"', '\"\"'), '\"') END",
    ),
)
