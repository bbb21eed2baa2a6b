"""Rows that were brought together before they are grouped are added up once, to the same sums."""

import pytest

from tailrace.spark import configure

ROWS = """SELECT id % 7 AS h, CASE WHEN id % 5 > 0 THEN concat('k', id % 5) END AS c0, CAST(id % 3 AS {type}) AS c1,
  id AS weight, CAST(id / 10 AS decimal(38, 2)) AS s FROM range(0, 1000, 1, 3)"""
SUMS = "SELECT h, c0, c1, sum(weight) AS weight, sum(s) AS s, count(*) AS n FROM ({rows}) GROUP BY h, c0, c1"


@pytest.fixture(scope="module")
def session(spark):
    return configure(spark.newSession())


def text(type: str, hint: str = "") -> str:
    return SUMS.format(rows=f"SELECT {hint} * FROM ({ROWS.format(type=type)})")


def aggregates(session, sql: str) -> int:
    return session.sql(sql)._jdf.queryExecution().executedPlan().toString().count("HashAggregate")


TOGETHER = "/*+ REPARTITION(h) */"


@pytest.mark.parametrize("type", ["bigint", "date", "decimal(20,1)", "double", "array<bigint>"])
def test_sums_are_the_same(session, type):
    sql = ROWS.format(type="bigint")
    cast = {"date": "date_add(DATE'2026-01-01', CAST(c1 AS int))", "array<bigint>": "array(c1)"}.get(
        type, f"CAST(c1 AS {type})"
    )
    rows = f"SELECT h, c0, {cast} AS c1, weight, s FROM ({sql})"
    once, twice = (
        SUMS.format(rows=f"SELECT {hint} * FROM ({rows})") + " HAVING sum(weight) <> 3" for hint in (TOGETHER, "")
    )
    found = session.sql(once).orderBy("h", "c0", "c1").collect()
    assert found == session.sql(twice).orderBy("h", "c0", "c1").collect()
    assert found


def test_they_are_added_up_once(session):
    assert aggregates(session, text("bigint", TOGETHER)) == 1
    assert aggregates(session, text("bigint")) == 2


def test_floats_are_left_to_spark_which_knows_their_two_zeros(session):
    assert aggregates(session, text("double", TOGETHER)) == 2
    zeros = "SELECT * FROM VALUES (1, 0.0D, 1), (1, -0.0D, 1) AS t(h, c0, w)"
    sql = f"SELECT h, c0, sum(w) AS w FROM (SELECT {TOGETHER} * FROM ({zeros})) GROUP BY h, c0"
    assert [row.w for row in session.sql(sql).collect()] == [2]
