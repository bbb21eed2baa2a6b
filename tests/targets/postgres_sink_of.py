"""Postgres sinks for tests: on tables of their own, told what to write in plain Python, read back independently."""

from __future__ import annotations

import uuid
from typing import Any

from tailrace.ivm.zset import ZSet
from tailrace.secret import Secret
from tailrace.sinks.postgres_connection import PostgresConnection
from tailrace.sinks.postgres_definition import PostgresSinkDefinition
from tailrace.testing.postgres import PASSWORD, Postgres
from tailrace.types.core import INTEGER, TEXT, Column

SCHEMA = (Column("k", INTEGER, False), Column("v", TEXT))


def definition_of(postgres: Postgres, **more: Any) -> PostgresSinkDefinition:
    """A sink of rows (k, v) with key k, into a table that no other test uses."""
    defaults: dict[str, Any] = {
        "id": "u7",
        "name": "totals_out",
        "connection": connection_of(postgres.port),
        "region": uuid.uuid4().hex[:8],
        "table": ("public", f"totals_{uuid.uuid4().hex[:8]}"),
        "schema": SCHEMA,
        "key": (0,),
    }
    return PostgresSinkDefinition(**{**defaults, **more})


def connection_of(port: int) -> PostgresConnection:
    return PostgresConnection(
        name="pg",
        host="127.0.0.1",
        port=port,
        database="postgres",
        user=Secret("postgres"),
        password=Secret(PASSWORD),
    )


def zset(*rows: tuple[int, str | None, int]) -> ZSet:
    """Rows (k, v, weight)."""
    values = ", ".join(f"({k}, {'NULL' if v is None else repr(v)}, {weight}L)" for k, v, weight in rows)
    sql = f"SELECT CAST(c0 AS int) AS c0, CAST(c1 AS string) AS c1, weight FROM VALUES {values} AS t(c0, c1, weight)"
    return ZSet(arity=2, sql=sql, rows=len(rows))


def numbers(count: int, rows: int | None = None) -> ZSet:
    """Rows (0, v0), (1, v1), …; `rows` is how many a sink believes there are."""
    sql = f"SELECT CAST(id AS int) AS c0, concat('v', id) AS c1, 1L AS weight FROM range({count})"
    return ZSet(arity=2, sql=sql, rows=rows or count, positive=True)


def contents(postgres: Postgres, sink: PostgresSinkDefinition) -> dict[int, str | None]:
    with postgres.connect() as connection:
        return dict(connection.execute(f"SELECT k, v FROM {sink.shown}".encode()).fetchall())
