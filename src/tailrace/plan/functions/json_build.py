"""Making jsonb: of any value, of keys and values, of a list."""

from __future__ import annotations

from tailrace.plan.expressions import Call
from tailrace.plan.functions.entry import Render, function
from tailrace.plan.functions.json import canonical_json
from tailrace.plan.raising import raising
from tailrace.plan.spark_literals import quoted
from tailrace.plan.spark_text import float_text, text_form
from tailrace.types.core import (
    BOOLEAN,
    DOUBLE,
    JSONB,
    REAL,
    ArrayOf,
    ListOf,
    MapOf,
    Numeric,
    Record,
    Scalar,
    SqlType,
    Timestamp,
    TimestampTz,
)

TO_JSONB = "to_jsonb"
_WHOLE = ("smallint", "integer", "bigint", "uint2", "uint4", "uint8", "oid")


def json_text(value: str, type: SqlType) -> str:
    """The JSON text of a value that is not NULL: numbers and booleans bare, records as objects, else a
    string.
    """
    match type:
        case Scalar(name=name) if name in _WHOLE or type == BOOLEAN:
            return f"CAST({value} AS string)"
        case Numeric():
            return text_form(value, type)
        case ListOf(element=element) | ArrayOf(element=element):
            return f"concat('[', array_join(transform({value}, e -> {_member('e', element)}), ','), ']')"
        case MapOf(value=element):
            entry = f"concat({_string('e.key')}, ':', {_member('e.value', element)})"
            entries = f"array_join(transform(array_sort(map_keys({value})), k -> {entry}), ',')"
            return "concat('{', " + entries.replace("e.key", "k").replace("e.value", f"{value}[k]") + ", '}')"
        case Record() if value.startswith("named_struct("):
            return _record(value, type)
        case Record():
            present = f"r -> CASE WHEN r IS NOT NULL THEN {_record('r', type)} END"
            return f"element_at(transform(array({value}), {present}), 1)"
    if type == JSONB:
        return value
    if isinstance(type, Timestamp | TimestampTz):
        zone = ":00" if isinstance(type, TimestampTz) else ""
        return f"concat('\"', replace({text_form(value, type)}, ' ', 'T'), '{zone}\"')"
    if type in (REAL, DOUBLE):
        finite = f"{value} = {value} AND abs({value}) < double('Infinity')"
        return f"CASE WHEN {finite} THEN {float_text(value, type)} ELSE {_string(f'CAST({value} AS string)')} END"
    return _string(text_form(value, type))


def _record(value: str, type: Record) -> str:
    parts = [f"{quoted(_key(f.name) + ':')}, {_member(f'{value}.f{i}', f.type)}" for i, f in enumerate(type.fields)]
    return canonical_json("concat('{', " + ", ',', ".join(parts) + ", '}')")


def _member(value: str, type: SqlType) -> str:
    return f"coalesce({json_text(value, type)}, 'null')"


def _string(text: str) -> str:
    return f"tailrace_json_string(CAST({text} AS binary))"


def _key(name: str) -> str:
    from tailrace.plan.value_json import print_json

    return print_json(name)


def _object(call: Call, render: Render) -> str:
    """Entries one after the other; canonical form keeps the last of equal keys."""
    texts = [render(argument) for argument in call.arguments]
    for i in range(0, len(texts), 2):
        null = raising("22023", f"argument {i + 1}: key must not be null")
        texts[i] = f"coalesce({texts[i]}, {null})" if call.arguments[i].nullable else texts[i]
    pairs = [f"{_string(k)}, ':', coalesce({v}, 'null')" for k, v in zip(texts[::2], texts[1::2], strict=True)]
    return canonical_json("concat('{', " + ", ',', ".join(pairs) + ", '}')") if pairs else "'{}'"


def _array(call: Call, render: Render) -> str:
    members = ", ',', ".join(f"coalesce({render(a)}, 'null')" for a in call.arguments)
    return f"concat('[', {members}, ']')" if members else "'[]'"


def _object_of_pairs(call: Call, render: Render) -> str:
    """Keys and values in turn."""
    array = render(call.arguments[0])
    odd = raising("2202E", "array must have even number of elements")
    keys = f"filter({array}, (e, i) -> i % 2 = 0)"
    values = f"filter({array}, (e, i) -> i % 2 = 1)"
    return f"CASE WHEN cardinality({array}) % 2 = 1 THEN {odd} ELSE {_zipped(keys, values)} END"


def _object_of_two(call: Call, render: Render) -> str:
    keys, values = (render(argument) for argument in call.arguments)
    error = raising("2202E", "mismatched array dimensions")
    return f"CASE WHEN cardinality({keys}) <> cardinality({values}) THEN {error} ELSE {_zipped(keys, values)} END"


def _zipped(keys: str, values: str) -> str:
    null = raising("22004", "null value not allowed for object key")
    entry = f"concat({_string(f'coalesce(k, {null})')}, ':', coalesce({_string('v')}, 'null'))"
    return canonical_json(f"concat('{{', array_join(zip_with({keys}, {values}, (k, v) -> {entry}), ','), '}}')")


FUNCTIONS = (
    function("to_jsonb(T) -> jsonb", lambda c, r: json_text(r(c.arguments[0]), c.arguments[0].type), id=TO_JSONB),
    function("jsonb_build_object(T...) -> jsonb", _object, nulls="never"),
    function("jsonb_build_array(T...) -> jsonb", _array, nulls="never"),
    function("jsonb_object(text[]) -> jsonb", _object_of_pairs),
    function("jsonb_object(text[], text[]) -> jsonb", _object_of_two),
)
