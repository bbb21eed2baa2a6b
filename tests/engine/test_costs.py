"""What ticks cost can be asked for: by tick, by object, and the state that each view rests on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.ticks.loop import Pace


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=3600)) as opened:
        opened.sql("CREATE TABLE t (k int, v int)")
        opened.sql("CREATE MATERIALIZED VIEW sums AS SELECT k, sum(v) AS s FROM t GROUP BY k")
        opened.sql("CREATE MATERIALIZED VIEW most AS SELECT max(s) AS s FROM sums")
        opened.sql("INSERT INTO t VALUES (1, 2), (2, 3), (1, 4)")
        yield opened


def asked(engine: Engine, query: str) -> list[dict[str, Any]]:
    found = engine.sql(query)
    assert found is not None
    return list(found.to_pylist())


def test_the_jobs_of_a_tick_are_those_of_its_objects(engine: Engine) -> None:
    engine.sql("INSERT INTO t SELECT i, 1 FROM generate_series(10, 15009) AS s (i)")
    costs = (
        "SELECT name, c.jobs, c.rows, c.planning_seconds > 0 AND c.planning_seconds <= c.seconds AS planned"
        " FROM mz_internal.mz_tick_costs c JOIN mz_catalog.mz_objects o ON o.id = c.object_id"
        " WHERE tick = (SELECT max(tick) FROM mz_internal.mz_ticks WHERE jobs > 0) ORDER BY name"
    )
    assert asked(engine, costs) == [
        {"name": "most", "jobs": 1, "rows": 1, "planned": False},  # in files: only what stays here is timed
        {"name": "sums", "jobs": 0, "rows": 15000, "planned": True},  # asked a second time, so that it is kept
    ]
    assert asked(engine, "SELECT jobs FROM mz_internal.mz_ticks ORDER BY tick DESC LIMIT 1") == [{"jobs": 1}]
    first = "WHERE tick = (SELECT min(tick) FROM mz_internal.mz_tick_costs WHERE rows > 0)"
    timed = "planning_seconds > 0 AND planning_seconds <= seconds"
    planned = asked(engine, f"SELECT DISTINCT {timed} AS planned FROM mz_internal.mz_tick_costs {first}")
    assert planned == [{"planned": True}]

    engine.sql("INSERT INTO t SELECT i, 1 FROM generate_series(20010, 35009) AS s (i)")
    assert asked(engine, costs)[1] == {"name": "sums", "jobs": 0, "rows": 15000, "planned": False}


def test_the_traces_of_a_view_are_listed_with_their_rows(engine: Engine) -> None:
    traces = (
        "SELECT operator, rows FROM mz_internal.mz_traces r JOIN mz_catalog.mz_objects o ON o.id = r.object_id"
        " WHERE name = '{}' ORDER BY operator"
    )
    own = [{"operator": "sums per group", "rows": 2}, {"operator": "table", "rows": 3}]
    assert asked(engine, traces.format("sums")) == own
    assert asked(engine, traces.format("most")) == [{"operator": "recompute the touched groups", "rows": 2}, *own]


def test_a_dropped_view_leaves_no_trace(engine: Engine) -> None:
    engine.sql("DROP MATERIALIZED VIEW most")
    assert asked(engine, "SELECT DISTINCT operator FROM mz_internal.mz_traces ORDER BY 1") == [
        {"operator": "sums per group"},
        {"operator": "table"},
    ]


def test_explain_shows_rules_keys_and_sizes_of_state(engine: Engine) -> None:
    [row] = asked(engine, "EXPLAIN MATERIALIZED VIEW most")
    lines = [line.strip() for line in row["plan"].splitlines()]
    assert "Aggregate: max(argument0)  -- [recompute the touched groups, 2 rows of state]" in lines
    assert lines[-2:] == ["Scan sums (k, s)  -- [materialized view]", "keys: ()"]
    [row] = asked(engine, "EXPLAIN MATERIALIZED VIEW sums")
    assert row["plan"].splitlines()[-1] == "keys: (k)"
