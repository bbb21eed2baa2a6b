"""COPY … TO a bucket: the engine dies, a sentinel says that not all is there, and the same statement, given once more,
ends with exactly the rows it should have."""

from __future__ import annotations

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


@pytest.mark.parametrize("point", [point for point in CRASH_POINTS if point.startswith("copy.")])
def test_the_same_statement_after_dying_at(point: str, tmp_path: Path, s3: S3) -> None:
    bucket = s3.make_bucket(point.replace("_", "-").replace(".", "-"))
    with EngineProcess(tmp_path / "data", tmp_path / "engine.log", "--driver-memory", "1g") as engine:
        engine.start(TAILRACE_CRASH=point)
        with engine.connect() as connection:
            for statement in OBJECTS.format(endpoint=s3.endpoint).split(";"):
                connection.execute(statement.encode())
            with pytest.raises(psycopg.OperationalError):
                connection.execute(COPY.format(bucket).encode())
        engine.wait_until_dead()
        left = list(s3.objects(bucket))
        assert [name for name in left if name.endswith("-INCOMPLETE")]
        assert (len(left) > 1) == (point == "copy.written_not_complete")
        engine.start()
        with engine.connect() as connection:
            assert connection.execute(COPY.format(bucket).encode()).statusmessage == f"COPY {ROWS}"
    found = s3.objects(bucket)
    assert not set(found) & set(left)
    lines = [int(line) for path in found.values() for line in path.read_text().splitlines()]
    assert sorted(lines) == list(range(1, ROWS + 1))
