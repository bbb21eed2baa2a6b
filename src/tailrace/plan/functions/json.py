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


def canonical_json(text: str) -> str:
    """Spark text of a JSON text's canonical form."""
    return f"tailrace_jsonb({text})"


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
        if key.startswith("-" if is_place else "["):
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
        if len(path) == 1 and path[0].startswith("["):
            inner = f"tailrace_jsonb_element({render(document)}, {path[0][1:-1]})"
            return f"tailrace_jsonb_at(concat('[', {inner}, ']'), array('0'), true)"
        if len(path) == 1:
            return f"from_json({render(document)}, {quoted(f'struct<`{path[0]}`:string>')}).`{path[0]}`"
        if any(p.startswith("[") or p.isdecimal() for p in path):  # to Spark a place is a name, and a name a place
            return _steps(render(document), path, as_text=True)
        return f"get_json_object({render(document)}, {quoted(json_path(path, chr(39)))})"
    text, key = render(call.arguments[0]), render(call.arguments[1])
    if call.function == FIELD_TEXT:
        return f"try_element_at(from_json({text}, 'map<string,string>'), {key})"
    return f"tailrace_jsonb_at(concat('[', tailrace_jsonb_element({text}, {key}), ']'), array('0'), true)"


def _steps(document: str, path: tuple[str, ...], *, as_text: bool) -> str:
    steps = ", ".join(quoted(step[:-1] if step.startswith("[") else f".{step}") for step in path)
    return f"tailrace_jsonb_steps({document}, array({steps}), {str(as_text).lower()})"


def _json(call: Call, render: Render) -> str:
    found = chain(call)
    if found is not None:
        document, path = found
        if len(path) == 1 and path[0].startswith("["):
            return f"tailrace_jsonb_element({render(document)}, {path[0][1:-1]})"
        return _steps(render(document), path, as_text=False)
    text, key = render(call.arguments[0]), render(call.arguments[1])
    if call.function == FIELD:
        return f"to_json(try_element_at(from_json({text}, 'map<string,variant>'), {key}))"
    return f"tailrace_jsonb_element({text}, {key})"


_TYPEOF = (
    "CASE left(ltrim({0}), 1) WHEN '{{' THEN 'object' WHEN '[' THEN 'array' WHEN '\"' THEN 'string'"
    " WHEN 't' THEN 'boolean' WHEN 'f' THEN 'boolean' WHEN 'n' THEN 'null' ELSE nvl2({0}, 'number', NULL) END"
)

_FIRST = {"object": "= '{'", "array": "= '['", "scalar": "NOT IN ('{', '[')"}


def _is_json(call: Call, render: Render) -> str:
    """Is a text one document, of this kind?"""
    text, kind = render(call.arguments[0]), call.arguments[1]
    assert isinstance(kind, Literal)
    valid = f"tailrace_is_json(CAST({text} AS binary))"
    first = _FIRST.get(kind.text or "")
    return valid if first is None else f"({valid} AND left(ltrim({text}), 1) {first})"


FUNCTIONS = (
    *(function(f"is json({type}, text) -> boolean", _is_json) for type in ("text", "jsonb")),
    function(f"{CANONICAL} -> jsonb", canonical_json("{0}")),
    function(f"{FIELD_TEXT} -> text", _text, nulls="always"),
    function(f"{ELEMENT_TEXT} -> text", _text, nulls="always"),
    function(f"{FIELD} -> jsonb", _json, nulls="always"),
    function(f"{ELEMENT} -> jsonb", _json, nulls="always"),
    function("#>(jsonb, text[]) -> jsonb", "tailrace_jsonb_at({0}, {1}, false)", nulls="always"),
    function("#>>(jsonb, text[]) -> text", "tailrace_jsonb_at({0}, {1}, true)", nulls="always"),
    function(
        "jsonb_extract_path(jsonb, text...) -> jsonb",
        lambda c, r: f"tailrace_jsonb_at({r(c.arguments[0])}, array({', '.join(map(r, c.arguments[1:]))}), false)",
        nulls="always",
    ),
    function(
        "jsonb_extract_path_text(jsonb, text...) -> text",
        lambda c, r: f"tailrace_jsonb_at({r(c.arguments[0])}, array({', '.join(map(r, c.arguments[1:]))}), true)",
        nulls="always",
    ),
    function("jsonb_typeof(jsonb) -> text", _TYPEOF),
    function("jsonb_array_length(jsonb) -> integer", "tailrace_jsonb_length({0})"),
    function("@>(jsonb, jsonb) -> boolean", "tailrace_jsonb_contains({0}, {1})"),
    function("<@(jsonb, jsonb) -> boolean", "tailrace_jsonb_contains({1}, {0})"),
    function("?(jsonb, text) -> boolean", "tailrace_jsonb_has_keys({0}, array({1}), true)"),
    function("?|(jsonb, text[]) -> boolean", "tailrace_jsonb_has_keys({0}, {1}, false)"),
    function("?&(jsonb, text[]) -> boolean", "tailrace_jsonb_has_keys({0}, {1}, true)"),
    function("||(jsonb, jsonb) -> jsonb", "tailrace_jsonb_concat({0}, {1})"),
    function("-(jsonb, text) -> jsonb", "tailrace_jsonb_without({0}, array({1}))"),
    function("-(jsonb, text[]) -> jsonb", "tailrace_jsonb_without({0}, {1})"),
    function("-(jsonb, integer) -> jsonb", "tailrace_jsonb_without_place({0}, {1})"),
    function("#-(jsonb, text[]) -> jsonb", "tailrace_jsonb_change({0}, {1}, CAST(NULL AS string), 'delete')"),
    function("jsonb_set(jsonb, text[], jsonb) -> jsonb", "tailrace_jsonb_change({0}, {1}, {2}, 'make')"),
    function(
        "jsonb_set(jsonb, text[], jsonb, boolean) -> jsonb",
        "tailrace_jsonb_change({0}, {1}, {2}, CASE WHEN {3} THEN 'make' WHEN NOT {3} THEN 'set' END)",
    ),
    function("jsonb_insert(jsonb, text[], jsonb) -> jsonb", "tailrace_jsonb_change({0}, {1}, {2}, 'insert')"),
    function(
        "jsonb_insert(jsonb, text[], jsonb, boolean) -> jsonb",
        "tailrace_jsonb_change({0}, {1}, {2}, CASE WHEN {3} THEN 'insert after' WHEN NOT {3} THEN 'insert' END)",
    ),
    function("jsonb_strip_nulls(jsonb) -> jsonb", "tailrace_jsonb_without_nulls({0})"),
    function("jsonb_pretty(jsonb) -> text", "tailrace_jsonb_pretty({0})"),
)
