"""A sink of one's own: follows a view with SUBSCRIBE and keeps a PostgreSQL table equal to it.

    python subscribe_to_postgres.py TAILRACE_DSN POSTGRES_DSN VIEW KEY

Rows and progress are stored in one transaction of the target, so it can be killed at any moment and started again:
nothing is missed, nothing is applied twice.  The view needs WITH (RETAIN HISTORY FOR …) as long as the longest outage.
The target table has the view's columns and a primary key on KEY; here both have columns `key` and `value`.
"""

from __future__ import annotations

import sys

import psycopg


def main(source_dsn: str, target_dsn: str, view: str, key: str) -> None:
    with (
        psycopg.connect(source_dsn, autocommit=True) as source,
        psycopg.connect(target_dsn, autocommit=True) as target,
    ):
        target.execute("CREATE TABLE IF NOT EXISTS progress (name text PRIMARY KEY, upper bigint NOT NULL)")
        stored = target.execute("SELECT upper FROM progress WHERE name = %s", (view,)).fetchone()
        # Rows at exactly the stored time are not yet applied: without a snapshot only times above AS OF are sent.
        where = "" if stored is None else f"AS OF {stored[0] - 1}"
        options = f"PROGRESS, SNAPSHOT = {str(stored is None).lower()}"
        source.execute("BEGIN")
        subscribe = f"SUBSCRIBE {view} WITH ({options}) {where} ENVELOPE UPSERT (KEY ({key}))"
        source.execute(f"DECLARE c CURSOR FOR {subscribe}".encode())
        print("following", flush=True)
        pending: list[tuple[object, ...]] = []
        while True:
            for time, progressed, *change in source.execute("FETCH 100 c").fetchall():
                if not progressed:
                    pending.append(tuple(change))
                    continue
                with target.transaction():
                    for state, row_key, value in pending:
                        apply(target, view, key, state, row_key, value)
                    target.execute(
                        "INSERT INTO progress VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET upper = excluded.upper",
                        (view, int(time)),
                    )
                pending = []


def apply(target: psycopg.Connection, table: str, key: str, state: object, row_key: object, value: object) -> None:
    match state:
        case "upsert":
            insert = f"INSERT INTO {table} ({key}, value) VALUES (%s, %s)"
            replace = f"ON CONFLICT ({key}) DO UPDATE SET value = excluded.value"
            target.execute(f"{insert} {replace}".encode(), (row_key, value))
        case "delete":
            deleted = target.execute(f"DELETE FROM {table} WHERE {key} = %s".encode(), (row_key,))
            if deleted.rowcount != 1:
                raise SystemExit(f"key {row_key!r} was deleted, but is not there")
        case _:
            raise SystemExit(f"{state} for key {row_key!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
