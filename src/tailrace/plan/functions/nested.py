"""Arrays, lists and maps."""

from __future__ import annotations

from tailrace.plan.expressions import Call, Literal
from tailrace.plan.functions.entry import Render, function, joined
from tailrace.types.core import Record

ARRAY, LIST, MAP, ROW, FIELD = "array[]", "list[]", "map[]", "row", "field"


def _row(call: Call, render: Render) -> str:
    return "named_struct(" + ", ".join(f"'f{i}', {render(a)}" for i, a in enumerate(call.arguments)) + ")"


def _field(call: Call, render: Render) -> str:
    """A record's field by its place, counted from 0."""
    place = call.arguments[1]
    assert isinstance(place, Literal)
    assert isinstance(call.arguments[0].type, Record)
    return f"{render(call.arguments[0])}.f{place.text}"


def _map(call: Call, render: Render) -> str:
    """Of equal keys the last wins."""
    texts = [render(argument) for argument in call.arguments]
    entries = ", ".join(f"struct({k}, {v})" for k, v in zip(texts[::2], texts[1::2], strict=True))
    keys = [a.text for a in call.arguments[::2] if isinstance(a, Literal)]
    if len(set(keys)) == len(call.arguments) // 2:
        return f"map({', '.join(texts)})"
    last = "(m, e) -> map_concat(map_filter(m, (k, v) -> k <> e.col1), map(e.col1, e.col2))"
    return f"aggregate(array({entries}), map_filter(map({texts[0]}, {texts[1]}), (k, v) -> false), {last})"


def _slice(call: Call, render: Render) -> str:
    """Both ends count from 1; what lies outside is left out."""
    array, low, high = (render(argument) for argument in call.arguments)
    start = f"greatest({low}, 1)"
    return f"slice({array}, {start}, greatest(least({high}, cardinality({array})) - {start} + 1, 0))"


FUNCTIONS = (
    function("row(T...) -> T", _row, nulls="never", id=ROW),
    function("field(T, integer) -> T", _field, nulls="always", id=FIELD),
    function("map[](T...) -> map[text=>T]", _map, nulls="never", id=MAP),
    function("slice(T[], integer, integer) -> T[]", _slice),
    function("slice(T list, integer, integer) -> T list", _slice),
    function("array[](T...) -> T[]", joined("array({})", ", "), nulls="never", id=ARRAY),
    function("list[](T...) -> T list", joined("array({})", ", "), nulls="never", id=LIST),
    function("[](T[], integer) -> T", "try_element_at({0}, CASE WHEN {1} > 0 THEN {1} END)", nulls="always"),
    function("[](T list, integer) -> T", "try_element_at({0}, CASE WHEN {1} > 0 THEN {1} END)", nulls="always"),
    function("->(map[text=>T], text) -> T", "try_element_at({0}, {1})", nulls="always"),
    function("?(map[text=>T], text) -> boolean", "map_contains_key({0}, {1})"),
    function("||(T[], T[]) -> T[]", "concat({0}, {1})"),
    function("||(T list, T list) -> T list", "concat({0}, {1})"),
    function("map_length(map[text=>T]) -> integer", "cardinality({0})"),
    function("list_length(T list) -> integer", "cardinality({0})"),
    function(
        "array_length(T[], integer) -> integer",
        "CASE WHEN {1} = 1 THEN nullif(cardinality({0}), 0) END",
        nulls="always",
    ),
    function(
        "array_upper(T[], integer) -> integer",
        "CASE WHEN {1} = 1 THEN nullif(cardinality({0}), 0) END",
        nulls="always",
    ),
    function(
        "array_lower(T[], integer) -> integer",
        "CASE WHEN {1} = 1 AND cardinality({0}) > 0 THEN 1 END",
        nulls="always",
    ),
    function("cardinality(T[]) -> integer", "cardinality({0})"),
    function("array_to_string(T[], text) -> text", "array_join(CAST({0} AS array<string>), {1})"),
    function("array_to_string(T[], text, text) -> text", "array_join(CAST({0} AS array<string>), {1}, {2})"),
    function(
        "array_position(T[], T) -> integer",
        "nullif(CAST(array_position({0}, {1}) AS int), 0)",
        nulls="always",
    ),
    function("array_remove(T[], T) -> T[]", "array_remove({0}, {1})"),
    function("array_append(T[], T) -> T[]", "array_append({0}, {1})", nulls="never"),
    function("array_prepend(T, T[]) -> T[]", "array_prepend({1}, {0})", nulls="never"),
    function("array_cat(T[], T[]) -> T[]", "concat({0}, {1})"),
    function("list_append(T list, T) -> T list", "array_append({0}, {1})"),
    function("list_cat(T list, T list) -> T list", "concat({0}, {1})"),
    function("@>(T[], T[]) -> boolean", "(cardinality(array_except({1}, {0})) = 0)"),
    function("<@(T[], T[]) -> boolean", "(cardinality(array_except({0}, {1})) = 0)"),
    function("&&(T[], T[]) -> boolean", "arrays_overlap({0}, {1})"),
)
