"""bytea: bytes, their hashes, and their text forms."""

from __future__ import annotations

from tailrace.errors import InvalidOption
from tailrace.plan.expressions import Call
from tailrace.plan.functions.entry import Render, function
from tailrace.plan.functions.strings import constant, substring
from tailrace.plan.raising import raising
from tailrace.plan.spark_literals import quoted

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
        raise InvalidOption(f'invalid source encoding name "{name}"')
    return quoted(_CHARSETS[name.lower()])



def _byte(call: Call, render: Render) -> str:
    """The value of a byte, counted from 0."""
    data, place = (render(argument) for argument in call.arguments)
    outside = raising("2202E", "index {} out of valid range", f"CAST({place} AS string)")
    value = f"CAST(conv(hex(substring({data}, {place} + 1, 1)), 16, 10) AS int)"
    return f"CASE WHEN {place} < 0 OR {place} >= octet_length({data}) THEN {outside} ELSE {value} END"


def _set_byte(call: Call, render: Render) -> str:
    data, place, value = (render(argument) for argument in call.arguments)
    outside = raising("2202E", "index {} out of valid range", f"CAST({place} AS string)")
    byte = f"unhex(lpad(hex({value} & 255), 2, '0'))"
    changed = f"concat(substring({data}, 1, {place}), {byte}, substring({data}, {place} + 2))"
    return f"CASE WHEN {place} < 0 OR {place} >= octet_length({data}) THEN {outside} ELSE {changed} END"


def _place(call: Call, render: Render) -> str:
    """Where bytes are found, counted from 1: at an even place of the hex digits."""
    whole, part = (f"hex({render(argument)})" for argument in call.arguments)
    pattern = f"concat('^((?:..)*?)', {part})"
    before = f"char_length(regexp_extract({whole}, {pattern}, 1))"
    return f"CASE WHEN {whole} RLIKE {pattern} THEN {before} div 2 + 1 ELSE 0 END"


FUNCTIONS = (
    function("||(bytea, bytea) -> bytea", "concat({0}, {1})"),
    function("length(bytea) -> integer", "octet_length({0})"),
    function("octet_length(bytea) -> integer", "octet_length({0})"),
    function("bit_length(bytea) -> integer", "bit_length({0})"),
    function(
        "bit_count(bytea) -> bigint",
        "CAST(aggregate(split(hex({0}), ''), 0, (n, d) -> n + bit_count(CAST(conv(d, 16, 10) AS int))) AS bigint)",
    ),
    function("strpos(bytea, bytea) -> integer", _place),
    function("substring(bytea, integer) -> bytea", substring),
    function("substring(bytea, integer, integer) -> bytea", substring),
    function("substr(bytea, integer) -> bytea", substring),
    function("substr(bytea, integer, integer) -> bytea", substring),
    function("get_byte(bytea, integer) -> integer", _byte),
    function("set_byte(bytea, integer, integer) -> bytea", _set_byte),
    function("reverse(bytea) -> bytea", "unhex(reverse(regexp_replace(hex({0}), '(.)(.)', '$2$1')))"),
    function("md5(bytea) -> text", "md5({0})"),
    function("sha224(bytea) -> bytea", "unhex(sha2({0}, 224))"),
    function("sha256(bytea) -> bytea", "unhex(sha2({0}, 256))"),
    function("sha384(bytea) -> bytea", "unhex(sha2({0}, 384))"),
    function("sha512(bytea) -> bytea", "unhex(sha2({0}, 512))"),
    function("crc32(text) -> uint4", "crc32(CAST({0} AS binary))"),
    function("crc32(bytea) -> uint4", "crc32({0})"),
    function("encode(bytea, text) -> text", "tailrace_encode({0}, {1})"),
    function("decode(text, text) -> bytea", "tailrace_decode({0}, {1})"),
    function(
        "convert_from(bytea, text) -> text", lambda c, r: f"tailrace_convert({r(c.arguments[0])}, {_charset(c)})"
    ),
    function("convert_to(text, text) -> bytea", lambda c, r: f"encode({r(c.arguments[0])}, {_charset(c)})"),
)
