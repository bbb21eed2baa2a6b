"""Spark jobs are counted where they are asked for: a job that nobody counted is a hidden action."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.engine.rows import arrow_schema
from tailrace.ivm import kept
from tailrace.ticks.loop import Pace
from tailrace.types.core import Tick

TOO_MANY_TO_PLAN = 15_000
"""Rows that Spark does not take into its plan."""


@pytest.fixture
def planned_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """No plan is kept from tick to tick."""
    monkeypatch.setattr(kept, "_MOST_BYTES", -1)


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.01)) as opened:
        opened.sql("CREATE TABLE t (k int, v int); CREATE TABLE u (k int, v int)")
        yield opened


class Jobs:
    """`spark`: how many jobs Spark itself has started; `counted`: how many we say we asked for."""

    spark = 0
    counted = 0


@contextmanager
def jobs(engine: Engine) -> Iterator[Jobs]:
    """Counts what is run inside, housekeeping after the last tick included."""
    found = Jobs()
    engine.settle()
    before = spark_jobs(engine.spark), counted_jobs(engine)
    yield found
    engine.settle()
    found.spark, found.counted = spark_jobs(engine.spark) - before[0], counted_jobs(engine) - before[1]


def spark_jobs(spark: SparkSession) -> int:
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def counted_jobs(engine: Engine) -> int:
    return engine.store.work.jobs + engine.store.upkeep.jobs


def change(engine: Engine, table: str, *rows: tuple[int, int, int]) -> Tick:
    """One tick in which these rows come or go: (k, v, weight).  They are on the driver: no job to make them."""
    item = engine.catalog.resolve((table,))
    k, v, weights = zip(*rows, strict=True)
    columns = [pa.array(k, pa.int32()), pa.array(v, pa.int32())]
    delta = pa.Table.from_arrays(columns, schema=arrow_schema(item.schema or ()))
    return engine.loop.change(lambda: {item.id: delta.append_column("weight", pa.array(weights, pa.int64()))})


def await_idle_tick(engine: Engine) -> None:
    before, deadline = engine.cluster.frontier, time.monotonic() + 60
    while engine.cluster.frontier == before:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_idle_tick_runs_no_job(engine: Engine) -> None:
    engine.sql("CREATE MATERIALIZED VIEW m AS SELECT t.k, count(*) AS n FROM t LEFT JOIN u ON t.k = u.k GROUP BY t.k")
    change(engine, "t", (1, 1, 1))
    with jobs(engine) as run:
        for _ in range(5):
            await_idle_tick(engine)
    assert (run.spark, run.counted) == (0, 0)


def test_a_small_tick_of_a_filter_and_an_aggregate_is_planned_and_runs_no_job(engine: Engine) -> None:
    engine.sql("CREATE MATERIALIZED VIEW m AS SELECT k, sum(v) AS s, count(*) AS n FROM t WHERE v > 0 GROUP BY k")
    change(engine, "t", (1, 1, 1))
    for v in range(6):  # long enough for compaction to have work
        with jobs(engine) as run:
            t = change(engine, "t", (1, v, 1), (2, 5, 1), (1, 1, -1 if v == 0 else 1))
        assert (run.spark, run.counted) == (0, 0)
        assert [effort.jobs for effort in engine.cluster.efforts if effort.tick == t] == [0]


@pytest.mark.usefixtures("planned_anew")
def test_a_tick_of_a_filter_and_an_aggregate_runs_one_job(engine: Engine) -> None:
    engine.sql("CREATE MATERIALIZED VIEW m AS SELECT k, sum(v) AS s, count(*) AS n FROM t WHERE v > 0 GROUP BY k")
    change(engine, "t", (1, 1, 1))
    for v in range(3):
        rows = [(k, v + 1, 1) for k in range(TOO_MANY_TO_PLAN)]
        with jobs(engine) as run:
            t = change(engine, "t", *rows)
        assert (run.spark, run.counted) == (1, 1)
        assert [effort.jobs for effort in engine.cluster.efforts if effort.tick == t] == [1]


def test_what_is_asked_again_runs_no_job(engine: Engine) -> None:
    engine.sql("CREATE MATERIALIZED VIEW m AS SELECT k, sum(v) AS s, count(*) AS n FROM t WHERE v > 0 GROUP BY k")
    ran = []
    for v in range(4):
        with jobs(engine) as run:
            change(engine, "t", *((k, v + 1, 1) for k in range(TOO_MANY_TO_PLAN)))
        assert run.spark == run.counted
        ran.append(run.spark)
    assert ran[0] == 1
    assert ran[2:] == [0, 0]
    found = engine.sql("SELECT count(*) AS groups, min(s) AS least, max(s) AS most, max(n) AS n FROM m")
    assert found is not None
    assert found.to_pylist() == [{"groups": TOO_MANY_TO_PLAN, "least": 10, "most": 10, "n": 4}]


RULES = {
    "latest": "SELECT DISTINCT ON (k) k, v FROM t ORDER BY k, v DESC",
    "first two": "SELECT k, v FROM t ORDER BY v DESC, k LIMIT 2",
    "first two of each": "SELECT a.k, b.v FROM (SELECT DISTINCT k FROM u) a,"
    " LATERAL (SELECT v FROM t WHERE t.k = a.k ORDER BY v LIMIT 2) b",
    "most": "SELECT k, min(v) AS least, max(v) AS most FROM t GROUP BY k",
    "list": "SELECT k, array_agg(v ORDER BY v) AS l, string_agg(v::text, ',' ORDER BY v) AS s FROM t GROUP BY k",
    "distinct": "SELECT k, count(DISTINCT v) AS n FROM t GROUP BY k",
    "left join": "SELECT t.k, t.v, u.v AS w FROM t LEFT JOIN u ON t.k = u.k",
    "full join": "SELECT t.k, u.k AS l, u.v FROM t FULL JOIN u ON t.k = u.k AND t.v < u.v",
    "exists": "SELECT k, v FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
    "not exists": "SELECT k, v FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
    "rank": "SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM t",
    "except": "SELECT k, v FROM t EXCEPT ALL SELECT k, v FROM u",
    "intersect": "SELECT k, v FROM t INTERSECT SELECT k, v FROM u",
}


@pytest.mark.parametrize("view", RULES.values(), ids=RULES)
def test_no_rule_runs_a_job_for_a_tick_like_those_before_it(engine: Engine, view: str) -> None:
    engine.sql(f"CREATE MATERIALIZED VIEW m AS {view}")

    def turn(n: int) -> None:
        change(engine, "t", *((k, k + n, 1) for k in range(20)), *((k, k + n - 1, -1) for k in range(20 if n else 0)))
        change(engine, "u", *((k, k + n, 1) for k in range(0, 20, 2)), (n, n + 1, 1))

    for n in range(4):
        turn(n)
    with jobs(engine) as run:
        for n in range(4, 7):
            turn(n)
    assert (run.spark, run.counted) == (0, 0)
    found = engine.sql("SELECT * FROM m")
    expected = engine.sql(view)
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist()))


def test_a_tick_that_changes_nothing_relevant_runs_no_job(engine: Engine) -> None:
    engine.sql("CREATE MATERIALIZED VIEW m AS SELECT k, sum(v) AS s FROM t GROUP BY k")
    engine.sql("CREATE MATERIALIZED VIEW j AS SELECT x.k FROM t AS x JOIN t AS y ON x.k = y.v")
    engine.sql("CREATE MATERIALIZED VIEW w AS SELECT k, rank() OVER (ORDER BY v) AS r FROM t")
    change(engine, "t", (1, 1, 1))
    with jobs(engine) as run:
        change(engine, "u", (1, 1, 1))
        change(engine, "t", (3, 3, 1), (3, 3, -1))
    assert (run.spark, run.counted) == (0, 0)


def test_rows_that_meet_on_the_driver_cost_no_job(engine: Engine) -> None:
    engine.sql("CREATE MATERIALIZED VIEW j AS SELECT t.v, u.v AS w FROM t JOIN u ON t.k = u.k AND t.v < u.v")
    engine.sql("CREATE MATERIALIZED VIEW m AS SELECT w, count(*) AS n FROM j GROUP BY w")
    change(engine, "t", (1, 1, 1), (2, 1, 1))
    for w in range(3, 6):
        with jobs(engine) as run:
            change(engine, "u", (1, w, 1), (2, w, 1), (3, w, 1))
        assert (run.spark, run.counted) == (0, 0)
    counts = engine.sql("SELECT w, n FROM m").to_pylist()
    assert sorted((row["w"], row["n"]) for row in counts) == [(3, 2), (4, 2), (5, 2)]
    with jobs(engine) as run:
        change(engine, "u", *((k, 9, 1) for k in range(TOO_MANY_TO_PLAN)))
    assert (run.spark, run.counted) == (0, 0)  # only two of them meet somebody
    with jobs(engine) as run:
        change(engine, "t", *((k, 2, 1) for k in range(TOO_MANY_TO_PLAN)))
    assert (run.spark, run.counted) == (0, 0)  # nor for the sums: they are asked as before


def test_views_that_share_their_state_share_the_job(engine: Engine) -> None:
    engine.sql("CREATE MATERIALIZED VIEW a AS SELECT k, sum(v) AS s FROM t GROUP BY k")
    engine.sql("CREATE MATERIALIZED VIEW b AS SELECT k, sum(v) AS s FROM t GROUP BY k HAVING sum(v) > 1")
    with jobs(engine) as run:
        change(engine, "t", *((k, 1, 1) for k in range(TOO_MANY_TO_PLAN)))
    assert (run.spark, run.counted) == (1, 1)


@pytest.mark.usefixtures("planned_anew")
def test_what_can_fail_above_the_state_is_computed_once_whether_or_not_somebody_reads_it(engine: Engine) -> None:
    engine.sql("CREATE MATERIALIZED VIEW a AS SELECT k, 100 / sum(v) AS s FROM t GROUP BY k")
    with jobs(engine) as unread:
        change(engine, "t", *((k, 1, 1) for k in range(TOO_MANY_TO_PLAN)))
    engine.sql("CREATE MATERIALIZED VIEW b AS SELECT s, count(*) AS n FROM a GROUP BY s")
    engine.settle()
    with jobs(engine) as read:
        change(engine, "t", *((k, 1, 1) for k in range(TOO_MANY_TO_PLAN)))
    assert (unread.counted, read.counted) == (2, 2)
    with jobs(engine) as run:
        change(engine, "t", (2, 1, 1))
    assert (run.spark, run.counted) == (0, 0)


def test_a_question_that_is_asked_again_of_few_rows_runs_no_job(engine: Engine) -> None:
    engine.sql("CREATE MATERIALIZED VIEW m AS SELECT k, count(*) AS n FROM t GROUP BY k")
    question = "SELECT k, n * 2 AS twice FROM m WHERE k > 0 ORDER BY n DESC, k LIMIT 2"
    for k in (1, 2, 3):  # what a trace consists of has been seen by then
        change(engine, "t", (k, 1, 1))
        for _ in range(2):
            engine.sql(question)
    change(engine, "t", (3, 2, 1))
    with jobs(engine) as run:
        answer = engine.sql(question)
        change(engine, "t", (4, 1, 5))
        later = engine.sql(question)
    assert answer is not None
    assert later is not None
    assert [row["twice"] for row in answer.to_pylist()] == [4, 2]
    assert later.to_pylist() == [{"k": 4, "twice": 10}, {"k": 3, "twice": 4}]
    assert run.spark == 0


def test_a_question_that_may_take_long_is_a_job_that_can_be_cancelled(engine: Engine) -> None:
    change(engine, "t", *((k, 1, 1) for k in range(5)))
    question = "SELECT count(*) AS n FROM t a, t b"
    for _ in range(2):
        engine.sql(question)
    with jobs(engine) as run:
        engine.sql(question)
    assert run.spark > 0


def test_a_restart_with_nothing_to_replay_runs_no_job(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark, tmp_path) as engine:
        engine.sql("CREATE TABLE t (k int, v int)")
        engine.sql("CREATE MATERIALIZED VIEW m AS SELECT k, sum(v) AS s FROM t GROUP BY k")
        change(engine, "t", (1, 1, 1))
    before = spark_jobs(spark)
    with Engine(spark, tmp_path) as engine:
        engine.settle()
    assert spark_jobs(spark) == before
