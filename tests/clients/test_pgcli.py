"""pgcli: its completion, which asks the whole catalog, and its command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tailrace.server.listener import Server

if find_spec("pgcli") is None:
    pytest.skip("pgcli is not installed: `make setup` does it", allow_module_level=True)

_SECONDS = 120


@pytest.fixture
def connection(dsn: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


def pgcli(server: Server, home: Path, *commands: str) -> subprocess.Popen[str]:
    address = ["-h", "127.0.0.1", "-p", str(server.port), "-U", "materialize", "-w", "materialize"]
    wanted = [word for command in commands for word in ("-c", command)]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(home), "TERM": "dumb", "PAGER": "cat", "TZ": "UTC"}
    return subprocess.Popen(
        [sys.executable, "-m", "pgcli.main", "--less-chatty", "-y", *address, *wanted],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )


def test_the_command_line_defines_changes_asks_and_describes(server: Server, tmp_path: Path) -> None:
    running = pgcli(
        server,
        tmp_path,
        "CREATE TABLE pgcli_bids (item int NOT NULL, note text)",
        "INSERT INTO pgcli_bids VALUES (1, 'first'), (2, NULL)",
        "CREATE MATERIALIZED VIEW pgcli_count AS SELECT count(*) AS bids_there FROM pgcli_bids",
        "SELECT bids_there FROM pgcli_count",
        r"\dt pgcli*",
        r"\d pgcli_bids",
        r"\dm",
        r"\l",
        r"\dn",
        r"\du",
        "BEGIN; DECLARE c CURSOR FOR SUBSCRIBE pgcli_count",
        "FETCH 1 c",
        "COMMIT",
        "SELECT itm FROM pgcli_bids",
    )
    output, _ = running.communicate(timeout=_SECONDS)
    assert "INSERT 0 2" in output
    assert "bids_there" in output
    assert "| public | pgcli_bids | table | materialize |" in output
    assert "| item   | integer |  not null |" in output
    assert "mz_timestamp" in output
    assert 'column "itm" does not exist' in output
    assert output.count("does not exist") == 1, output


def test_an_interrupted_subscription_is_cancelled(
    server: Server, tmp_path: Path, connection: psycopg.Connection[tuple[Any, ...]]
) -> None:
    connection.execute("CREATE TABLE pgcli_followed (k int)")
    running = pgcli(server, tmp_path, "SUBSCRIBE pgcli_followed")
    try:
        wait_for(connection, "SELECT count(*) > 0 FROM mz_internal.mz_subscriptions", running)
        running.send_signal(signal.SIGINT)
        wait_for(connection, "SELECT count(*) = 0 FROM mz_internal.mz_subscriptions", running)
    finally:
        running.kill()
        running.communicate(timeout=_SECONDS)


def wait_for(
    connection: psycopg.Connection[tuple[Any, ...]], question: str, running: subprocess.Popen[str]
) -> None:
    deadline = time.monotonic() + _SECONDS
    while connection.execute(question.encode()).fetchone() != (True,):
        assert time.monotonic() < deadline, (question, running.poll())
        time.sleep(0.05)


def test_names_are_completed(server: Server, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    from pgcli.completion_refresher import CompletionRefresher
    from pgcli.pgexecute import PGExecute
    from pgspecial.main import PGSpecial
    from prompt_toolkit.document import Document

    connection.execute("CREATE TABLE pgcli_completed (some_column int)")
    connection.execute("CREATE VIEW pgcli_completed_view AS SELECT some_column FROM pgcli_completed")
    executor = PGExecute("materialize", "materialize", "", "127.0.0.1", server.port)
    found: list[Any] = []
    refresher = CompletionRefresher()
    try:
        refresher.refresh(executor, PGSpecial(), found.append, settings={"single_connection": True})
        thread = refresher._completer_thread
        thread.join(_SECONDS)
        [completer] = found

        def completions(text: str) -> set[str]:
            return {each.text for each in completer.get_completions(Document(text), None)}

        assert {"pgcli_completed", "pgcli_completed_view"} <= completions("SELECT * FROM pgcli_com")
        assert "some_column" in completions("SELECT  FROM pgcli_completed WHERE some_")
        assert "mz_sink_statuses" in completions("SELECT * FROM mz_internal.mz_sink_st")
        assert "substring" in {each.split("(")[0].lower() for each in completions("SELECT substri")}
    finally:
        executor.conn.close()
