"""A client as a user would write it (see examples/), killed at random: its target equals the view in the end."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import psycopg

from tailrace.engine.engine import Engine
from tailrace.server.listener import Server
from tailrace.testing.postgres import Postgres
from tailrace.testing.process import Child

EXAMPLE = Path(__file__).parents[2] / "examples" / "subscribe_to_postgres.py"
_ROUNDS = 8
_PATIENCE = 60.0


def test_a_client_that_is_killed_at_random_misses_nothing(
    engine: Engine, server: Server, postgres: Postgres, tmp_path: Path
) -> None:
    rng = random.Random(7)
    engine.sql("CREATE TABLE orders (item int, amount int) WITH (RETAIN HISTORY FOR '1 hour')")
    engine.sql(
        "CREATE MATERIALIZED VIEW totals WITH (RETAIN HISTORY FOR '1 hour') AS"
        " SELECT item AS key, sum(amount) AS value FROM orders GROUP BY item"
    )
    dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
    with postgres.connect() as target:
        target.execute("CREATE SCHEMA follower")
        target.execute("SET search_path = follower")
        target.execute("CREATE TABLE totals (key int PRIMARY KEY, value numeric NOT NULL)")
        for round in range(_ROUNDS):
            target_dsn = f"{postgres.url}?options=-csearch_path%3Dfollower"
            command = [sys.executable, str(EXAMPLE), dsn, target_dsn, "totals", "key"]
            with Child(command, log=tmp_path / f"client{round}.log", directory=tmp_path) as client:
                until = time.monotonic() + rng.uniform(0.5, 1.5)
                while time.monotonic() < until:
                    _change(engine, rng)
                if round < _ROUNDS - 1:
                    client.kill()
                    _change(engine, rng)  # while nobody listens
                    continue
                _wait_until_equal(engine, target, client)


def _change(engine: Engine, rng: random.Random) -> None:
    item = rng.randrange(6)
    if rng.random() < 0.3:
        engine.sql(f"DELETE FROM orders WHERE item = {item}")
    else:
        engine.sql(f"INSERT INTO orders VALUES ({item}, {rng.randrange(100)})")


def _wait_until_equal(engine: Engine, target: psycopg.Connection, client: Child) -> None:
    answer = engine.sql("SELECT key, value FROM totals")
    assert answer is not None
    wanted = sorted((row["key"], row["value"]) for row in answer.to_pylist())
    assert wanted
    deadline = time.monotonic() + _PATIENCE
    while True:
        found = target.execute("SELECT key, value FROM totals ORDER BY key").fetchall()
        if found == wanted:
            return
        assert client.is_running(), client.output()
        assert time.monotonic() < deadline, (found, wanted, client.output())
        time.sleep(0.1)
