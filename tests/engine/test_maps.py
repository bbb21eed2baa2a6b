"""A number that is missing in a map stays missing, of few rows and of many, after changes that take rows away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.engine.sizes import Sizes
from tailrace.ticks.loop import Pace

SMALL = 100
MISSING = "count(*) FILTER (WHERE (m -> 'b') IS NULL) AS missing, count(*) AS rows"


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02), sizes=Sizes(small_rows=SMALL)) as opened:
        yield opened


@pytest.mark.parametrize("rows", [10, 6 * SMALL])  # on the driver, and beyond it
def test_after_updates_and_deletes(engine: Engine, rows: int) -> None:
    name = f"held_{rows}"
    engine.sql(f"CREATE TABLE {name} (id int, m map[text=>int])")
    # A recursion is computed anew, and its rows are compared with those of before.
    engine.sql(
        f"CREATE MATERIALIZED VIEW {name}_again AS WITH RECURSIVE"
        f" r AS (SELECT id, m, 0 AS depth FROM {name} UNION ALL SELECT id, m, 1 FROM r WHERE depth = 0) SELECT * FROM r"
    )
    engine.sql(f"CREATE MATERIALIZED VIEW {name}_plain AS SELECT m, id + 1 AS next FROM {name}")
    engine.sql(f"INSERT INTO {name} SELECT id, '{{b=>NULL,a=>1}}' FROM generate_series(1, {rows}) AS g(id)")
    changes = engine.subscribe(f"{name}_plain")
    next(iter(changes))
    engine.sql(f"UPDATE {name} SET id = id + 100000 WHERE id % 2 = 0")
    engine.sql(f"DELETE FROM {name} WHERE id = 1")

    for relation, times in ((name, 1), (f"{name}_plain", 1), (f"{name}_again", 2)):
        for _ in range(3):  # a question is planned twice, and then kept
            found = engine.sql(f"SELECT {MISSING} FROM {relation}")
            assert found is not None
            assert found.to_pylist() == [{"missing": times * (rows - 1), "rows": times * (rows - 1)}]
    with changes:
        updated = next(iter(changes)).rows
    assert updated.num_rows == rows
    assert all(dict(row)["b"] is None for row in updated["m"].to_pylist())
