"""Maps as sorted lists of their entries, where rows are told to be the same, and maps again after.

Spark 4.0 groups by a map, but the code that it generates for that takes a missing number in one for 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from tailrace.ivm.tables import struct

_BY_KEY = "(x, y) -> CASE WHEN x.key < y.key THEN -1 WHEN x.key > y.key THEN 1 ELSE 0 END"


def as_entries(sql: str, row: Sequence[str], before: Sequence[str], after: Sequence[str]) -> str:
    """The text with its maps as entries.  `row`: the Spark types of c0 …; `before` and `after`: columns beside them.

    Without maps it is the same text.
    """
    return _replaced(sql, row, before, after, to_entries=True)


def as_maps(sql: str, row: Sequence[str], before: Sequence[str], after: Sequence[str]) -> str:
    """What `as_entries` gave, as it was."""
    return _replaced(sql, row, before, after, to_entries=False)


def has_map(type: str) -> bool:
    return "map<" in type


def _replaced(sql: str, row: Sequence[str], before: Sequence[str], after: Sequence[str], *, to_entries: bool) -> str:
    if not any(map(has_map, row)):
        return sql
    places = (
        f"{_value(f'c{i}', struct(f'c {type}')[0].dataType, 0, to_entries)} AS c{i}" if has_map(type) else f"c{i}"
        for i, type in enumerate(row)
    )
    return f"SELECT {', '.join([*before, *places, *after])} FROM ({sql})"


def _value(text: str, type: DataType, depth: int, to_entries: bool) -> str:
    """`text`, which is of this type or was, with its maps replaced."""
    if not has_map(type.simpleString()):
        return text
    each = f"e{depth}"
    match type:
        case MapType(valueType=value):
            inner = _value(f"{each}.value", value, depth + 1, to_entries)
            entry = f"{each} -> named_struct('key', {each}.key, 'value', {inner})"
            if to_entries:
                return f"array_sort(transform(map_entries({text}), {entry}), {_BY_KEY})"
            return f"map_from_entries(transform({text}, {entry}))"
        case ArrayType(elementType=element):
            return f"transform({text}, {each} -> {_value(each, element, depth + 1, to_entries)})"
        case StructType(fields=fields):
            parts = ", ".join(
                f"'{field.name}', {_value(f'{text}.{field.name}', field.dataType, depth, to_entries)}"
                for field in fields
            )
            return f"CASE WHEN {text} IS NOT NULL THEN named_struct({parts}) END"
        case _:
            return text
