"""Which rows of an Iceberg table have one of some keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pyarrow as pa
from pyiceberg import expressions
from pyiceberg.expressions import And, BooleanExpression, Or

# pydantic's models: mypy knows their fields, not the way they are called.
_In, _EqualTo = cast(Any, expressions.In), cast(Any, expressions.EqualTo)
_IsNull, _NotNull = cast(Any, expressions.IsNull), cast(Any, expressions.NotNull)

_KEYS = 500
"""In one filter: more are deleted in several steps of the same commit."""


def filters(keys: pa.Table) -> Iterator[BooleanExpression]:
    """The keys' columns are the table's; all rows with these keys, in parts of bounded size."""
    distinct = keys.group_by(keys.column_names).aggregate([])
    for start in range(0, len(distinct), _KEYS):
        yield _one_of(distinct.slice(start, _KEYS))


def _one_of(keys: pa.Table) -> BooleanExpression:
    if keys.num_columns == 1:
        [name], values = keys.column_names, keys.column(0)
        known: BooleanExpression = _In(name, set(values.drop_null().to_pylist()))
        return Or(known, _IsNull(name)) if values.null_count else known
    rows = [And(*(_is(name, value) for name, value in row.items())) for row in keys.to_pylist()]
    return rows[0] if len(rows) == 1 else Or(*rows)


def _is(name: str, value: Any) -> BooleanExpression:
    """Never NULL: pyiceberg deletes such rows too, if the column is compared with NULL elsewhere in the filter."""
    if value is None:
        null: BooleanExpression = _IsNull(name)
        return null
    return And(_NotNull(name), _EqualTo(name, value))
