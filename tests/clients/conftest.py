"""One engine and one server for all clients: each takes relations with a prefix of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.server.listener import Server
from tailrace.ticks.loop import Pace


@pytest.fixture(scope="package")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02)) as opened:
        yield opened


@pytest.fixture(scope="package")
def server(engine: Engine) -> Iterator[Server]:
    listening = Server(host="127.0.0.1", port=0, open_session=engine.open_session)
    listening.start()
    yield listening
    listening.stop(5.0)


@pytest.fixture
def dsn(server: Server) -> str:
    return f"postgresql://materialize@127.0.0.1:{server.port}/materialize"
