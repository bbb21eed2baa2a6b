"""What a client waits for: a query of the catalog, a look at one row, and the next change of a subscription.

`python -m benchmarks sql [--groups N] [--rounds N]` runs an engine and its server in this process and asks over a
socket, as psycopg does it.  The lag of a subscription is from the end of the tick to the row in the client's hands.
Every answer is compared with what was put in.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psycopg

from benchmarks.settings import JVM_HEAP, PARALLELISM, SEED
from tailrace.engine.engine import Engine
from tailrace.server.listener import Server
from tailrace.spark import build_session
from tailrace.ticks.loop import Pace

# What psql sends for `\d`, and for `\d table` first of all.
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


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks sql", description=__doc__)
    parser.add_argument("--groups", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=200)
    args = parser.parse_args(argv)
    return measure(args.groups, args.rounds)


def measure(groups: int, rounds: int) -> int:
    chance = np.random.default_rng(SEED)
    spark = build_session(f"local[{PARALLELISM}]", JVM_HEAP)
    with tempfile.TemporaryDirectory() as folder, Engine(spark, Path(folder), pace=Pace(interval=0.02)) as engine:
        server = Server(host="127.0.0.1", port=0, open_session=engine.open_session)
        server.start()
        try:
            dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
            with psycopg.connect(dsn, autocommit=True) as client:
                client.execute("CREATE TABLE t (k int NOT NULL, v bigint)")
                client.execute("CREATE MATERIALIZED VIEW m AS SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k")
                client.execute(f"INSERT INTO t SELECT n, n FROM generate_series(1, {groups}) AS n".encode())
                engine.settle()
                print(f"{groups:,} groups are there; {rounds:,} rounds of each", flush=True)
                keys = [int(key) for key in chance.integers(1, groups + 1, rounds)]

                def row_of(key: int) -> bool:
                    found = client.execute("SELECT s FROM m WHERE k = %s", (key,)).fetchall()
                    return [int(s) for (s,) in found] == [key]

                right = all(
                    (
                        _timed("catalog: all relations", rounds, lambda _: len(client.execute(_LIST).fetchall()) == 2),
                        _timed("catalog: columns", rounds, lambda _: len(client.execute(_COLUMNS).fetchall()) == 2),
                        _timed("constant", rounds, lambda _: client.execute("SELECT 1").fetchone() == (1,)),
                        _timed("one row of a view", rounds, lambda i: row_of(keys[i])),
                        _follow(engine, dsn, client, groups, rounds),
                    )
                )
        finally:
            server.stop()
    print(f"answers {'right' if right else 'WRONG'}")
    return 0 if right else 1


def _timed(name: str, rounds: int, ask: Callable[[int], bool]) -> bool:
    """Prints how long an answer takes; says whether all were right.  The first tenth warms up and is not counted."""
    seconds, right = [], True
    for i in range(rounds):
        started = time.monotonic()
        right &= ask(i)
        seconds.append(time.monotonic() - started)
    print(f"{name:<24} {shown(seconds[rounds // 10 :])}", flush=True)
    return right


def _follow(engine: Engine, dsn: str, writer: psycopg.Connection, groups: int, rounds: int) -> bool:
    """One row is changed at a time, while another client follows the view."""
    ended: dict[int, float] = {}
    engine.cluster.on_tick = lambda t: ended.setdefault(t, time.monotonic())
    seen: list[tuple[int, float, int]] = []
    ready = threading.Event()

    def read() -> None:
        with psycopg.connect(dsn) as reader:
            reader.execute("DECLARE c CURSOR FOR SUBSCRIBE (SELECT k, n FROM m) WITH (SNAPSHOT = false)")
            ready.set()
            while len(seen) < rounds:
                rows = reader.execute("FETCH 1000 c").fetchall()
                now = time.monotonic()
                seen.extend((int(tick), now, k) for tick, diff, k, _ in rows if diff > 0)

    reading = threading.Thread(target=read)
    reading.start()
    ready.wait()
    writes = []
    for i in range(rounds):
        started = time.monotonic()
        writer.execute("INSERT INTO t VALUES (%s, 0)", (i % groups + 1,))
        writes.append(time.monotonic() - started)
    reading.join()
    lags = [max(at - ended[tick], 0.0) for tick, at, _ in seen]
    print(f"{'one row written':<24} {shown(writes[rounds // 10 :])}")
    print(f"{'subscribe, after a tick':<24} {shown(lags[rounds // 10 :])}", flush=True)
    return [k for _, _, k in seen] == [i % groups + 1 for i in range(rounds)]


def shown(seconds: list[float]) -> str:
    ordered = sorted(1000 * each for each in seconds)
    p99 = ordered[int(0.99 * (len(ordered) - 1))]
    return f"p50 {statistics.median(ordered):7.1f} ms, p99 {p99:7.1f} ms, most {ordered[-1]:7.1f} ms"
