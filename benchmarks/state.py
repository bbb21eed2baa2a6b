"""What a tick costs by rule, by the size of the change and by the size of the state: it must follow the change.

`python -m benchmarks state [--rows N …] [--changes N …] [--ticks N]` runs an engine in this process, without Kafka.  For
each size of the state and each rule one view is made over a table of that many rows; then ticks of each size change
rows of it, half of them leaving.  At the end the view is compared with a recompute.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.settings import JVM_HEAP, PARALLELISM, SEED
from tailrace.engine.engine import Engine
from tailrace.engine.rows import arrow_schema
from tailrace.spark import build_session
from tailrace.testing.oracle import kept_text, recomputed_text
from tailrace.ticks.loop import Pace

RULES = {
    "join": "SELECT t.k, v, w FROM t JOIN u ON t.k = u.k",
    "aggregate": "SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k",
    "distinct": "SELECT DISTINCT k FROM t",
    "top-k": "SELECT k, v FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM t) AS x WHERE n <= 3",
}
"""The table t has ten rows for each k, and u one."""

_LOADED_AT_ONCE = 250_000
_WARM_UP = 3  # ticks of each size that are not measured; the first of them asks for an index of the state
Numbers = npt.NDArray[np.int64]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks state", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--changes", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--ticks", type=int, default=20, help=f"of each size; {_WARM_UP} more are not measured")
    parser.add_argument("--rules", nargs="+", choices=RULES, default=list(RULES))
    args = parser.parse_args(argv)
    spark = build_session(f"local[{PARALLELISM}]", JVM_HEAP)
    print("| rule | state | changes | p50 ms | most ms | jobs | planning ms |\n|---|---|---|---|---|---|---|", flush=True)
    right = [measure(spark, rule, rows, args.changes, args.ticks) for rows in args.rows for rule in args.rules]
    return 0 if all(right) else 1


def measure(spark: SparkSession, rule: str, rows: int, sizes: list[int], ticks: int) -> bool:
    """Prints one line for each size of the change.  Does the view hold what it should at the end?"""
    chance = np.random.default_rng(SEED)
    with tempfile.TemporaryDirectory() as folder, Engine(spark, Path(folder), pace=Pace(interval=0.02)) as engine:
        engine.sql("CREATE TABLE t (k int, v int); CREATE TABLE u (k int, w int)")
        keys = np.arange(rows) // 10
        values = chance.integers(0, 1_000_000, rows)
        for start in range(0, rows, _LOADED_AT_ONCE):
            part = slice(start, start + _LOADED_AT_ONCE)
            change(engine, "t", keys[part], values[part])
        once = np.unique(keys)
        change(engine, "u", once, once)
        engine.sql(f"CREATE MATERIALIZED VIEW m AS {RULES[rule]}")
        engine.sql("CREATE MATERIALIZED VIEW followed AS SELECT count(*) AS n FROM m")  # asks m for its changes
        engine.settle()
        for size in sizes:
            seconds = []
            for number in range(_WARM_UP + ticks):
                if number == _WARM_UP:
                    _rest(engine)
                    first = engine.cluster.frontier
                leaving = chance.choice(rows, min(size // 2, rows), replace=False)
                old, values[leaving] = values[leaving], chance.integers(0, 1_000_000, len(leaving))
                started = time.monotonic()
                change(
                    engine,
                    "t",
                    np.tile(keys[leaving], 2),
                    np.concatenate([old, values[leaving]]),
                    np.repeat(np.array([-1, 1]), len(leaving)),
                )
                seconds.append(time.monotonic() - started)
            _report(engine, rule, rows, size, seconds[_WARM_UP:], first)
        wrong = _rows_wrong(engine)
    if wrong:
        print(f"{rule}: {wrong} rows WRONG", flush=True)
    return not wrong


def change(engine: Engine, table: str, k: Numbers, v: Numbers, weights: Numbers | None = None) -> None:
    """One tick in which these rows come, or go."""
    item = engine.catalog.resolve((table,))
    arrays = [pa.array(each, pa.int32()) for each in (k, v)]
    rows = pa.Table.from_arrays(arrays, schema=arrow_schema(item.schema or ()))
    delta = rows.append_column("weight", pa.array(np.ones(len(k), np.int64) if weights is None else weights))
    engine.loop.change(lambda: {item.id: delta})


def _rest(engine: Engine) -> None:
    """Until nothing is done beside the ticks any more."""
    engine.settle()
    engine.store.lookups.settle()


def _report(engine: Engine, rule: str, rows: int, size: int, seconds: list[float], first: int) -> None:
    costs = [cost for cost in engine.cluster.costs if cost.tick > first]
    jobs, planning = sum(cost.jobs for cost in costs), sum(cost.planning for cost in costs)
    times = f"{1000 * statistics.median(seconds):.0f} | {1000 * max(seconds):.0f}"
    spent = f"{jobs / len(seconds):.1f} | {1000 * planning / len(seconds):.0f}"
    print(f"| {rule} | {rows:,} | {size:,} | {times} | {spent} |", flush=True)


def _rows_wrong(engine: Engine) -> int:
    """In how many rows m differs from a recompute; counted by Spark, because there are many."""
    view = engine.catalog.resolve(("m",))
    with engine.cluster.pinned() as t, engine.views.scratch():
        kept, fresh = kept_text(engine, view, t), recomputed_text(engine, view, t)
        names = ", ".join(f"c{i}" for i in range(len(view.schema or ())))
        both = f"({kept}) UNION ALL (SELECT {names}, -weight AS weight FROM ({fresh}))"
        differing = f"SELECT {names} FROM ({both}) GROUP BY {names} HAVING sum(weight) <> 0"
        return int(engine.spark.sql(f"SELECT count(*) AS n FROM ({differing})").collect()[0].n)
