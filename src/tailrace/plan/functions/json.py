"""jsonb: held as JSON text, which need not be canonical.

`->>` looks into the text as it is; a jsonb value that is compared, grouped, printed or handed on is first
made canonical (`canonical(jsonb)`): keys sorted, compact, the last of equal keys.  spark_json.py lets many
`->>` on one document share one parse; the texts here are for an access that stands alone.
"""

from __future__ import annotations

from tailrace.plan.expressions import Call, Expression, Literal
from tailrace.plan.functions.entry import Render, function
from tailrace.plan.spark_literals import quoted

CANONICAL = "canonical(jsonb)"
FIELD_TEXT, FIELD = "->>(jsonb, text)", "->(jsonb, text)"
ELEMENT_TEXT, ELEMENT = "->>(jsonb, integer)", "->(jsonb, integer)"
CONTAINS_MEMBER = "contains member(jsonb, jsonb)"


def canonical_json(text: str) -> str:
    """Spark text of a JSON text's canonical form: a variant holds its fields by name, and numbers as
    numbers.
    """
    return f"to_json(parse_json({text}))"


def literal_key(expression: Expression) -> str | None:
    """The text of a constant key that a JSON path can hold."""
    if isinstance(expression, Literal) and expression.text is not None and not set(expression.text) & set("'\"\\"):
        return expression.text
    return None


def chain(call: Expression) -> tuple[Expression, tuple[str, ...]] | None:
    """`data->'a'->0->>'b'` as `data` and its path `('a', '[0]', 'b')`, if all keys are constants."""
    path: list[str] = []
    while isinstance(call, Call) and call.function in (FIELD, FIELD_TEXT, ELEMENT, ELEMENT_TEXT):
        key = literal_key(call.arguments[1])
        if key is None:
            return None
        is_place = call.function in (ELEMENT, ELEMENT_TEXT)
        if is_place and key.startswith("-"):
            return None
        path.append(f"[{key}]" if is_place else key)
        call = call.arguments[0]
    while isinstance(call, Call) and call.function == CANONICAL:
        call = call.arguments[0]
    return (call, tuple(reversed(path))) if path else None


def json_path(path: tuple[str, ...], quote: str) -> str:
    """`$['a'][0]`; a variant's path wants double quotes."""
    return "$" + "".join(p if p.startswith("[") else f"[{quote}{p}{quote}]" for p in path)


def _text(call: Call, render: Render) -> str:
    found = chain(call)
    if found is not None:
        document, path = found
        if len(path) == 1 and not path[0].startswith("["):
            return f"from_json({render(document)}, {quoted(f'struct<`{path[0]}`:string>')}).`{path[0]}`"
        return f"get_json_object({render(document)}, {quoted(json_path(path, chr(39)))})"
    text, key = render(call.arguments[0]), render(call.arguments[1])
    if call.function == FIELD_TEXT:
        return f"try_element_at(from_json({text}, 'map<string,string>'), {key})"
    return f"try_element_at(from_json({text}, 'array<string>'), {_place(key)})"


def _place(key: str) -> str:
    """PostgreSQL counts from 0, and from the end below it; Spark counts from 1."""
    return f"(CASE WHEN {key} >= 0 THEN {key} + 1 ELSE {key} END)"


def _json(call: Call, render: Render) -> str:
    found = chain(call)
    if found is not None:
        document, path = found
        return f"to_json(variant_get(parse_json({render(document)}), {quoted(json_path(path, chr(34)))}))"
    text, key = render(call.arguments[0]), render(call.arguments[1])
    if call.function == FIELD:
        return f"to_json(try_element_at(from_json({text}, 'map<string,variant>'), {key}))"
    return f"to_json(try_element_at(from_json({text}, 'array<variant>'), {_place(key)}))"


_TYPEOF = (
    "CASE left(ltrim({0}), 1) WHEN '{{' THEN 'object' WHEN '[' THEN 'array' WHEN '\"' THEN 'string'"
    " WHEN 't' THEN 'boolean' WHEN 'f' THEN 'boolean' WHEN 'n' THEN 'null' ELSE 'number' END"
)

_AS_ARRAY = "CASE WHEN left(ltrim({}), 1) = '[' THEN from_json({}, 'array<variant>') ELSE array(parse_json({})) END"

FUNCTIONS = (
    function(f"{CANONICAL} -> jsonb", canonical_json("{0}")),
    function(f"{FIELD_TEXT} -> text", _text, nulls="always"),
    function(f"{ELEMENT_TEXT} -> text", _text, nulls="always"),
    function(f"{FIELD} -> jsonb", _json, nulls="always"),
    function(f"{ELEMENT} -> jsonb", _json, nulls="always"),
    function("jsonb_typeof(jsonb) -> text", _TYPEOF),
    function("jsonb_array_length(jsonb) -> integer", "json_array_length({0})", nulls="always"),
    function(
        "?(jsonb, text) -> boolean",
        "coalesce(array_contains(json_object_keys({0}), {1}),"
        " array_contains(from_json({0}, 'array<string>'), {1}), false)",
    ),
    function(
        "||(jsonb, jsonb) -> jsonb",
        "CASE WHEN left(ltrim({0}), 1) = '{{' AND left(ltrim({1}), 1) = '{{' THEN"
        " to_json(parse_json(to_json(map_concat(map_filter(from_json({0}, 'map<string,variant>'), (k, v) ->"
        " NOT array_contains(json_object_keys({1}), k)), from_json({1}, 'map<string,variant>'))))) ELSE"
        " to_json(concat(" + _AS_ARRAY.replace("{}", "{0}") + ", " + _AS_ARRAY.replace("{}", "{1}") + ")) END",
    ),
    function(
        "-(jsonb, text) -> jsonb",
        "CASE WHEN left(ltrim({0}), 1) = '{{' THEN to_json(parse_json(to_json(map_filter("
        "from_json({0}, 'map<string,variant>'), (k, v) -> k <> {1})))) ELSE"
        " to_json(filter(from_json({0}, 'array<variant>'), x -> to_json(x) <> to_json(CAST({1} AS variant))))"
        " END",
    ),
    function(
        f"{CONTAINS_MEMBER} -> boolean",
        "coalesce(exists(from_json({0}, 'array<variant>'), e -> to_json(e) = {1}), false)",
        nulls="never",
    ),
    function("jsonb_pretty(jsonb) -> text", canonical_json("{0}")),
)
