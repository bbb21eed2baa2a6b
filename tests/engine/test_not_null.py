"""ASSERT NOT NULL is a promise that is kept: while a row breaks it, whoever reads the view is told so instead."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.errors import DataError, SqlError
from tailrace.ticks.loop import Pace


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02, retry=0.05)) as opened:
        opened.sql("CREATE TABLE t (k int, v int)")
        opened.sql(
            "CREATE MATERIALIZED VIEW sums WITH (ASSERT NOT NULL s) AS SELECT k, sum(v) AS s FROM t GROUP BY k"
        )
        yield opened


def rows(engine: Engine, query: str) -> list[tuple[object, ...]]:
    found = engine.sql(query)
    assert found is not None
    return [tuple(row.values()) for row in found.to_pylist()]


def test_reads_fail_while_a_column_has_a_null_and_go_on_after_it(engine: Engine) -> None:
    engine.sql("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM sums")
    engine.sql("INSERT INTO t VALUES (1, 5), (NULL, 1)")
    assert rows(engine, "SELECT k, s FROM sums ORDER BY k") == [(1, 5), (None, 1)]
    engine.sql("INSERT INTO t VALUES (2, NULL)")
    for query in ("SELECT k FROM sums", "SELECT n FROM counted"):
        with pytest.raises(DataError, match='column "s" must not be null') as caught:
            engine.sql(query)
        assert caught.value.sqlstate == "23502"
    engine.sql("INSERT INTO t VALUES (2, 3)")
    assert rows(engine, "SELECT k, s FROM sums ORDER BY k") == [(1, 5), (2, 3), (None, 1)]
    assert rows(engine, "SELECT n FROM counted") == [(3,)]


def test_the_column_is_not_null_and_must_be_there(engine: Engine) -> None:
    nullable = (
        "SELECT nullable FROM mz_catalog.mz_columns c JOIN mz_catalog.mz_objects o USING (id)"
        " WHERE o.name = 'sums' ORDER BY position"
    )
    assert rows(engine, nullable) == [(True,), (False,)]
    with pytest.raises(SqlError, match="not found"):
        engine.sql("CREATE MATERIALIZED VIEW v WITH (ASSERT NOT NULL nope) AS SELECT k FROM t")
