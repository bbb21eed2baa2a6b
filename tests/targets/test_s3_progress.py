"""A long COPY … TO a bucket says how far it is, while it runs, to its own client and to others; and can be ended."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tailrace.engine import copy_to
from tailrace.engine.engine import Engine
from tailrace.server.listener import Server
from tailrace.testing.s3 import ACCESS_KEY, S3, SECRET_KEY

LONG = "(SELECT n, repeat('x', 100) AS t FROM generate_series(1, 400000) AS g(n))"
OPTIONS = "WITH (AWS CONNECTION = bucket_connection, FORMAT = 'csv')"


@pytest.fixture(scope="module")
def dsn(engine: Engine, s3: S3) -> Iterator[str]:
    engine.sql(f"CREATE SECRET s3_secret AS '{SECRET_KEY}'")
    engine.sql(
        f"CREATE CONNECTION bucket_connection TO AWS (ACCESS KEY ID = '{ACCESS_KEY}',"
        f" SECRET ACCESS KEY = SECRET s3_secret, ENDPOINT = '{s3.endpoint}', REGION = 'us')"
    )
    listening = Server(host="127.0.0.1", port=0, open_session=engine.open_session)
    listening.start()
    yield f"postgresql://materialize@127.0.0.1:{listening.port}/materialize"
    listening.stop(5.0)


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy_to, "_SAY_SECONDS", 0.02)


def test_progress_is_told_while_it_runs(dsn: str, s3: S3) -> None:
    bucket = s3.make_bucket("progress")
    told: list[str] = []
    seen: list[tuple[object, ...]] = []
    with psycopg.connect(dsn, autocommit=True) as client, psycopg.connect(dsn, autocommit=True) as other:
        [pid] = client.execute("SELECT pg_backend_pid()").fetchone() or ()

        def hear(notice: psycopg.errors.Diagnostic) -> None:
            told.append(notice.message_primary or "")
            seen.extend(other.execute("SELECT pid, command FROM pg_stat_progress_copy").fetchall())

        client.add_notice_handler(hear)
        done = client.execute(f"COPY {LONG} TO 's3://{bucket}/p' {OPTIONS}")
        assert done.statusmessage == "COPY 400000"
        assert other.execute("SELECT count(*) FROM pg_stat_progress_copy").fetchone() == (0,)
    assert told
    assert told[0].endswith(f"bytes are complete in s3://{bucket}/p")
    assert (pid, "COPY TO") in seen
    names = list(s3.objects(bucket))
    assert names
    assert not any("INCOMPLETE" in name for name in names)


def test_whoever_cancels_it_gets_the_path_blocked(dsn: str, s3: S3) -> None:
    bucket = s3.make_bucket("cancelled")
    with psycopg.connect(dsn, autocommit=True) as client:

        def end(_: psycopg.errors.Diagnostic) -> None:
            client.cancel_safe()  # `cancel` holds Python's lock, and so the server too

        client.add_notice_handler(end)
        with pytest.raises(psycopg.errors.QueryCanceled):
            client.execute(f"COPY {LONG} TO 's3://{bucket}/p' {OPTIONS}")
        client.remove_notice_handler(end)
        assert any(name.endswith("INCOMPLETE") for name in s3.objects(bucket))
        assert client.execute("SELECT count(*) FROM pg_stat_progress_copy").fetchone() == (0,)
        client.execute(f"COPY (SELECT 1) TO 's3://{bucket}/again' {OPTIONS}")  # the session goes on


def test_one_who_waits_in_silence_finds_it_in_the_notices(engine: Engine, dsn: str, s3: S3) -> None:
    bucket = s3.make_bucket("silence")
    [result] = engine.session().sql(f"COPY {LONG} TO 's3://{bucket}/p' {OPTIONS}")
    assert result.tag == "COPY 400000"
    assert result.notices
