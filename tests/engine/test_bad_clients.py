"""Whatever a client does, the engine answers or hangs up, keeps nothing of it, and a good client notices nothing.

The same is noticed to be wrong when a defence is off: each one is switched off in turn.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator

import psutil
import psycopg
import pytest
from pyspark.sql import SparkSession

from engine.bad_clients import SEED, Plot, beside, crowd
from tailrace.engine.engine import Engine
from tailrace.engine.session import EngineSession
from tailrace.engine.sessions import Sessions
from tailrace.server import connection, fields, intake
from tailrace.server.cancel import CancelKeys
from tailrace.server.connection import Connection
from tailrace.server.framing import Framer
from tailrace.server.listener import Server
from tailrace.server.portals import Portal, RowStream
from tailrace.server.session import WireSession
from tailrace.ticks.loop import Pace

CLIENTS = int(os.environ.get("TAILRACE_FUZZ_CLIENTS") or 240)
_PATIENCE = 60.0
_MOST_UNREAD = 4 << 20  # bytes of one client that is there; when it has gone, what the kernel holds is read at once
_MOST_UNSENT = 2 << 20  # bytes to one client
has_hung_up = intake._has_hung_up
_KEPT = (Connection, WireSession, Portal, RowStream)


class GoodClient:
    """Writes and follows a table of its own all the while."""

    def __init__(self, server: Server) -> None:
        self._dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
        self._is_over = threading.Event()
        self.wrong: list[BaseException] = []
        self.seen: list[int] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001  told by the test
            self.wrong.append(error)

    def _work(self) -> None:
        connect, seen = lambda: psycopg.connect(self._dsn, autocommit=True), self.seen
        with connect() as writer, connect() as reader:
            [(first,)] = writer.execute("SELECT count(*) FROM good_rows").fetchall()
            reader.execute("BEGIN")
            reader.execute("DECLARE c CURSOR FOR SUBSCRIBE good_rows WITH (SNAPSHOT = false)")
            reader.execute("FETCH 1 c WITH (TIMEOUT '0s')")
            while not self._is_over.is_set():
                writer.execute("INSERT INTO good_rows VALUES (%s)", (first + len(seen),))
                seen.extend(k for _, _, k in reader.execute("FETCH 1 c").fetchall())
                assert seen == list(range(first, first + len(seen)))
                assert writer.execute("SELECT %s::int + 1", (len(seen),)).fetchone() == (len(seen) + 1,)

    def stop(self, patience: float) -> None:
        self._is_over.set()
        self._thread.join(patience)


class Watch:
    """What the server has held of a client at most, in bytes."""

    def __init__(self, server: Server) -> None:
        self._server, self._is_over = server, threading.Event()
        self.unread = self.unsent = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._is_over.wait(0.01):
            for each in list(self._server._connections.values()):
                unread, ours = each._framer.held, each._writer.get_extra_info("socket")
                if ours.fileno() >= 0 and not has_hung_up(ours):
                    self.unread = max(self.unread, unread)
                self.unsent = max(self.unsent, each._writer.transport.get_write_buffer_size())

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()


def held(engine: Engine, server: Server) -> Counter[str]:
    """Everything that a client may leave behind."""
    gc.collect()
    assert server._loop is not None
    workers = server._shared.workers
    threads = [each for each in threading.enumerate() if getattr(each, "_target", None) == workers._work]
    counts = {
        "sessions": len(engine.sessions.open()),
        "subscriptions": len(engine.sessions._following),
        "deliveries": len(engine.cluster.deliveries),
        "pinned ticks": len(engine.cluster.pins),
        "connections": len(server._connections),
        "keys": len(server._shared.keys._open),
        "tasks": len(asyncio.all_tasks(server._loop)),
        "sockets": sum(each.laddr.port == server.port for each in psutil.Process().net_connections("tcp")),
        "busy workers": len(threads) - len(workers._idle),
        "watches": sum(each.name == "statement-watch" for each in threading.enumerate()),
    }
    objects = Counter(type(each).__name__ for each in gc.get_objects() if isinstance(each, _KEPT))
    return Counter(counts) + objects


def expect_nothing_more(engine: Engine, server: Server, before: Counter[str], patience: float) -> None:
    deadline = time.monotonic() + patience
    while more := held(engine, server) - before:
        assert time.monotonic() < deadline, f"left behind: {dict(more)}, seed {SEED}"
        time.sleep(0.05)


def expect_no_errors(caplog: pytest.LogCaptureFixture) -> None:
    told = [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR]
    assert told == [], f"seed {SEED}"


def besiege(engine: Engine, server: Server, caplog: pytest.LogCaptureFixture, clients: int, patience: float) -> None:
    """Raises AssertionError if anybody was harmed, or anything is left."""
    before = held(engine, server)
    watch, good, plot = Watch(server), GoodClient(server), Plot(server, patience)
    wrong: list[BaseException] = []
    try:
        beside(plot.act, lambda: wrong.extend(crowd(server.port, clients, patience)))
        good.stop(patience)
        watch.stop()
        wrong += plot.wrong + good.wrong
        assert not wrong, f"{wrong[0]!r} {getattr(wrong[0], '__notes__', '')} and {len(wrong) - 1} more, seed {SEED}"
        assert good.seen
        assert watch.unread < _MOST_UNREAD
        assert watch.unsent < _MOST_UNSENT
        expect_no_errors(caplog)
        expect_nothing_more(engine, server, before, patience)
        expect_no_errors(caplog)
    finally:
        watch.stop()
        good.stop(patience)
        plot.leave()


@pytest.fixture
def besieged(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Engine, Server]]:
    """A server that waits for first words as long as a test can, and an engine with three tables."""
    monkeypatch.setattr(connection, "_STARTUP_SECONDS", 2.0)
    with Engine(spark, pace=Pace(interval=0.02)) as engine:
        engine.sql("CREATE TABLE bad_rows (k int); CREATE TABLE good_rows (k int); CREATE TABLE still_rows (k int)")
        engine.sql("INSERT INTO still_rows VALUES (1), (2)")
        engine.settle()
        server = Server(host="127.0.0.1", port=0, open_session=engine.open_session)
        server.start()
        yield engine, server
        server.stop(1.0)


def test_no_client_harms_the_server_or_another_client(
    besieged: tuple[Engine, Server], caplog: pytest.LogCaptureFixture
) -> None:
    besiege(*besieged, caplog, CLIENTS, _PATIENCE)


async def _nothing(*_: object) -> None: ...


def _whole_or_none(reader: fields.Reader, size: int) -> bytes:
    reader._at += size
    return reader._data[reader._at - size : reader._at]


DEFENCES: dict[str, tuple[object, str, object]] = {
    "a limit of the start-up": (connection, "_STARTUP_SECONDS", None),
    "limits of lengths": (Framer, "_limit_of", lambda *_: 2**31),
    "a limit of reading ahead": (intake, "_AHEAD", 2**31),
    "a look whether a client is there that is not read": (intake, "_has_hung_up", lambda _: False),
    "a limit of what waits to be sent": (connection, "_BUFFER", 2**31),
    "an end of statements whose client has gone": (connection, "_GRACE_SECONDS", None),
    "an interruption of what still runs": (Connection, "_interrupt", _nothing),
    "a limit of the farewell": (connection, "_FAREWELL_SECONDS", None),
    "secrets of cancels": (CancelKeys, "find", lambda keys, pid, _: keys._open.get(pid, (b"", None))[1]),
    "keys that end": (CancelKeys, "revoke", lambda *_: None),
    "sizes of fields": (fields.Reader, "take", _whole_or_none),
    "sessions that close": (WireSession, "close", lambda _: None),
    "sessions that are forgotten": (Sessions, "remove", lambda *_: None),
    "subscriptions that end": (Sessions, "unfollow", lambda *_: None),
    "transactions that end": (EngineSession, "end_transaction", lambda _: None),
}


@pytest.mark.slow
@pytest.mark.parametrize("defence", DEFENCES)
def test_it_is_noticed_without(
    defence: str,
    besieged: tuple[Engine, Server],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as off:
        off.setattr(*DEFENCES[defence])
        with pytest.raises(AssertionError) as noticed:
            besiege(*besieged, caplog, 60, 8.0)
        print(noticed.value)  # noqa: T201  says why, with `pytest -s`
        besieged[1].stop(1.0)
