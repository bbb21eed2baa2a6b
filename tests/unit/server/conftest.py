"""A server on a free port with the fake engine behind it, and a client that speaks bare messages."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tailrace.server import Server, StartupInfo
from tailrace.server import messages as wire
from tailrace.server.messages import BACKEND, Message, decode, encode
from unit.server.fake_engine import FakeSession

PATIENCE = 30.0
"""Seconds before a test gives up; nothing waits so long unless it is broken."""


@dataclass
class Running:
    """A server, and the sessions that its clients have opened."""

    server: Server
    sessions: list[FakeSession] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"postgresql://me@127.0.0.1:{self.server.port}/db"

    def raw(self) -> RawClient:
        return RawClient(self.server.port)


class RawClient:
    """Sends messages, also broken ones, and reads whatever comes back."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._input = self.socket.makefile("rb")
        self.key: wire.BackendKeyData | None = None

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._input.close()
        self.socket.close()

    def send(self, *messages: Message) -> None:
        self.socket.sendall(b"".join(map(encode, messages)))

    def byte(self) -> bytes:
        return self._input.read(1)

    def receive(self) -> Message | None:
        """The next message; None when the server has closed the connection."""
        try:
            header = self._input.read(5)
            if len(header) < 5:
                return None
            return decode(header[:1], self._input.read(int.from_bytes(header[1:], "big") - 4), BACKEND)
        except ConnectionResetError:
            return None

    def until_ready(self) -> list[Message]:
        found: list[Message] = []
        while (message := self.receive()) is not None:
            found.append(message)
            if isinstance(message, wire.ReadyForQuery):
                break
        return found

    def start(self, version: int = 3 << 16, **settings: str) -> list[Message]:
        self.send(wire.StartupMessage(version, (("user", "me"), *settings.items())))
        answers = self.until_ready()
        self.key = next((m for m in answers if isinstance(m, wire.BackendKeyData)), None)
        return answers

    def ask(self, text: str) -> list[Message]:
        self.send(wire.Query(text))
        return self.until_ready()


StartServer = Callable[..., Running]


@pytest.fixture
def start_server(caplog: pytest.LogCaptureFixture) -> Iterator[StartServer]:
    """Starts servers, and stops them after the test.  None may leave a task that nobody looked after."""
    started: list[Server] = []

    def start(**options: Any) -> Running:
        sessions: list[FakeSession] = []

        def open_session(startup: StartupInfo) -> FakeSession:
            sessions.append(FakeSession(startup))
            return sessions[-1]

        server = Server(**{"host": "127.0.0.1", "port": 0, "open_session": open_session} | options)
        server.start()
        started.append(server)
        return Running(server, sessions)

    yield start
    for server in started:
        server.stop(5)
    assert [record for record in caplog.records if record.name == "asyncio"] == []


@pytest.fixture
def running(start_server: StartServer) -> Running:
    return start_server()
