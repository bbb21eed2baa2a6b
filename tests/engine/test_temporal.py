"""Time alone makes a tick: a row that is due leaves a view, and its subscribers are told, with no input about."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.ticks.loop import Pace

_STILL = Pace(interval=3600)  # nobody looks at the clock but for the rows that are due


def test_a_row_leaves_when_its_time_has_come(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark, tmp_path, pace=_STILL) as engine:
        engine.sql("CREATE TABLE events (id int, at timestamptz)")
        engine.sql("CREATE MATERIALIZED VIEW fresh AS SELECT * FROM events WHERE mz_now() < at + INTERVAL '3 seconds'")
        changes = engine.subscribe("fresh")
        engine.sql("INSERT INTO events VALUES (1, now())")
        came, went = next(changes), next(changes)
        changes.close()
        assert (came.rows["weight"].to_pylist(), went.rows["weight"].to_pylist()) == ([1], [-1])
        [at] = went.rows["at"].to_pylist()
        assert came.tick < int(at.timestamp() * 1000) + 3000 <= went.tick
        assert engine.cluster.due() is None
        logged = engine.log.after(came.tick)
        assert went.tick in logged


def test_what_was_due_while_nobody_ran_is_done_at_the_next_start(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark, tmp_path, pace=_STILL) as engine:
        engine.sql("CREATE TABLE events (id int, at timestamptz)")
        engine.sql("CREATE MATERIALIZED VIEW old AS SELECT id FROM events WHERE mz_now() >= at + INTERVAL '1 second'")
        engine.sql("INSERT INTO events VALUES (1, now())")
    with Engine(spark, tmp_path, pace=_STILL) as engine:
        [change] = [next(engine.subscribe("old"))]
        assert change.rows["id"].to_pylist() == [1]
