"""The same for Redis, by a client that asks what the published one asks (see examples/)."""

from __future__ import annotations

import sys
from pathlib import Path

from engine.killed_client import EXAMPLES, Content, define_totals, target_equals_totals
from tailrace.engine.engine import Engine
from tailrace.server.listener import Server
from tailrace.testing.redis import Redis


def test_a_client_that_is_killed_at_random_misses_nothing(
    engine: Engine, server: Server, redis: Redis, tmp_path: Path
) -> None:
    define_totals(engine)
    dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
    prefix, query = "follower:", "SELECT key, value FROM totals"
    command = [sys.executable, EXAMPLES / "subscribe_to_redis.py", dsn, redis.url, query, prefix]
    with redis.connect() as target:

        def found() -> Content:
            keys = [str(key.decode()) for key in target.keys(f"{prefix}*")]
            values = {key: target.get(key) for key in keys if key != f"{prefix}mz_timestamp"}
            return {int(key.removeprefix(prefix)): int(v) for key, v in values.items() if v is not None}

        target_equals_totals(engine, command, found, tmp_path)
