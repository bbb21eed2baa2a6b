"""Set-returning functions: an array for each row, unrolled by LATERAL VIEW.

An entry gives the columns' names and types and the Spark text of an array; with several columns, of structs whose
fields are called as the columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.plan.functions import json_path
from tailrace.plan.functions.decimals import Operand, as_numeric, product, total
from tailrace.plan.functions.entry import parse_signature
from tailrace.plan.functions.times import micros, plus_interval
from tailrace.plan.nodes import FlatMap
from tailrace.plan.raising import raising
from tailrace.types.core import INTEGER, SMALLINT, VECTORS, ArrayOf, Column, Record, SqlType

ORDINALITY = "+ordinality"
"""Behind a function's id: one more column counts the rows from 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TableFunction:
    id: str
    name: str
    arguments: tuple[SqlType, ...]
    columns: tuple[tuple[str, SqlType], ...]
    spark: str


def _table(signature: str, spark: str, **columns: str) -> TableFunction:
    """`_table("f(int) -> text", text)`: one column named as the function; or named columns, the result being
    ignored.
    """
    name, arguments, result, _ = parse_signature(signature)
    named = tuple((column, parse_signature(f"x() -> {type}")[2]) for column, type in columns.items())
    return TableFunction(
        id=signature.split(" -> ")[0],
        name=name,
        arguments=arguments,
        columns=named or ((name, result),),
        spark=spark,
    )


_NO_STEP = raising("22023", "step size cannot equal zero")


def _series(type: str, zero: str) -> tuple[TableFunction, ...]:
    """Nothing when the end lies before the start; Spark would count down."""
    one = f"CASE WHEN {{0}} <= {{1}} THEN sequence({{0}}, {{1}}, {zero}) END"
    step = (
        f"CASE WHEN {{2}} = 0 THEN {_NO_STEP}"
        " WHEN ({2} > 0 AND {0} <= {1}) OR ({2} < 0 AND {0} >= {1}) THEN sequence({0}, {1}, {2}) END"
    )
    return (
        _table(f"generate_series({type}, {type}) -> {type}", one),
        _table(f"generate_series({type}, {type}, {type}) -> {type}", step),
    )


def _numeric_series() -> tuple[TableFunction, ...]:
    """Spark's sequence knows no decimals, so the steps are counted: from 0, and then as many as fit."""

    def series(step: str) -> str:
        taken = product(Operand("CAST(i AS decimal(19,0))", 19, 0), Operand(step, 20, 18))
        steps, value = total(["{1}", "{0}"], " - "), as_numeric(total(["{0}", taken]))
        return f"transform(sequence(0L, {steps} div {step}), i -> {value})"

    one = f"CASE WHEN {{0}} <= {{1}} THEN {series(as_numeric('1'))} END"
    step = (
        f"CASE WHEN {{2}} = 0 THEN {_NO_STEP}"
        f" WHEN ({{2}} > 0 AND {{0}} <= {{1}}) OR ({{2}} < 0 AND {{0}} >= {{1}}) THEN {series('{2}')} END"
    )
    return (
        _table("generate_series(numeric, numeric) -> numeric", one),
        _table("generate_series(numeric, numeric, numeric) -> numeric", step),
    )


_SIGN = "sign(({2}.months * 30L + {2}.days) * 86400000000D + {2}.micros)"
_STEP = "(INTERVAL '1' DAY * {2}.days + INTERVAL '0.000001' SECOND * {2}.micros)"
_MONTH = "28L * 86400000000L"  # no month is shorter
_MIXED = raising("0A000", "a step of months and of days or times in opposite directions not yet supported")


def _steps_of_time() -> str:
    """Each is a step from the last one, so that from the 31st there is a way to the 28th and none back."""
    count = f"abs({micros('{1}')} - {micros('{0}')}) div (abs({{2}}.months) * {_MONTH}) + 1L"
    following = plus_interval("element_at(made, -1)", "{2}", "+")
    walked = f"aggregate(sequence(1L, {count}), array({{0}}), (made, i) -> array_append(made, {following}))"
    inside = f"filter({walked}, e -> CASE WHEN {_SIGN} > 0 THEN e <= {{1}} ELSE e >= {{1}} END)"
    mixed = "{2}.months * (sign({2}.days) + sign({2}.micros)) < 0 OR {2}.days * sign({2}.micros) < 0"
    return (
        f"CASE WHEN {_SIGN} = 0 THEN {_NO_STEP}"
        f" WHEN ({_SIGN} > 0 AND {{0}} > {{1}}) OR ({_SIGN} < 0 AND {{0}} < {{1}}) THEN NULL"
        f" WHEN {{2}}.months = 0 THEN sequence({{0}}, {{1}}, {_STEP})"
        f" WHEN {mixed} THEN {_MIXED} ELSE {inside} END"
    )


_STEPS = _steps_of_time()
_ARRAY = "CASE WHEN tailrace_jsonb_length({{0}}) >= 0 THEN {} END"  # anything else is an error
_ELEMENTS = _ARRAY.format("transform(from_json({0}, 'array<variant>'), e -> to_json(e))")


def _of_object(spark: str, wrong: str) -> str:
    """`spark` of a document that is an object; of any other it is an error."""
    error = raising("22023", f"cannot call {wrong}")
    return f"CASE WHEN left(ltrim({{0}}), 1) = '{{{{' THEN {spark} WHEN {{0}} IS NOT NULL THEN {error} END"


_ENTRY = "struct(e.key AS key, to_json(e.value) AS value)"
_ENTRIES = f"transform(map_entries(from_json({{0}}, 'map<string,variant>')), e -> {_ENTRY})"
_TEXT_ENTRIES = "map_entries(from_json({0}, 'map<string,string>'))"

_MILLIS = "unix_millis(CAST({0} AS timestamp))"
_WHOLE, _STEP_START = (f"{_MILLIS} - pmod({_MILLIS} - {{3}}, {{{n}}})" for n in (1, 2))
"""Where the window of the whole length, and of the step, begins that a time is in."""
_WALL = "CAST(timestamp_millis({}) AS timestamp_ntz)"


def _windows(name: str, starts: str) -> tuple[TableFunction, ...]:
    """`starts`: Spark text of an array of structs `s` and `e`, in milliseconds: the windows that a time is in.

    A window's own time is the last millisecond in it, of the same type as the time.
    """
    made = []
    for type, last in (("timestamp", _WALL), ("timestamptz", "timestamp_millis({})")):
        start, end = (f"{_WALL.format(f'w.{part}')} AS window_{name}" for part, name in (("s", "start"), ("e", "end")))
        ends = f"{start}, {end}, {last.format('w.e - 1L')} AS window_time"
        entry = _table(
            f"{name}({type}, bigint, bigint, bigint) -> {type}",
            f"transform({starts}, w -> struct({ends}))",
            window_start="timestamp",
            window_end="timestamp",
            window_time=type,
        )
        made.append(entry)
    return tuple(made)


# {1} is the length of a window, {2} the step from one to the next, {3} where they begin; all in milliseconds.
_TUMBLE = f"array(named_struct('s', {_WHOLE}, 'e', {_WHOLE} + {{1}}))"
_HOP = (
    f"transform(sequence(0L, {{1}} div {{2}} - 1L), i -> named_struct('s', {_STEP_START} - i * {{2}},"
    f" 'e', {_STEP_START} - i * {{2}} + {{1}}))"
)
_CUMULATE = (
    f"transform(sequence(pmod({_MILLIS} - {{3}}, {{1}}) div {{2}}, {{1}} div {{2}} - 1L), i -> named_struct('s',"
    f" {_WHOLE}, 'e', {_WHOLE} + (i + 1L) * {{2}}))"
)
WINDOWS = tuple(
    entry
    for name, starts in (("tumble", _TUMBLE), ("hop", _HOP), ("cumulate", _CUMULATE))
    for entry in _windows(name, f"CASE WHEN {{0}} IS NOT NULL THEN {starts} END")
)
"""The windows of a time, as rows beside it.  They are not called by name: see bind_window_tables.py."""

TABLES = (
    *_series("integer", "1"),
    *_series("bigint", "1L"),
    *_numeric_series(),
    _table("generate_series(timestamp, timestamp, interval) -> timestamp", _STEPS),
    _table("generate_series(timestamptz, timestamptz, interval) -> timestamptz", _STEPS),
    _table("generate_subscripts(T[], integer) -> integer", "sequence(1, nullif(cardinality({0}), 0))"),
    *(
        _table(f"generate_subscripts({vector}, integer) -> integer", "transform({0}, (e, i) -> i)")
        for vector in VECTORS
    ),
    TableFunction(
        id="_pg_expandarray(smallint[])",
        name="_pg_expandarray",
        arguments=(ArrayOf(SMALLINT),),
        columns=(("_pg_expandarray", Record((Column("x", SMALLINT), Column("n", INTEGER)))),),
        spark="transform({0}, (x, i) -> named_struct('f0', x, 'f1', i + 1))",
    ),
    _table("unnest(T[]) -> T", "{0}"),
    _table("unnest(T list) -> T", "{0}"),
    _table("unnest(map[text=>T]) -> T", "map_entries({0})", key="text", value="T"),
    _table("jsonb_array_elements(jsonb) -> jsonb", _ELEMENTS, value="jsonb"),
    _table("jsonb_array_elements_text(jsonb) -> text", _ARRAY.format("from_json({0}, 'array<string>')"), value="text"),
    *(
        _table(f"jsonb_path_query({types}) -> jsonb", f"tailrace_jsonb_path_query({given})")
        for types, given in json_path.ARGUMENTS
    ),
    _table(
        "jsonb_object_keys(jsonb) -> text",
        _of_object("json_object_keys({0})", "jsonb_object_keys on an array or a scalar"),
    ),
    _table(
        "jsonb_each(jsonb) -> text", _of_object(_ENTRIES, "jsonb_each on a non-object"), key="text", value="jsonb"
    ),
    _table(
        "jsonb_each_text(jsonb) -> text",
        _of_object(_TEXT_ENTRIES, "jsonb_each_text on a non-object"),
        key="text",
        value="text",
    ),
    _table("regexp_split_to_table(text, text) -> text", "tailrace_regex_split({0}, {1}, '')"),
    _table("regexp_matches(text, text) -> text[]", "tailrace_regex_all({0}, {1}, '')"),
    _table("regexp_matches(text, text, text) -> text[]", "tailrace_regex_all({0}, {1}, {2})"),
    _table("string_to_table(text, text) -> text", "split({0}, concat('\\\\Q', {1}, '\\\\E'), -1)"),
)  # fmt: skip

_BY_NAME: dict[str, list[TableFunction]] = defaultdict(list)
for _entry in TABLES:
    _BY_NAME[_entry.name].append(_entry)
_BY_ID = {entry.id: entry for entry in (*TABLES, *WINDOWS)}


def table_candidates(name: str) -> list[TableFunction]:
    return _BY_NAME.get(name, [])


def table_names() -> tuple[str, ...]:
    return tuple(_BY_NAME)


_BESIDE = " beside "


def side_by_side(functions: Sequence[str]) -> str:
    """The id of several functions whose n-th rows are one row; the shorter ones go on with NULL."""
    return _BESIDE.join(functions)


def apart(function: str) -> list[tuple[str, int]]:
    """The ids of the functions that stand side by side, with the numbers of their arguments."""
    return [(name, len(_BY_ID[name].arguments)) for name in function.split(_BESIDE)]


def _array(function: str, arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The Spark text of a function's rows as an array, and of the columns of its element `e`."""
    parts = apart(function)
    if len(parts) == 1:
        entry = _BY_ID[function]
        return entry.spark.format(*arguments), _columns(entry, "e")
    arrays, columns = [], []
    for place, (name, count) in enumerate(parts):
        arrays.append(f"coalesce({_array(name, arguments[:count])[0]}, array())")
        columns += _columns(_BY_ID[name], f"e.`{place}`")
        arguments = arguments[count:]
    return f"arrays_zip({', '.join(arrays)})", columns


def _columns(entry: TableFunction, element: str) -> list[str]:
    return [f"{element}.`{name}`" for name, _ in entry.columns] if len(entry.columns) > 1 else [element]


def generator(function: str, arguments: Sequence[str], node: FlatMap) -> str:
    """The Spark generator that makes the rows of a FlatMap's function."""
    array, columns = _array(function.removesuffix(ORDINALITY), arguments)
    if len(node.columns) == 1:
        return f"explode({array})"
    if function.endswith(ORDINALITY):
        columns.append("CAST(i + 1 AS bigint)")
    fields = ", ".join(f"{column} AS f{i}" for i, column in enumerate(columns))
    return f"inline(transform({array}, (e, i) -> struct({fields})))"
