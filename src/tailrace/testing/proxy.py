"""A TCP proxy before a real server, which can lose the answer to a request: the server has done it, nobody knows.

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
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def lose_answer_to(self, words: bytes) -> None:
        """The next request with these words reaches the server; its answer ends the connection instead of arriving."""
        self._words = words

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
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                with self._lock:
                    self._open |= {client, server}
                doomed = threading.Event()
                for pair in ((client, server, doomed, True), (server, client, doomed, False)):
                    threading.Thread(target=self._pass, args=pair, name="proxy", daemon=True).start()

    def _pass(self, origin: socket.socket, to: socket.socket, doomed: threading.Event, asks: bool) -> None:
        with contextlib.suppress(OSError):
            while data := origin.recv(_CHUNK):
                if asks:
                    self.asked.append(data)
                if asks and self._words is not None and self._words in data:
                    self._words = None
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
