"""One PostgreSQL and one Tailrace for all comparisons, each behind its wire."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from postgres.both import ONE_ROW, Both, Client
from tailrace.engine.engine import Engine
from tailrace.server.listener import Server
from tailrace.testing.postgres import Postgres
from tailrace.ticks.loop import Pace


@pytest.fixture(scope="session")
def both(spark: SparkSession, postgres: Postgres) -> Iterator[Both]:
    with Engine(spark, pace=Pace(interval=0.02)) as engine:
        server = Server(host="127.0.0.1", port=0, open_session=engine.open_session)
        server.start()
        tailrace = Client.connect(f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize")
        reference = Client.connect(postgres.url, "SET timezone = 'UTC'", "SET intervalstyle = 'postgres'")
        both = Both(reference, tailrace)
        both.run(f"CREATE TABLE {ONE_ROW} (only_column int)")
        both.run(f"INSERT INTO {ONE_ROW} VALUES (1)")
        yield both
        tailrace.close()
        reference.close()
        server.stop(5.0)
