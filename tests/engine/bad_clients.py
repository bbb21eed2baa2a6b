"""Clients that send anything: mutated messages, wrong orders, made-up lengths, half-closed and abandoned sockets.

The crowd says at random what comes to its mind.  Each of the plotters is after one defence of the server, which
chance would seldom try, or never notice.  TAILRACE_FUZZ_SEED repeats a run's choices.
"""

from __future__ import annotations

import itertools
import os
import random
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from tailrace.server import messages as wire
from tailrace.server.listener import Server
from tailrace.server.messages import Message, encode

SEED = int(os.environ.get("TAILRACE_FUZZ_SEED") or secrets.randbelow(10**9))
_BESIDE = 8  # bad clients at a time

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

    def __init__(self, port: int, seed: str, patience: float) -> None:
        self.rng = random.Random(seed)
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=patience)

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
        with suppress(OSError):  # the server has hung up already
            self.socket.shutdown(socket.SHUT_WR)
        read_to_the_end(self.socket)

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


def read_to_the_end(client: socket.socket) -> None:
    """Raises TimeoutError if the server neither answers nor hangs up."""
    with suppress(ConnectionError):
        while client.recv(65536):
            pass


def crowd(port: int, clients: int, patience: float) -> list[BaseException]:
    """All bad clients, some at a time.  What went wrong on their side, which must be nothing."""
    numbers = iter(range(clients))
    lock, wrong = threading.Lock(), list[BaseException]()

    def work() -> None:
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            try:
                BadClient(port, f"{SEED}/{number}", patience).run()
            except Exception as error:  # noqa: BLE001  told by the test
                error.add_note(f"client {number}")
                wrong.append(error)

    beside(*[work] * _BESIDE)
    return wrong


def beside(*calls: Callable[[], None]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Plotter:
    """A client that does one bad thing.  It stays until it is told to leave, after the server has been looked at."""

    def __init__(self, server: Server, patience: float) -> None:
        self.server = server
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(patience)
        self.socket.connect(("127.0.0.1", server.port))

    def act(self) -> None:
        raise NotImplementedError

    def greet(self) -> None:
        self.socket.sendall(encode(STARTUP))
        self.until_ready()

    def until_ready(self) -> None:
        end = encode(wire.ReadyForQuery(b"I"))
        heard = b""
        while not heard.endswith(end):
            heard = heard[-len(end) :] + self._heard()

    def _heard(self) -> bytes:
        if not (heard := self.socket.recv(65536)):
            raise ConnectionError("the server has hung up")
        return heard

    def send(self, *messages: Message) -> None:
        self.socket.sendall(b"".join(map(encode, messages)))

    def connection(self) -> Any:
        """The server's side of it."""
        mine = self.socket.getsockname()
        for each in list(self.server._connections.values()):
            if each._writer.get_extra_info("peername") == mine:
                return each
        raise ConnectionError("the server has hung up")

    def unsent(self) -> int:
        """Bytes that the server has for us and cannot send."""
        return int(self.connection()._writer.transport.get_write_buffer_size())

    def wait_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + (self.socket.gettimeout() or 0)
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError
            time.sleep(0.005)

    def hears_the_end(self) -> None:
        read_to_the_end(self.socket)


class Silent(Plotter):
    """Never says who it is."""

    def act(self) -> None:
        self.hears_the_end()


class Hesitant(Plotter):
    """Begins to say who it is."""

    def act(self) -> None:
        self.socket.sendall(encode(STARTUP)[:-3])
        self.hears_the_end()


class Boaster(Plotter):
    """Announces a message that is larger than any may be, and waits."""

    def act(self) -> None:
        self.greet()
        self.socket.sendall(b"Q" + struct.pack(">i", 2**31 - 1))
        self.hears_the_end()


class SmallBoaster(Plotter):
    """Announces a Sync of many bytes, which a query may have."""

    def act(self) -> None:
        self.greet()
        self.socket.sendall(b"S" + struct.pack(">i", 10_000_000))
        self.hears_the_end()


class EarlyBoaster(Plotter):
    """The same in its first words."""

    def act(self) -> None:
        self.socket.sendall(struct.pack(">i", 1_000_000))
        self.hears_the_end()


class Liar(Plotter):
    """Sends a parameter that says to be longer than its message."""

    def act(self) -> None:
        self.greet()
        body = b"\0\0" + struct.pack(">hhi", 0, 1, 100) + b"abc"
        self.socket.sendall(b"B" + struct.pack(">i", len(body) + 4) + body)
        self.hears_the_end()


class Flooder(Plotter):
    """Sends without end while its statement runs, and leaves before anybody has read it."""

    def act(self) -> None:
        self.greet()
        self.send(wire.Query("SUBSCRIBE still_rows"))
        self.socket.settimeout(0.5)
        with suppress(TimeoutError):
            for _ in range(32):
                self.socket.sendall(encode(wire.CopyData(bytes(1 << 20))))
        self.socket.close()


class NonReader(Plotter):
    """Asks for more than anybody should keep for it, and never reads."""

    def act(self) -> None:
        self.greet()
        self.send(wire.Query("SELECT repeat('x', 1000) FROM generate_series(1, 40000)"))
        self.wait_until(lambda: self.unsent() > 0)
        time.sleep(1.0)
        self.socket.close()


class Lingerer(Plotter):
    """Says goodbye when the server has a little to send that nobody reads, and stays."""

    def act(self) -> None:
        self.greet()
        for asked in itertools.count():
            if self.unsent():
                break
            self.send(wire.Query(f"SELECT repeat('x', 100000); SET application_name = '{asked}'"))
            self.wait_until(partial(self.has_answered, asked))
        self.send(wire.Terminate())

    def has_answered(self, asked: int) -> bool:
        return bool(self.connection()._session.engine.variable("application_name") == str(asked))


class Canceller(Plotter):
    """Knows everybody's number, and nobody's secret."""

    def act(self) -> None:
        until = time.monotonic() + 2.0
        while time.monotonic() < until:
            for pid in list(self.server._shared.keys._open):
                with socket.create_connection(("127.0.0.1", self.server.port)) as request:
                    request.sendall(encode(wire.CancelRequest(wire.CANCEL_CODE, pid, b"1234")))
                    read_to_the_end(request)


class Abandoner(Plotter):
    """Leaves a transaction open, with a cursor, a portal half read, and a subscription."""

    def act(self) -> None:
        self.greet()
        self.send(
            wire.Query("BEGIN"),
            wire.Query("DECLARE c CURSOR FOR SUBSCRIBE still_rows"),
            wire.Query("FETCH 1 c"),
            wire.Parse("s", "SELECT * FROM still_rows", ()),
            wire.Bind("p", "s", (), (), ()),
            wire.Execute("p", 1),
            wire.Sync(),
        )
        self.socket.shutdown(socket.SHUT_WR)
        self.hears_the_end()


PLOTTERS: tuple[type[Plotter], ...] = (
    *(Silent, Hesitant, Boaster, SmallBoaster, EarlyBoaster, Liar, Flooder, NonReader, Lingerer, Canceller, Abandoner),
)


class Plot:
    """All plotters at once."""

    def __init__(self, server: Server, patience: float) -> None:
        self._plotters = [kind(server, patience) for kind in PLOTTERS]
        self.wrong: list[BaseException] = []

    def act(self) -> None:
        beside(*(partial(self._act, each) for each in self._plotters))

    def _act(self, plotter: Plotter) -> None:
        try:
            plotter.act()
        except ConnectionError:
            pass
        except Exception as error:  # noqa: BLE001  told by the test
            error.add_note(type(plotter).__name__)
            self.wrong.append(error)

    def leave(self) -> None:
        for plotter in self._plotters:
            plotter.socket.close()
