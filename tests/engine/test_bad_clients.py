"""Clients that send anything: mutated messages, wrong orders, made-up lengths, half-closed and abandoned sockets.

Whatever they do, the engine answers or hangs up, keeps nothing of theirs, and a good client beside them notices
nothing.  TAILRACE_FUZZ_SEED repeats a run's choices, TAILRACE_FUZZ_CLIENTS makes more of them.
"""

from __future__ import annotations

import logging
import os
import random
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import psutil
import psycopg
import pytest

from tailrace.engine.engine import Engine
from tailrace.server import messages as wire
from tailrace.server.listener import Server
from tailrace.server.messages import Message, encode

SEED = int(os.environ.get("TAILRACE_FUZZ_SEED") or secrets.randbelow(10**9))
CLIENTS = int(os.environ.get("TAILRACE_FUZZ_CLIENTS") or 240)
_BESIDE = 8  # bad clients at a time
_PATIENCE = 60.0

STARTUP = wire.StartupMessage(3 << 16, (("user", "materialize"), ("database", "materialize")))
TEXTS = (
    "SELECT 1",
    "SELECT * FROM mz_objects",
    "SELECT n FROM generate_series(1, 20000) AS n",
    "SELECT $1::int, $2::text",
    "SELECT nope",
    "BEGIN",
    "COMMIT",
    "INSERT INTO bad_rows VALUES (1)",
    "DECLARE c CURSOR FOR SUBSCRIBE bad_rows WITH (PROGRESS)",
    "FETCH 5 c WITH (TIMEOUT '0s')",
    "SUBSCRIBE bad_rows",
    "COPY (SUBSCRIBE bad_rows) TO STDOUT",
    "COPY bad_rows FROM STDIN",
    "COPY (SELECT n FROM generate_series(1, 20000) AS n) TO STDOUT",
    "PREPARE p AS SELECT $1::int; EXECUTE p(1); DEALLOCATE p",
    "SET application_name = 'bad'; SHOW ALL",
    "",
    ";;",
)


def message(rng: random.Random) -> Message:
    """A message that is right in itself."""
    name = rng.choice(["", "a", "b"])
    kind = rng.choice([b"S", b"P"])
    values = tuple(rng.choice([b"1", b"x", None, b"\0\0\0\1"]) for _ in range(rng.randrange(3)))
    formats = tuple(rng.randrange(2) for _ in range(rng.randrange(2)))
    return rng.choice(
        (
            wire.Query(rng.choice(TEXTS)),
            wire.Query(rng.choice(TEXTS)),
            wire.Parse(name, rng.choice(TEXTS), rng.choice([(), (23,), (23, 25), (99999,)])),
            wire.Bind(name, rng.choice(["", "a"]), formats, values, formats),
            wire.Describe(kind, name),
            wire.Execute(name, rng.choice([0, 1, 100])),
            wire.Close(kind, name),
            wire.Sync(),
            wire.Flush(),
            wire.CopyData(b"1\n2\nx\n"),
            wire.CopyDone(),
            wire.CopyFail("no more"),
            wire.FunctionCall(b"\0\0\0\1"),
            wire.PasswordMessage(b"secret\0"),
            STARTUP,
            wire.CancelRequest(wire.CANCEL_CODE, rng.randrange(1000), b"1234"),
        )
    )


def conversation(rng: random.Random) -> bytes:
    said = bytearray(b"".join(encode(message(rng)) for _ in range(rng.randrange(1, 8))))
    for _ in range(rng.choice([0, 0, 1, 2, 8])):
        mutate(rng, said)
    return bytes(said)


def mutate(rng: random.Random, said: bytearray) -> None:
    """One thing about the bytes becomes wrong."""
    at = rng.randrange(len(said) + 1)
    match rng.randrange(6):
        case 0 if said:
            said[at % len(said)] = rng.randrange(256)
        case 1:
            del said[at : at + rng.randrange(1, 10)]
        case 2:
            said[at:at] = rng.randbytes(rng.randrange(1, 10))
        case 3:
            said[at:at] = said[: rng.randrange(len(said) + 1)]
        case 4:  # a length that is none
            length = rng.choice([0, 3, -1, 2**31 - 1, 2**30, -(2**31), 70_000_000])
            said[at:at] = rng.choice(b"QPBDECXdFp").to_bytes(1, "big") + struct.pack(">i", length)
        case 5:
            del said[at:]


class BadClient:
    """Speaks, in one of several bad manners, and sees to it that the server has hung up."""

    def __init__(self, port: int, seed: str) -> None:
        self.rng = random.Random(seed)
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE)

    def run(self) -> None:
        with self.socket:
            manner = self.rng.choice([self.half_close, self.half_close, self.reset, self.stop_reading, self.stutter])
            with suppress(ConnectionError):
                self.socket.sendall(self.first_words())
                manner(conversation(self.rng))

    def first_words(self) -> bytes:
        encryption = encode(wire.EncryptionRequest(self.rng.choice([wire.SSL_CODE, wire.GSS_CODE])))
        return self.rng.choice(
            (encode(STARTUP),) * 6 + (b"", encryption, encryption + encode(STARTUP), self.rng.randbytes(20))
        )

    def half_close(self, said: bytes) -> None:
        self.socket.sendall(said)
        self.socket.shutdown(socket.SHUT_WR)
        self.read_to_the_end()

    def reset(self, said: bytes) -> None:
        self.socket.sendall(said)
        time.sleep(self.rng.uniform(0, 0.05))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def stop_reading(self, said: bytes) -> None:
        """Asks for more than it takes."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.sendall(encode(wire.Query("SELECT n, 'x' FROM generate_series(1, 50000) AS n")) + said)
        time.sleep(self.rng.uniform(0, 0.2))

    def stutter(self, said: bytes) -> None:
        for at in range(0, min(len(said), 200), 7):
            self.socket.sendall(said[at : at + 7])
        self.half_close(b"")

    def read_to_the_end(self) -> None:
        """Raises TimeoutError if the server neither answers nor hangs up."""
        while self.socket.recv(65536):
            pass


def crowd(port: int) -> list[BaseException]:
    """All bad clients, some at a time.  What went wrong on their side, which must be nothing."""
    numbers = iter(range(CLIENTS))
    lock, wrong = threading.Lock(), []

    def work() -> None:
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            try:
                BadClient(port, f"{SEED}/{number}").run()
            except Exception as error:  # noqa: BLE001  told by the test
                error.add_note(f"client {number}")
                wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(_BESIDE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


@pytest.fixture
def good_client(server: Server) -> Iterator[Callable[[], int]]:
    """Writes and follows a table of its own all the while; asked in the end, says how many rows it has seen."""
    dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
    is_over, failures, seen = threading.Event(), [], []

    def work() -> None:
        try:
            with psycopg.connect(dsn, autocommit=True) as writer, psycopg.connect(dsn, autocommit=True) as reader:
                reader.execute("BEGIN")
                reader.execute("DECLARE c CURSOR FOR SUBSCRIBE good_rows")
                while not is_over.is_set():
                    writer.execute("INSERT INTO good_rows VALUES (%s)", (len(seen),))
                    seen.extend(k for _, _, k in reader.execute("FETCH 1 c").fetchall())
                    assert seen == list(range(len(seen)))
                    assert writer.execute("SELECT %s::int + 1", (len(seen),)).fetchone() == (len(seen) + 1,)
        except BaseException as error:  # noqa: BLE001  told by the test
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()

    def result() -> int:
        is_over.set()
        thread.join(_PATIENCE)
        assert not thread.is_alive(), "the good client waits for ever"
        assert not failures, failures
        return len(seen)

    yield result
    is_over.set()
    thread.join(_PATIENCE)


def eventually(condition: Callable[[], object], wanted: object) -> None:
    deadline = time.monotonic() + _PATIENCE
    while (found := condition()) != wanted:
        assert time.monotonic() < deadline, f"{found} instead of {wanted}, seed {SEED}"
        time.sleep(0.02)


def test_no_client_harms_the_server_or_another_client(
    engine: Engine,
    server: Server,
    request: pytest.FixtureRequest,
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine.sql("CREATE TABLE bad_rows (k int)")
    engine.sql("CREATE TABLE good_rows (k int)")
    engine.settle()
    deliveries, sockets = set(engine.cluster.deliveries), _sockets(server)
    good_client = request.getfixturevalue("good_client")
    with caplog.at_level(logging.ERROR, logger="tailrace"):
        wrong = crowd(server.port)
        seen = good_client()
    assert not wrong, f"{wrong[0]!r} and {len(wrong) - 1} more, seed {SEED}"
    assert seen > 0
    eventually(lambda: len(engine.sessions.open()), 0)
    eventually(lambda: len(engine.sessions.following()), 0)
    eventually(lambda: set(engine.cluster.deliveries), deliveries)
    eventually(lambda: len(server._connections), 0)
    eventually(lambda: len(server._shared.keys._open), 0)
    eventually(lambda: len(engine.cluster.pins), 0)
    eventually(lambda: _sockets(server), sockets)
    assert [record.getMessage() for record in caplog.records] == [], f"seed {SEED}"


def _sockets(server: Server) -> int:
    """Of this process, on the server's port, that are not closed."""
    return sum(each.laddr.port == server.port for each in psutil.Process().net_connections("tcp"))
