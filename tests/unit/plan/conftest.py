"""A small catalog, the same rows in Spark, and how an expression or a query is put to Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tailrace.plan.bind import BoundQuery, bind_query
from tailrace.plan.data_errors import translate
from tailrace.plan.names import FixedNames, Relation
from tailrace.plan.to_spark import render, render_order
from tailrace.plan.type_names import type_of
from tailrace.types.core import Column

Rows = Callable[[str], list[tuple[Any, ...]]]
Meanings = Callable[[Mapping[str, str | None]], None]
Failure = Callable[[str], tuple[str, str]]


def relation(id: str, name: str, columns: str, **facts: Any) -> Relation:
    """`relation("u1", "t", "a integer, b integer not null")`."""
    schema = []
    for column in columns.split(", "):
        text = column.removesuffix(" not null")
        label, _, type = text.partition(" ")
        schema.append(Column(label, type_of(type), nullable=text == column))
    return Relation(id=id, kind="table", name=f"materialize.public.{name}", schema=tuple(schema), **facts)


T = relation(
    "u1",
    "t",
    "a integer, b integer not null, s text, n numeric, d double precision, data jsonb, ts timestamp",
)
ORDERS = relation(
    "u2", "o", "id bigint not null, a integer, amount numeric(10,2)", keys=frozenset({frozenset({0})})
)
LOG = relation("u3", "log", "id bigint not null, line text", append_only=True)


@pytest.fixture
def names() -> FixedNames:
    return FixedNames(T, ORDERS, LOG)


@pytest.fixture
def bind(names: FixedNames) -> Callable[[str], BoundQuery]:
    return lambda query: bind_query(query, names)


_T_ROWS = """
(1, 10, 'x', 1.5BD, 0.1D, '{"a":1,"b":"2","c":"x","d":4,"n":{"m":"deep"}, "l":[1,"z",null]}',
    timestamp_ntz'2024-07-03 18:43:05.3'),
(1, 20, 'y', 2.25BD, 0.2D, '{"b":{"z" : 1},"a":null}', timestamp_ntz'2024-01-31 00:00:00'),
(2, 30, NULL, NULL, 1e20D, '[1,2]', NULL),
(NULL, 40, '', -3BD, NULL, NULL, timestamp_ntz'2024-02-29 12:00:00')
"""


@pytest.fixture(scope="session")
def views(spark: SparkSession) -> SparkSession:
    """The relations of the catalog as temporary views u1, u2."""
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW u1 AS SELECT c0, c1, c2, CAST(c3 AS decimal(38,18)) AS c3, c4, c5, c6"
        f" FROM VALUES {_T_ROWS} AS t(c0, c1, c2, c3, c4, c5, c6)"
    )
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW u2 AS SELECT CAST(c0 AS bigint) AS c0, c1, CAST(c2 AS"
        " decimal(38,2)) AS c2"
        " FROM VALUES (1, 1, 10.50), (2, 1, 20.25), (3, 2, 0.01), (4, NULL, 5) AS t(c0, c1, c2)"
    )
    return spark


def text_of(bound: BoundQuery) -> str:
    """The Spark text of a query with its order."""
    text = f"SELECT * FROM ({render(bound.node, lambda scan: scan.relation)})"
    places = [f"c{i}" for i in range(len(bound.node.schema))]
    order = ", ".join(render_order(part, places) for part in bound.order_by)
    return text + (f" ORDER BY {order}" if order else "")


@pytest.fixture
def rows(views: SparkSession, bind: Callable[[str], BoundQuery]) -> Rows:
    """The rows of a query: in its order, or sorted if it has none."""

    def run(query: str) -> list[tuple[Any, ...]]:
        bound = bind(query)
        found = [tuple(row)[: bound.visible] for row in views.sql(text_of(bound)).collect()]
        return found if bound.order_by else sorted(found, key=repr)

    return run


@pytest.fixture
def means(views: SparkSession, bind: Callable[[str], BoundQuery]) -> Meanings:
    """Each expression has this text form; None is NULL.  One Spark job for all."""

    def check(expected: Mapping[str, str | None]) -> None:
        texts = [render(bind(f"SELECT ({each})::text").node, lambda scan: scan.relation) for each in expected]
        union = " UNION ALL ".join(f"SELECT {i} AS place, c0 FROM ({text})" for i, text in enumerate(texts))
        found = {row[0]: row[1] for row in views.sql(union).collect()}
        assert {each: found[i] for i, each in enumerate(expected)} == dict(expected)

    return check


@pytest.fixture
def failure(views: SparkSession, bind: Callable[[str], BoundQuery]) -> Failure:
    """SQLSTATE and message of the error that a query meets when it runs."""

    def run(query: str) -> tuple[str, str]:
        text = text_of(bind(query))
        with pytest.raises((PySparkException, Py4JJavaError)) as raised:
            views.sql(text).collect()
        error = translate(str(raised.value))
        assert error is not None, str(raised.value)
        return error.sqlstate, error.message

    return run
