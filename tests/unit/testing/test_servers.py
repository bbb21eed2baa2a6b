"""The servers that sinks are tested with keep what was committed when they are killed, and go with their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest

from tailrace.testing.postgres import Postgres
from tailrace.testing.redis import Redis
from tailrace.testing.server import ServerFailed


def test_postgres_keeps_what_was_committed_through_a_kill() -> None:
    with Postgres() as server:
        with server.connect() as connection:
            connection.execute("CREATE TABLE kept (a int)")
            connection.execute("INSERT INTO kept VALUES (1)")
        server.kill()
        server.start()
        with server.connect() as connection:
            assert connection.execute("SELECT a FROM kept").fetchall() == [(1,)]
    with pytest.raises(ServerFailed):
        _ = server.url


def test_redis_keeps_what_was_written_through_a_kill() -> None:
    with Redis() as server:
        with server.connect() as client:
            client.set("kept", "1")
        server.kill()
        server.start()
        with server.connect() as client:
            assert client.get("kept") == b"1"
    with pytest.raises(ServerFailed):
        _ = server.url


PARENT = """
import sys, time
from tailrace.testing.postgres import Postgres
from tailrace.testing.redis import Redis
postgres, redis = Postgres().start(), Redis().start()
print(postgres.pid, redis.pid, flush=True)
time.sleep(600)
"""


def test_they_end_with_a_parent_that_was_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        servers = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
        assert len(servers) == 2
        parent.send_signal(signal.SIGKILL)
        _, alive = psutil.wait_procs(servers, timeout=60)
        assert not alive


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody is told of a parent's death")
def test_postgres_ends_with_a_supervisor_that_was_killed() -> None:
    with Postgres() as server:
        process = psutil.Process(server.pid)
        supervisor = process.ppid()
        os.kill(supervisor, signal.SIGKILL)
        _, alive = psutil.wait_procs([process], timeout=60)
        assert not alive
