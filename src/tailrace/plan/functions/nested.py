"""Arrays, lists and maps."""

from __future__ import annotations

from tailrace.plan.expressions import Call, Literal
from tailrace.plan.functions.entry import Function, Render, function, joined
from tailrace.plan.raising import raising
from tailrace.plan.spark_text import text_form
from tailrace.types.core import BOOLEAN, VECTORS, ArrayOf, Record, SqlType, VectorOf

ARRAY, LIST, MAP, ROW, FIELD, FLATTEN = "array[]", "list[]", "map[]", "row", "field", "flatten array"


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


def _deepest(type: SqlType) -> SqlType:
    return _deepest(type.element) if isinstance(type, ArrayOf) else type


def _depth(type: SqlType) -> int:
    return 1 + _depth(type.element) if isinstance(type, ArrayOf) else 0


def _levels(call: Call, render: Render) -> list[str]:
    """The array, its first element, the first element of that, …: one for each dimension."""
    texts = [render(call.arguments[0])]
    for _ in range(_depth(call.arguments[0].type) - 1):
        texts.append(f"try_element_at({texts[-1]}, 1)")
    return texts


def _bound(call: Call, render: Render, value: str) -> str:
    dimension = render(call.arguments[1])
    branches = " ".join(
        f"WHEN {dimension} = {i + 1} AND cardinality({level}) > 0 THEN {value.format(level)}"
        for i, level in enumerate(_levels(call, render))
    )
    return f"CASE {branches} END"


def _dimensions(call: Call, render: Render) -> str:
    levels = _levels(call, render)
    return f"CASE WHEN cardinality({levels[0]}) > 0 THEN {len(levels)} END"


def _dims(call: Call, render: Render) -> str:
    levels = _levels(call, render)
    parts = ", ".join(f"'[1:', CAST(cardinality({level}) AS string), ']'" for level in levels)
    return f"CASE WHEN cardinality({levels[0]}) > 0 THEN concat({parts}) END"


def _cardinality(call: Call, render: Render) -> str:
    """Of all dimensions together: an array of arrays is rectangular."""
    first, *inner = _levels(call, render)
    return " * ".join([f"cardinality({first})", *(f"coalesce(cardinality({level}), 0)" for level in inner)])


def _text(call: Call, render: Render) -> str:
    """Elements as they are printed; NULLs are left out, or shown as the third argument."""
    array, separator, *null = (render(argument) for argument in call.arguments)
    for _ in range(_depth(call.arguments[0].type) - 1):
        array = f"flatten({array})"
    element = _deepest(call.arguments[0].type)
    shown = "CASE WHEN e THEN 't' WHEN NOT e THEN 'f' END" if element == BOOLEAN else text_form("e", element)
    texts = f"transform({array}, e -> {shown})"
    if not null:
        return f"array_join({texts}, {separator})"
    shown_nulls = f"array_join({texts}, {separator}, {null[0]})"
    return f"CASE WHEN {null[0]} IS NULL THEN array_join({texts}, {separator}) ELSE {shown_nulls} END"


_SAME = "transform({0}, e -> e <=> {1})"


def _position_from(call: Call, render: Render) -> str:
    array, element, start = (render(argument) for argument in call.arguments)
    same = f"transform({array}, (e, i) -> e <=> {element} AND i + 1 >= {start})"
    return f"nullif(CAST(array_position({same}, true) AS int), 0)"


def _positions(call: Call, render: Render) -> str:
    array, element = (render(argument) for argument in call.arguments)
    return f"filter(transform({array}, (e, i) -> CASE WHEN e <=> {element} THEN i + 1 END), p -> p IS NOT NULL)"


def _filled(call: Call, render: Render) -> str:
    value, sizes = (render(argument) for argument in call.arguments)
    several = raising("0A000", "array_fill with several dimensions not yet supported")
    return f"CASE WHEN cardinality({sizes}) > 1 THEN {several} ELSE array_repeat({value}, {sizes}[0]) END"


def _shortened(call: Call, render: Render) -> str:
    array, count = (render(argument) for argument in call.arguments)
    most = f"CAST(cardinality({array}) AS string)"
    wrong = raising("2202E", "number of elements to trim must be between 0 and {}", most)
    kept = f"slice({array}, 1, cardinality({array}) - {count})"
    return f"CASE WHEN {count} NOT BETWEEN 0 AND cardinality({array}) THEN {wrong} ELSE {kept} END"


def _of_vector(name: str, vector: VectorOf) -> tuple[Function, ...]:
    """What depends on where the first element is."""
    return (
        function(
            f"[]({name}, integer) -> {vector.element}",
            "try_element_at({0}, CASE WHEN {1} >= 0 THEN {1} + 1 END)",
            nulls="always",
        ),
        function(f"array_lower({name}, integer) -> integer", "CASE WHEN {1} = 1 THEN 0 END", nulls="always"),
        function(
            f"array_upper({name}, integer) -> integer",
            "CASE WHEN {1} = 1 THEN cardinality({0}) - 1 END",
            nulls="always",
        ),
    )


_CONTAINS = "CASE WHEN {whole} IS NOT NULL THEN forall({part}, e -> coalesce(array_contains({whole}, e), false)) END"
_JOINED = "CASE WHEN {0} IS NULL THEN {1} WHEN {1} IS NULL THEN {0} ELSE concat({0}, {1}) END"

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
    # NULL beside an array is no element: PostgreSQL takes it for an array.
    function("||(T[], T[]) -> T[]", _JOINED, nulls="always"),
    function("||(T[], T) -> T[]", "concat(coalesce({0}, array()), array({1}))", nulls="never"),
    function("||(T, T[]) -> T[]", "concat(array({0}), coalesce({1}, array()))", nulls="never"),
    function("||(T list, T list) -> T list", "concat({0}, {1})"),
    function("map_length(map[text=>T]) -> integer", "cardinality({0})"),
    function("list_length(T list) -> integer", "cardinality({0})"),
    function("array_length(T[], integer) -> integer", lambda c, r: _bound(c, r, "cardinality({})"), nulls="always"),
    function("array_lower(T[], integer) -> integer", lambda c, r: _bound(c, r, "1"), nulls="always"),
    function("array_upper(T[], integer) -> integer", lambda c, r: _bound(c, r, "cardinality({})"), nulls="always"),
    *(entry for vector in VECTORS.items() for entry in _of_vector(*vector)),
    function("array_ndims(T[]) -> integer", _dimensions, nulls="always"),
    function("array_dims(T[]) -> text", _dims, nulls="always"),
    function("cardinality(T[]) -> integer", _cardinality),
    function("array_to_string(T[], text) -> text", _text),
    function("array_to_string(T[], text, text) -> text", _text, nulls="always"),
    function(
        "array_position(T[], T) -> integer",
        f"nullif(CAST(array_position({_SAME}, true) AS int), 0)",
        nulls="always",
    ),
    function("array_position(T[], T, integer) -> integer", _position_from, nulls="always"),
    function("array_positions(T[], T) -> integer[]", _positions, nulls="always"),
    function("array_remove(T[], T) -> T[]", "filter({0}, e -> NOT (e <=> {1}))", nulls="always"),
    function(
        "array_replace(T[], T, T) -> T[]",
        "transform({0}, e -> CASE WHEN e <=> {1} THEN {2} ELSE e END)",
        nulls="always",
    ),
    function("array_append(T[], T) -> T[]", "concat(coalesce({0}, array()), array({1}))", nulls="never"),
    function("array_prepend(T, T[]) -> T[]", "concat(array({0}), coalesce({1}, array()))", nulls="never"),
    function("array_cat(T[], T[]) -> T[]", _JOINED, nulls="always"),
    function("array_fill(T, integer[]) -> T[]", _filled),
    function("array_reverse(T[]) -> T[]", "reverse({0})"),
    function("array_sort(T[]) -> T[]", "array_sort({0})"),
    function("trim_array(T[], integer) -> T[]", _shortened),
    function(f"{FLATTEN}(T) -> T", "flatten({0})"),
    function("list_append(T list, T) -> T list", "array_append({0}, {1})"),
    function("list_cat(T list, T list) -> T list", "concat({0}, {1})"),
    # NULL equals nothing, itself included.
    function("@>(T[], T[]) -> boolean", _CONTAINS.format(whole="{0}", part="{1}")),
    function("<@(T[], T[]) -> boolean", _CONTAINS.format(whole="{1}", part="{0}")),
    function("&&(T[], T[]) -> boolean", _CONTAINS.replace("forall", "exists").format(whole="{1}", part="{0}")),
)
