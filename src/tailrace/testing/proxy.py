"""A TCP proxy before a real server, which can lose a request, or the answer to it: the client cannot tell which.

    with Proxy(server.port) as proxy:
        client = connect(port=proxy.port)
        proxy.lose_answer_to(b"COMMIT")
"""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

_CHUNK = 1 << 16


class Proxy:
    """Listens on `port` of the loopback interface and passes everything on to `target`."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.lost = 0
        self.asked: list[bytes] = []  # every piece that clients sent
        self._words: bytes | None = None
        self._arrives = True
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def lose_answer_to(self, words: bytes) -> None:
        """The next request with these words reaches the server; its answer ends the connection instead of arriving."""
        self._words, self._arrives = words, True

    def reset_at(self, words: bytes) -> None:
        """The next request with these words ends the connection, and the server never hears of it."""
        self._words, self._arrives = words, False

    def stop(self) -> None:
        with contextlib.suppress(OSError):  # wakes the thread that waits in accept
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for each in self._open:
                _end(each)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._accepted(self._listener.accept()[0])
                if client is None:
                    continue
                server = socket.create_connection(("127.0.0.1", self._target))
                with self._lock:
                    self._open |= {client, server}
                doomed = threading.Event()
                for pair in ((client, server, doomed, True), (server, client, doomed, False)):
                    threading.Thread(target=self._pass, args=pair, name="proxy", daemon=True).start()

    def _accepted(self, client: socket.socket) -> socket.socket | None:
        """What a client is spoken to through; None if it is not to be spoken to."""
        return client

    def _pass(self, origin: socket.socket, to: socket.socket, doomed: threading.Event, asks: bool) -> None:
        with contextlib.suppress(OSError):
            while data := origin.recv(_CHUNK):
                if asks:
                    self.asked.append(data)
                if asks and self._words is not None and self._words in data:
                    self._words = None
                    if not self._arrives:
                        self.lost += 1
                        break
                    doomed.set()
                elif not asks and doomed.is_set():
                    self.lost += 1
                    break
                to.sendall(data)
        for each in (origin, to):
            _end(each)


def _end(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
