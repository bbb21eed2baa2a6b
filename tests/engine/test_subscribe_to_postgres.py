"""A client as a user would write it (see examples/), killed at random: its target equals the view in the end."""

from __future__ import annotations

import sys
from pathlib import Path

from engine.killed_client import EXAMPLES, Content, define_totals, target_equals_totals
from tailrace.engine.engine import Engine
from tailrace.server.listener import Server
from tailrace.testing.postgres import Postgres


def test_a_client_that_is_killed_at_random_misses_nothing(
    engine: Engine, server: Server, postgres: Postgres, tmp_path: Path
) -> None:
    define_totals(engine)
    dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
    with postgres.connect() as target:
        target.execute("CREATE SCHEMA follower")
        target.execute("SET search_path = follower")
        target.execute("CREATE TABLE totals (key int PRIMARY KEY, value numeric NOT NULL)")
        target_dsn = f"{postgres.url}?options=-csearch_path%3Dfollower"
        command = [sys.executable, EXAMPLES / "subscribe_to_postgres.py", dsn, target_dsn, "totals", "key"]

        def found() -> Content:
            return {key: int(value) for key, value in target.execute("SELECT key, value FROM totals").fetchall()}

        target_equals_totals(engine, command, found, tmp_path)
