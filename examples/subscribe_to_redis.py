"""A sink of one's own: follows a query with SUBSCRIBE and keeps the keys of a Redis equal to it.

    python subscribe_to_redis.py TAILRACE_DSN REDIS_URL QUERY PREFIX

The query has the columns `key` and `value`, and its keys are unique.  Values and progress are set in one MULTI, so it
can be killed at any moment and started again: nothing is missed, nothing is applied twice.  What the query reads needs
WITH (RETAIN HISTORY FOR …) as long as the longest outage.  Redis itself may lose what it has acknowledged.
"""

from __future__ import annotations

import sys

import psycopg
import redis


def main(source_dsn: str, redis_url: str, query: str, prefix: str) -> None:
    target = redis.Redis.from_url(redis_url, decode_responses=True)
    progress_key = f"{prefix}mz_timestamp"
    with psycopg.connect(source_dsn, autocommit=True, options="--welcome_message=off") as source:
        check(source, query)
        stored = target.get(progress_key)
        # Rows at exactly the stored time are not yet applied: without a snapshot only times above AS OF are sent.
        where = "" if stored is None else f"AS OF {int(stored) - 1}"
        options = f"PROGRESS, SNAPSHOT = {str(stored is None).lower()}"
        source.execute("BEGIN")
        subscribe = f"SUBSCRIBE ({query}) WITH ({options}) {where} ENVELOPE UPSERT (KEY (key))"
        source.execute(f"DECLARE c CURSOR FOR {subscribe}".encode())
        print("following", flush=True)
        pending: list[tuple[str, str, str | None]] = []
        while True:
            for time, progressed, *change in source.execute("FETCH 100 c").fetchall():
                if not progressed:
                    state, key, value = change
                    pending.append((state, str(key), value))
                    continue
                with target.pipeline(transaction=True) as together:
                    for state, key, value in pending:
                        match state:
                            case "upsert":
                                together.set(prefix + key, str(value))
                            case "delete":
                                together.delete(prefix + key)
                            case _:
                                raise SystemExit(f"{state} for key {key!r}")
                    together.set(progress_key, int(time))
                    together.execute()
                pending = []


def check(source: psycopg.Connection, query: str) -> None:
    """Where we are, and that the query has the columns we need."""
    about = "SELECT mz_environment_id(), current_database(), current_schema(), current_role()"
    where = source.execute(about).fetchone()
    cluster = source.execute("SHOW CLUSTER").fetchone()
    found = source.execute(f"SELECT * FROM ({query}) WHERE FALSE LIMIT 0".encode())
    columns = [column.name for column in found.description or ()]
    if columns != ["key", "value"]:
        raise SystemExit(f"the query has the columns {columns}, not key and value")
    print("connected to", where, "in", cluster, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
