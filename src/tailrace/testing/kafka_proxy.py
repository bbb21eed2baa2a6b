"""A proxy before a Kafka broker that knows where a request begins: it can hold one back and deliver it late, lose it,
or lose the answer to it.

    proxy = KafkaProxy()
    with Broker(properties={"advertised.listeners": f"PLAINTEXT://{proxy.address}"}) as broker:
        proxy.serve(broker.bootstrap)
        proxy.hold(END_TXN)
        …                      # the request is on its way, for as long as one likes
        proxy.release()
        proxy.disturb(Trouble(chance=0.02))
        …                      # one request in fifty is late, lost, or never answered
        proxy.calm()

Clients that ask the broker where it is come to the proxy; the broker's own address leads past it.
"""

import contextlib
import random
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

END_TXN = 26
"""The request that commits or aborts a transaction."""

_CHUNK = 1 << 16
_LONGEST_HOLD_SECONDS = 120.0
_LONGEST_DELAY_SECONDS = 1.5

LATE, LOST, UNANSWERED = "late", "lost", "unanswered"


@dataclass(frozen=True, kw_only=True, slots=True)
class Trouble:
    """What becomes of requests.  `chance`: of each to be in for it.  `only`: of these kinds; None: of any."""

    chance: float
    kinds: tuple[str, ...] = (LATE, LOST, UNANSWERED)
    only: Collection[int] | None = None

    def fate(self, api: int, draw: random.Random) -> str | None:
        if (self.only is not None and api not in self.only) or draw.random() >= self.chance:
            return None
        return draw.choice(self.kinds)


class KafkaProxy:
    """Listens at `address`; what arrives before `serve` waits."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._target: tuple[str, int] | None = None
        self._served = threading.Event()
        self._wanted: int | None = None
        self._is_held = threading.Event()
        self._may_go = threading.Event()
        self._has_gone = threading.Event()
        self.met: Counter[str] = Counter()  # how many requests had which fate
        self._trouble: Trouble | None = None
        self._draw = random.Random(17)
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, name="kafka-proxy", daemon=True).start()

    def serve(self, bootstrap: str) -> None:
        """Passes everything on to this broker."""
        host, _, port = bootstrap.rpartition(":")
        self._target = (host, int(port))
        self._served.set()

    def hold(self, api: int) -> None:
        """The next request of this kind stays here, and what its client says after it on the same connection."""
        self._wanted = api

    def wait_until_held(self) -> bool:
        return self._is_held.wait(_LONGEST_HOLD_SECONDS)

    def release(self) -> None:
        """Delivers the request, whether or not its client still listens.  Returns when the broker has it."""
        self._may_go.set()
        assert self._has_gone.wait(_LONGEST_HOLD_SECONDS)

    def disturb(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def calm(self) -> None:
        """Passes on all that comes from now on."""
        self._trouble = None

    def stop(self) -> None:
        self._served.set()
        self._may_go.set()
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._served.wait()
                server = self._reached()
                if server is None:
                    client.close()
                    continue
                self._open |= {client, server}
                threading.Thread(target=self._ask, args=(client, server), name="kafka-proxy", daemon=True).start()
                threading.Thread(target=_answer, args=(server, client), name="kafka-proxy", daemon=True).start()

    def _reached(self) -> socket.socket | None:
        """A connection to the broker, unless it is down."""
        with contextlib.suppress(OSError):
            return None if self._target is None else socket.create_connection(self._target)
        return None

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            for request in _requests(client):
                api = struct.unpack(">h", request[4:6])[0]
                fate = self._trouble.fate(api, self._draw) if self._trouble is not None else None
                if fate is not None:
                    self.met[fate] += 1
                if fate == LOST:
                    break
                if fate == LATE:
                    time.sleep(self._draw.uniform(0.0, _LONGEST_DELAY_SECONDS))
                if fate == UNANSWERED:
                    _end(client)  # before the answer can come
                if api == self._wanted:
                    self._wanted = None
                    self._is_held.set()
                    self._may_go.wait(_LONGEST_HOLD_SECONDS)
                    server.sendall(request)
                    self._has_gone.set()
                else:
                    server.sendall(request)
                if fate == UNANSWERED:
                    break
            else:
                server.shutdown(socket.SHUT_WR)
                return
        _end(client)
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_WR)  # reads all that was sent, and then hangs up


def _answer(server: socket.socket, client: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := server.recv(_CHUNK):
            client.sendall(data)  # fails if nobody waits for it
        client.shutdown(socket.SHUT_WR)


def _end(client: socket.socket) -> None:
    with contextlib.suppress(OSError):
        client.shutdown(socket.SHUT_RDWR)


def _requests(client: socket.socket) -> Iterator[bytes]:
    """Each with the four bytes of its size."""
    while size := _exactly(client, 4):
        yield size + _exactly(client, struct.unpack(">i", size)[0])


def _exactly(origin: socket.socket, size: int) -> bytes:
    """Less only at the end."""
    data = bytearray()
    while len(data) < size and (chunk := origin.recv(size - len(data))):
        data += chunk
    return bytes(data)
