"""WITH RECURSIVE in views and over the wire.  What it means is compared with PostgreSQL in tests/postgres/."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.errors import SqlError
from tailrace.plan import recursion
from tailrace.plan.local import rows
from tailrace.ticks.loop import Pace

PATHS = (
    "WITH RECURSIVE way(a, b, n) AS (SELECT a, b, 1 FROM edges"
    " UNION ALL SELECT way.a, edges.b, n + 1 FROM way JOIN edges ON way.b = edges.a) SELECT a, b, n FROM way"
)


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02, retry=0.05)) as opened:
        opened.sql("CREATE TABLE edges (a int, b int)")
        yield opened


def test_a_view_that_does_not_end_stands_still_until_the_circle_is_gone(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recursion, "MOST_STEPS", 4)
    engine.sql("INSERT INTO edges VALUES (1, 2), (2, 3)")
    engine.sql(f"CREATE MATERIALIZED VIEW paths AS {PATHS}")
    engine.sql("CREATE MATERIALIZED VIEW others AS SELECT count(*) AS n FROM edges")
    engine.sql("INSERT INTO edges VALUES (3, 1)")
    with pytest.raises(SqlError, match='recursive query "way" did not come to an end within 4 steps'):
        engine.sql("SELECT * FROM paths")
    assert engine.sql("SELECT n FROM others").to_pylist() == [{"n": 3}]  # type: ignore[union-attr]
    engine.sql("DELETE FROM edges WHERE a = 1")
    found = engine.sql("SELECT a, b, n FROM paths ORDER BY a, n")
    assert found is not None
    assert [tuple(row.values()) for row in found.to_pylist()] == [(2, 3, 1), (2, 1, 2), (3, 1, 1)]


def test_a_tick_that_does_not_concern_a_recursion_runs_no_job(engine: Engine) -> None:
    engine.sql("CREATE TABLE other (k int)")
    engine.sql(f"CREATE MATERIALIZED VIEW paths AS {PATHS}")
    engine.sql("INSERT INTO edges VALUES (1, 2), (2, 3)")
    before = engine.store.work.jobs
    engine.sql("INSERT INTO other VALUES (1)")
    assert engine.store.work.jobs == before
    engine.sql("INSERT INTO edges VALUES (3, 4)")
    assert engine.store.work.jobs > before


def test_an_endless_query_of_constants_is_stopped(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MOST_STEPS", 50)
    with pytest.raises(SqlError, match="within 50 steps") as stopped:
        engine.sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT * FROM n LIMIT 1")
    assert stopped.value.sqlstate == "54001"
