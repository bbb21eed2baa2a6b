"""A failing history becomes a script that does the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from properties.kept import keeping
from properties.world import Change, World
from tailrace.engine.engine import Engine
from tailrace.testing.scripts import run_script
from tailrace.ticks.loop import Pace

VIEWS = {"m": "SELECT k, s FROM t WHERE v IS NULL"}


def test_a_failing_history_is_kept_as_a_script_that_does_the_same(spark: SparkSession, tmp_path: Path) -> None:
    world = World(spark, tmp_path / "world", VIEWS)
    world.tick((Change("t", ((1, None, "it's"), (2, -3, None))), Change("u", ((1, 2, 1e16),))))
    world.checkpoint()
    world.tick((Change("t", leaving=((2, -3, None),)),))
    with pytest.raises(AssertionError, match="rows differ"), keeping("example", world, VIEWS, tmp_path):
        raise AssertionError("rows differ\nand more")
    world.close()
    path = tmp_path / "found_example.sql"
    assert path.read_text().splitlines() == [
        "-- found_example: rows differ",
        "CREATE TABLE t (k int, v int, s text);",
        "CREATE TABLE u (k int, w int, f double precision);",
        "CREATE TABLE r (a int, s text);",
        f"CREATE MATERIALIZED VIEW m AS {VIEWS['m']};",
        "tick    t +(1, NULL, 'it''s') +(2, -3, NULL); u +(1, 2, 1e+16)",
        "-- checkpoint",
        "tick    t -(2, -3, NULL)",
    ]
    (tmp_path / "same.sql").write_text(path.read_text() + "answer  SELECT * FROM m; (1,it's)\n")
    with Engine(spark, pace=Pace(interval=3600)) as engine:
        run_script(engine, tmp_path / "same.sql")
