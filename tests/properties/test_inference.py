"""What a plan is known to be, it is: keys identify rows, columns said to hold no NULL hold none, and rows of a relation
that only grows stay.  Random queries over random rows; the rows keep what their tables promise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from properties.queries import Query, queries
from properties.world import TABLES, Row
from tailrace.engine.rows import arrow_schema
from tailrace.ivm.views import Views
from tailrace.plan.append_only import is_append_only
from tailrace.plan.bind import bind_query
from tailrace.plan.keys import infer_keys
from tailrace.plan.names import FixedNames, Relation
from tailrace.plan.nodes import Node
from tailrace.plan.nullability import not_null
from tailrace.plan.to_spark import render
from tailrace.plan.type_names import type_of
from tailrace.types.core import Column
from tailrace.types.spark import ddl

# What the tables promise: keys and columns without NULL, by place.  All of them only grow.
_KEYS = {"t": [(0, 1)], "u": [(1,)], "r": []}
_NOT_NULL = {"t": (0,), "u": (1,), "r": (1,)}


def relations() -> list[Relation]:
    found = []
    for name, columns in TABLES.items():
        parts = [column.split(" ", 1) for column in columns]
        schema = tuple(Column(label, type_of(kind), i not in _NOT_NULL[name]) for i, (label, kind) in enumerate(parts))
        keys = frozenset(map(frozenset, _KEYS[name]))
        full = f"materialize.public.{name}"
        found.append(Relation(id=name, kind="table", name=full, schema=schema, keys=keys, append_only=True))
    return found


RELATIONS = {relation.id: relation for relation in relations()}
NAMES = FixedNames(*RELATIONS.values())

_SMALL, _NUMBERS = st.sampled_from([0, 1]), st.sampled_from([0, 1, 2, None])
_TEXTS, _FLOATS = st.sampled_from(["a", "b", ""]), st.sampled_from([0.5, None])
_ROWS = {
    "t": st.lists(st.tuples(_SMALL, _NUMBERS, st.one_of(_TEXTS, st.none())), max_size=6, unique_by=lambda r: r[:2]),
    "u": st.lists(st.tuples(_NUMBERS, st.integers(0, 9), _FLOATS), max_size=6, unique_by=lambda r: r[1]),
    "r": st.lists(st.tuples(_NUMBERS, _TEXTS), max_size=6),
}


@dataclass(frozen=True, slots=True)
class Claim:
    """`text` counts what contradicts it."""

    what: str
    text: str


def claims(query: Query, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Claim]:
    """What is known of a query, over two states of the tables."""
    node = bind_query(query.sql, NAMES).node
    text = _text(node, after)
    for key in infer_keys(node):
        names = ", ".join(f"c{i}" for i in sorted(key))
        if names:
            twice = f"SELECT count(*) AS n FROM (SELECT 1 FROM ({text}) GROUP BY {names} HAVING count(*) > 1)"
        else:
            twice = f"SELECT greatest(count(*) - 1, 0) AS n FROM ({text})"
        yield Claim(f"({names}) is a key of {query.sql}", twice)
    for i in not_null(node):
        yield Claim(f"c{i} of {query.sql} holds no NULL", f"SELECT count(*) AS n FROM ({text}) WHERE c{i} IS NULL")
    if is_append_only(node) and not any("<" in part for part in ddl(node.schema).split()):
        lost = f"({_text(node, before)}) EXCEPT ALL ({text})"
        yield Claim(f"{query.sql} only grows", f"SELECT count(*) AS n FROM ({lost})")


def _text(node: Node, leaves: Mapping[str, str]) -> str:
    return render(node, lambda scan: leaves[scan.relation])


def _leaves(views: Views, tables: Mapping[str, Sequence[Row]]) -> dict[str, str]:
    found = {}
    for name, rows in tables.items():
        schema = arrow_schema(RELATIONS[name].schema)
        arrays = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
        found[name] = views.add_arrow(pa.Table.from_arrays(arrays, schema=schema), ddl(RELATIONS[name].schema))
    return found


@settings(
    derandomize=True,
    max_examples=4,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
@given(
    chosen=st.lists(st.one_of(queries(1), queries(2)), min_size=10, max_size=10),
    tables=st.fixed_dictionaries(_ROWS),
    later=st.integers(0, 3),
)
def test_what_is_inferred_holds(
    spark: SparkSession, chosen: list[Query], tables: dict[str, list[Row]], later: int
) -> None:
    views = Views(spark)
    with views.scratch():
        after = _leaves(views, tables)
        before = _leaves(views, {name: rows[later:] for name, rows in tables.items()})
        made = [claim for query in chosen for claim in claims(query, before, after)]
        assert made
        union = " UNION ALL ".join(f"(SELECT {i} AS place, n FROM ({c.text}))" for i, c in enumerate(made))
        wrong = [made[row["place"]].what for row in views.small.sql(union).collect() if row["n"]]
    assert wrong == []
