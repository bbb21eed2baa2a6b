"""COPY … TO a bucket: the engine dies, a sentinel says that not all is there, and the same statement, given once more,
ends with exactly the rows it should have."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from tailrace.testing.crash import CRASH_POINTS
from tailrace.testing.engine_process import EngineProcess
from tailrace.testing.s3 import ACCESS_KEY, S3, SECRET_KEY

ROWS = 30_000
OBJECTS = f"""
CREATE SECRET IF NOT EXISTS key AS '{SECRET_KEY}';
CREATE CONNECTION IF NOT EXISTS bucket TO AWS (ACCESS KEY ID = '{ACCESS_KEY}', SECRET ACCESS KEY = SECRET key,
  ENDPOINT = '{{endpoint}}', REGION = 'us')
"""
COPY = (
    f"COPY (SELECT n FROM generate_series(1, {ROWS}) AS g(n)) TO 's3://{{}}/p'"
    " WITH (AWS CONNECTION = bucket, FORMAT csv)"
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EngineProcess]:
    with EngineProcess(tmp_path / "data", tmp_path / "engine.log", "--driver-memory", "1g") as running:
        yield running


def connected(engine: EngineProcess, s3: S3) -> psycopg.Connection:
    connection = engine.connect()
    for statement in OBJECTS.format(endpoint=s3.endpoint).split(";"):
        connection.execute(statement.encode())
    return connection


def check(s3: S3, bucket: str) -> None:
    """All rows are there once, and nothing else."""
    lines = [int(line) for path in s3.objects(bucket).values() for line in path.read_text().splitlines()]
    assert sorted(lines) == list(range(1, ROWS + 1))
    assert not any(name.endswith("-INCOMPLETE") for name in s3.objects(bucket))


@pytest.mark.parametrize("point", [point for point in CRASH_POINTS if point.startswith("copy.")])
def test_the_same_statement_after_dying_at(point: str, engine: EngineProcess, s3: S3) -> None:
    bucket = s3.make_bucket(point.replace("_", "-").replace(".", "-"))
    engine.start(TAILRACE_CRASH=point)
    with connected(engine, s3) as connection, pytest.raises(psycopg.OperationalError):
        connection.execute(COPY.format(bucket).encode())
    engine.wait_until_dead()
    left = list(s3.objects(bucket))
    assert [name for name in left if name.endswith("-INCOMPLETE")]
    assert (len(left) > 1) == (point == "copy.written_not_complete")
    engine.start()
    with engine.connect() as connection:
        assert connection.execute(COPY.format(bucket).encode()).statusmessage == f"COPY {ROWS}"
    assert not set(s3.objects(bucket)) & set(left)
    check(s3, bucket)


def test_the_same_statement_after_the_service_has_died(engine: EngineProcess) -> None:
    with S3() as s3, ThreadPoolExecutor() as beside:
        bucket = s3.make_bucket("mortal")
        engine.start(TAILRACE_PAUSE="copy.begun")
        with connected(engine, s3) as connection:
            copying = beside.submit(connection.execute, COPY.format(bucket).encode())
            engine.wait_until_paused()
            s3.kill()
            engine.resume()
            with pytest.raises(psycopg.Error, match="s3: "):
                copying.result()
            s3.start()
            assert [name for name in s3.objects(bucket) if name.endswith("-INCOMPLETE")]
            assert connection.execute(COPY.format(bucket).encode()).statusmessage == f"COPY {ROWS}"
        check(s3, bucket)
