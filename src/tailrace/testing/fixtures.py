"""Pytest fixtures with the real thing behind them.  In a conftest.py:

    pytest_plugins = ["tailrace.testing.fixtures"]

Servers and Spark are started once for a run, when the first test asks for them; each test takes topics of its
own.
"""

import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Protocol

import pytest
from pyspark.sql import SparkSession

from tailrace.spark import JVM_OPTIONS, build_session
from tailrace.testing.broker import Broker
from tailrace.testing.iceberg_rest import IcebergRest
from tailrace.testing.postgres import Postgres
from tailrace.testing.redis import Redis
from tailrace.testing.registry import Registry
from tailrace.testing.s3 import S3
from tailrace.testing.topics import create_topic


class TopicFactory(Protocol):
    """Creates a topic that no other test uses and returns its name."""

    def __call__(
        self, name: str = "topic", partitions: int = 1, config: Mapping[str, str] | None = None
    ) -> str: ...


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """A running Kafka broker.

    Whoever stops or kills it starts it again; or better, takes a `Broker()` of its own.
    """
    with Broker() as running:
        yield running


@pytest.fixture(scope="session")
def registry() -> Iterator[Registry]:
    """A running schema registry."""
    with Registry() as running:
        yield running


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A running PostgreSQL; each test takes a schema of its own."""
    with Postgres() as running:
        yield running


@pytest.fixture(scope="session")
def redis() -> Iterator[Redis]:
    """A running Redis; each test takes a key prefix of its own."""
    with Redis() as running:
        yield running


@pytest.fixture(scope="session")
def s3() -> Iterator[S3]:
    """A running S3 server; each test takes a bucket of its own."""
    with S3() as running:
        yield running


@pytest.fixture(scope="session")
def iceberg_rest() -> Iterator[IcebergRest]:
    """A running Iceberg REST catalog; each test takes tables of its own."""
    with IcebergRest() as running:
        yield running


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark on two cores, with Tailrace's settings and jars."""
    lives_long = {JVM_OPTIONS: "-XX:TieredStopAtLevel=4"}  # whatever SPARK_SUBMIT_OPTS wants for engines that die
    session = build_session(master="local[2]", driver_memory="2g", app_name="tests", extra=lives_long)
    yield session
    session.stop()


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> TopicFactory:
    """Makes fresh topics: `topic("orders", partitions=3)` returns the name of an empty one."""

    def fresh(name: str = "topic", partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
        test = re.sub(r"[^a-zA-Z0-9_-]+", "-", request.node.name)[:80]
        return create_topic(broker.bootstrap, f"{name}.{test}.{uuid.uuid4().hex[:8]}", partitions, config)

    return fresh
