"""What a tick costs: 1,000 changes at a time into an aggregate with 2,000,000 groups, tick after tick.

`python -m benchmarks ticks [--groups N] [--ticks N]` runs an engine in this process, without Kafka: what is measured is
the tick loop from its log to the finished views, one of them over the changes of the other.  Every row is compared with what was put in at the end.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.settings import JVM_HEAP, PARALLELISM, SEED
from tailrace.engine.engine import Engine
from tailrace.engine.rows import arrow_schema
from tailrace.spark import build_session
from tailrace.ticks.loop import Pace

CHANGES = 1_000
_LOADED_AT_ONCE = 250_000


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks ticks", description=__doc__)
    parser.add_argument("--groups", type=int, default=2_000_000)
    parser.add_argument("--ticks", type=int, default=1_000)
    args = parser.parse_args(argv)
    return measure(args.groups, args.ticks)


def measure(groups: int, ticks: int) -> int:
    chance = np.random.default_rng(SEED)
    amounts = np.zeros(groups, np.int64)
    counts = np.zeros(groups, np.int64)
    spark = build_session(f"local[{PARALLELISM}]", JVM_HEAP)
    with tempfile.TemporaryDirectory() as folder, Engine(spark, Path(folder), pace=Pace(interval=0.02)) as engine:
        engine.sql("CREATE TABLE t (k int, v int)")
        item = engine.catalog.resolve(("t",))
        schema = arrow_schema(item.schema or ())

        def change(k: np.ndarray, v: np.ndarray) -> None:
            np.add.at(amounts, k, v)
            np.add.at(counts, k, 1)
            rows = pa.Table.from_arrays([pa.array(k, pa.int32()), pa.array(v, pa.int32())], schema=schema)
            weights = pa.array(np.ones(len(k), np.int64))
            engine.loop.change(lambda: {item.id: rows.append_column("weight", weights)})

        engine.sql("CREATE MATERIALIZED VIEW m AS SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k")
        # A view that nobody reads only adds up.  This one needs the old and the new row of every touched group.
        engine.sql("CREATE MATERIALIZED VIEW sizes AS SELECT n, count(*) AS groups FROM m GROUP BY n")
        for start in range(0, groups, _LOADED_AT_ONCE):
            k = np.arange(start, min(start + _LOADED_AT_ONCE, groups))
            change(k, chance.integers(0, 1000, len(k)))
        engine.settle()
        print(f"{groups:,} groups are there; {ticks:,} ticks of {CHANGES:,} changes", flush=True)
        seconds = []
        for number in range(ticks):
            k = chance.integers(0, groups, CHANGES)
            v = chance.integers(0, 1000, CHANGES)
            started = time.monotonic()
            change(k, v)
            seconds.append(time.monotonic() - started)
            if (number + 1) % max(1, ticks // 10) == 0:
                part = seconds[-max(1, ticks // 10) :]
                print(f"ticks to {number + 1:>6,}: {_ms(part)}", flush=True)
        found = engine.sql("SELECT k, n, s FROM m")
        assert found is not None
        k = found["k"].to_numpy()
        right = found.num_rows == groups and (found["n"].to_numpy() == counts[k]).all()
        right = right and (found["s"].to_numpy().astype(np.int64) == amounts[k]).all()
        sizes = engine.sql("SELECT n, groups FROM sizes ORDER BY n")
        assert sizes is not None
        n, expected = np.unique(counts, return_counts=True)
        right = right and sizes["n"].to_pylist() == n.tolist() and sizes["groups"].to_pylist() == expected.tolist()
        files = sum(len(names) for _, _, names in os.walk(folder))
    tenth = max(1, ticks // 10)
    growth = statistics.median(seconds[-tenth:]) / statistics.median(seconds[tenth : 2 * tenth] or seconds)
    print(f"all: {_ms(seconds)}; last tenth / second tenth {growth:.2f}; {files} files; rows {'right' if right else 'WRONG'}")
    return 0 if right else 1


def _ms(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    return (
        f"p50 {1000 * statistics.median(ordered):.0f} ms, p99 {1000 * ordered[int(0.99 * (len(ordered) - 1))]:.0f} ms,"
        f" most {1000 * ordered[-1]:.0f} ms"
    )
