"""What a client waits for: a query of the catalog, a look at one row, and the next change of a subscription.

`python -m benchmarks sql [--groups N] [--rounds N]` runs `tailrace serve` and a PostgreSQL, each as a process of its own,
and asks both over a socket, as psycopg does it.  Every answer is compared with what was put in.

A statement that writes is acknowledged when its tick is done, so the lag of a subscription behind the tick is from the
acknowledgement to the row in the reader's hands.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from benchmarks.settings import JVM_HEAP, PARALLELISM, SEED
from tailrace.testing.engine_process import EngineProcess
from tailrace.testing.postgres import Postgres

# What psql sends for `\d`, and for the columns of `\d t`.
_LIST = (
    "SELECT n.nspname, c.relname, c.relkind, pg_catalog.pg_get_userbyid(c.relowner) FROM pg_catalog.pg_class c"
    " LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r','p','v','m','S','f','')"
    " AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema'"
    " AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1, 2"
)
_COLUMNS = (
    "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull FROM pg_catalog.pg_attribute a"
    " WHERE a.attrelid = 't'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
)
Connection = psycopg.Connection[tuple[Any, ...]]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks sql", description=__doc__)
    parser.add_argument("--groups", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=300)
    args = parser.parse_args(argv)
    return 0 if measure(args.groups, args.rounds) else 1


def measure(groups: int, rounds: int) -> bool:
    options = ("--master", f"local[{PARALLELISM}]", "--driver-memory", JVM_HEAP, "--tick-interval", "20ms")
    right = True
    with Postgres() as postgres, postgres.connect() as client:
        _fill(client, groups)
        client.execute("CREATE UNIQUE INDEX ON m (k)")
        right &= _ask("PostgreSQL", client, groups, rounds)
    with tempfile.TemporaryDirectory() as folder:
        engine = EngineProcess(Path(folder) / "data", Path(folder) / "engine.log", *options)
        with engine:
            engine.start()
            with engine.connect() as client:
                _fill(client, groups)
                right &= _ask("Tailrace", client, groups, rounds)
                right &= _follow(engine, client, groups, rounds)
    print(f"answers {'right' if right else 'WRONG'}")
    return right


def _fill(client: Connection, groups: int) -> None:
    client.execute("CREATE TABLE t (k int NOT NULL, v bigint)")
    client.execute(f"INSERT INTO t SELECT n, n FROM generate_series(1, {groups}) AS n".encode())
    client.execute("CREATE MATERIALIZED VIEW m AS SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k")


def _ask(system: str, client: Connection, groups: int, rounds: int) -> bool:
    keys = [int(key) for key in np.random.default_rng(SEED).integers(1, groups + 1, rounds)]

    def row_of(key: int) -> bool:
        found = client.execute("SELECT s FROM m WHERE k = %s", (key,)).fetchall()
        return [int(s) for (s,) in found] == [key]

    questions: dict[str, Callable[[int], bool]] = {
        "catalog: all relations": lambda _: len(client.execute(_LIST).fetchall()) == 2,
        "catalog: columns": lambda _: len(client.execute(_COLUMNS).fetchall()) == 2,
        "constant": lambda _: client.execute("SELECT 1").fetchone() == (1,),
        "one row of a view": lambda i: row_of(keys[i]),
    }
    print(f"{system}: {groups:,} groups, {rounds:,} rounds of each", flush=True)
    return all([_timed(name, rounds, ask) for name, ask in questions.items()])


def _timed(name: str, rounds: int, ask: Callable[[int], bool]) -> bool:
    """Prints how long an answer takes; says whether all were right.  The first tenth warms up and is not counted."""
    seconds, right = [], True
    for i in range(rounds):
        started = time.monotonic()
        right &= ask(i)
        seconds.append(time.monotonic() - started)
    print(f"  {name:<32} {shown(seconds[rounds // 10 :])}", flush=True)
    return right


def _follow(engine: EngineProcess, writer: Connection, groups: int, rounds: int) -> bool:
    """One row is changed at a time, while another client follows the view."""
    seen: list[tuple[float, int]] = []
    ready = threading.Event()

    def read() -> None:
        with engine.connect() as reader:
            reader.execute("BEGIN")
            reader.execute("DECLARE c CURSOR FOR SUBSCRIBE (SELECT k, n FROM m) WITH (SNAPSHOT = false)")
            reader.execute("FETCH 1 c WITH (TIMEOUT '0s')")  # the first one begins it
            ready.set()
            while len(seen) < rounds:
                rows = reader.execute("FETCH 1000 c").fetchall()
                now = time.monotonic()
                seen.extend((now, k) for _, diff, k, _ in rows if diff > 0)

    reading = threading.Thread(target=read)
    reading.start()
    ready.wait()
    begun, acknowledged = [], []
    for i in range(rounds):
        begun.append(time.monotonic())
        writer.execute("INSERT INTO t VALUES (%s, 0)", (i % groups + 1,))
        acknowledged.append(time.monotonic())
        while len(seen) <= i:
            time.sleep(0.0002)
    reading.join()
    warm = slice(rounds // 10, None)
    writes = [end - start for start, end in zip(begun, acknowledged, strict=True)]
    lags = [at - end for (at, _), end in zip(seen, acknowledged, strict=True)]
    whole = [at - start for (at, _), start in zip(seen, begun, strict=True)]
    print(f"  {'one row written, its tick done':<32} {shown(writes[warm])}")
    print(f"  {'subscribe: behind the tick':<32} {shown([max(lag, 0.0) for lag in lags[warm]])}")
    print(f"  {'subscribe: behind the statement':<32} {shown(whole[warm])}", flush=True)
    return [k for _, k in seen] == [i % groups + 1 for i in range(rounds)]


def shown(seconds: list[float]) -> str:
    ordered = sorted(1000 * each for each in seconds)
    p99 = ordered[int(0.99 * (len(ordered) - 1))]
    return f"p50 {statistics.median(ordered):7.1f} ms, p99 {p99:7.1f} ms, most {ordered[-1]:7.1f} ms"
