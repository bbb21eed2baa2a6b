"""The server: owns the listening sockets and the thread of their event loop.

    server = Server(host="127.0.0.1", port=6875, open_session=engine.session)
    server.start()      # returns when clients can connect; server.port is the port
    server.stop()       # ends every session, and says so to its client

An idle connection costs a socket and some kilobytes, a running statement a thread.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Thread

from tailrace.errors import SqlError, Unavailable
from tailrace.server.auth import Authenticator, Trust
from tailrace.server.cancel import CancelKeys
from tailrace.server.connection import Connection, Shared
from tailrace.server.framing import DEFAULT_LIMIT
from tailrace.server.loopback import addresses_of, is_loopback
from tailrace.server.startup import StartupInfo
from tailrace.server.workers import Workers
from tailrace.statements.contract import Session

log = logging.getLogger("tailrace.server")

_ABORT_SECONDS = 1.0
_BACKLOG = 512


class TooOpen(SqlError):
    """Listening there would let anybody in, or let anybody listen."""

    sqlstate = "55000"


class TooManyConnections(Unavailable):
    sqlstate = "53300"

    def __init__(self) -> None:
        super().__init__("sorry, too many clients already")


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """For a certificate chain and its private key, both PEM."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    return context


class Server:
    """Speaks PostgreSQL's protocol on `host` and `port` (0: any free one); every client gets a session of its
    own.

    `open_session` is called in a worker thread once the client has been let in; what it raises, the client is
    told.  Calls of one session come one at a time, but not always from the same thread.
    """

    def __init__(
        self,
        *,
        host: str,
        port: int,
        open_session: Callable[[StartupInfo], Session],
        authenticator: Authenticator | None = None,
        tls: ssl.SSLContext | None = None,
        max_connections: int = 1000,
        message_limit: int = DEFAULT_LIMIT,
    ) -> None:
        self._host, self._asked_port = host, port
        self._max_connections = max_connections
        self._shared = Shared(
            open_session=open_session,
            authenticator=authenticator or Trust(),
            tls=tls,
            workers=Workers("tailrace-session"),
            keys=CancelKeys(),
            message_limit=message_limit,
        )
        self._connections: dict[asyncio.Task[None], Connection] = {}
        self._thread: Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_within: asyncio.Future[float] | None = None
        self._port: int | None = None

    @property
    def port(self) -> int:
        if self._port is None:
            raise RuntimeError("the server has not been started")
        return self._port

    def start(self) -> None:
        """Returns when clients can connect.  Raises TooOpen, or OSError if the port cannot be had."""
        addresses = addresses_of(self._host)
        self._check_safe(addresses)
        sockets = _bind(addresses, self._asked_port)
        self._port = sockets[0].getsockname()[1]
        started: Future[None] = Future()
        self._thread = Thread(target=self._run, args=(sockets, started), name="tailrace-server", daemon=True)
        self._thread.start()
        started.result()
        log.info("listening host=%s port=%d", self._host, self._port)

    def stop(self, timeout: float = 10.0) -> None:
        """No new clients; running statements are cancelled, every client is told 57P01.  Returns when all is
        closed, or after `timeout` seconds and a little: what will not end by then is abandoned."""
        if self._thread is None or self._loop is None or not self._thread.is_alive():
            return
        self._loop.call_soon_threadsafe(self._request_stop, timeout)
        self._thread.join(timeout + 3 * _ABORT_SECONDS)

    def _check_safe(self, addresses: list[str]) -> None:
        is_protected = self._shared.tls is not None and self._shared.authenticator.needs_password
        if not is_protected and not all(map(is_loopback, addresses)):
            raise TooOpen(
                f'refusing to listen on "{self._host}" without TLS and passwords',
                detail="Other machines can reach this address.",
                hint="Listen on 127.0.0.1, or configure a certificate, its key, and passwords.",
            )

    def _request_stop(self, timeout: float) -> None:
        if self._stop_within is not None and not self._stop_within.done():
            self._stop_within.set_result(timeout)

    def _run(self, sockets: list[socket.socket], started: Future[None]) -> None:
        try:
            asyncio.run(self._main(sockets, started))
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    async def _main(self, sockets: list[socket.socket], started: Future[None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop_within = self._loop.create_future()
        servers = [await asyncio.start_server(self._accept, sock=sock, backlog=_BACKLOG) for sock in sockets]
        started.set_result(None)
        timeout = await self._stop_within
        for server in servers:
            server.close()
        await self._end_connections(timeout)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer, self._shared)
        task = asyncio.current_task()
        assert task is not None
        is_full = len(self._connections) >= self._max_connections
        self._connections[task] = connection
        try:
            _tune(writer.get_extra_info("socket"))
            await (connection.refuse(TooManyConnections()) if is_full else connection.serve())
        finally:
            del self._connections[task]

    async def _end_connections(self, timeout: float) -> None:
        open_now = dict(self._connections)
        for connection in open_now.values():
            connection.stop()
        if not open_now:
            return
        _, stubborn = await asyncio.wait(open_now, timeout=timeout)
        for task in stubborn:
            log.warning("connection abandoned, its statement does not end")
            open_now[task].abort()
            task.cancel()
        if stubborn:
            await asyncio.wait(stubborn, timeout=_ABORT_SECONDS)


def _tune(client: socket.socket) -> None:
    """Notices clients that vanish without a word, and sends small answers at once.

    asyncio would switch Nagle's algorithm off by itself, but not for sockets of `socket.create_server`; with
    it, rows and the end of their statement, sent one after the other, are 40 ms apart.
    """
    client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _bind(addresses: list[str], port: int) -> list[socket.socket]:
    """A socket for each address that this machine has, all on one port."""
    sockets: list[socket.socket] = []
    try:
        for address in addresses:
            if opened := _listen(address, port):
                sockets.append(opened)
                port = opened.getsockname()[1]
        if not sockets:
            raise OSError(errno.EADDRNOTAVAIL, "no such address on this machine", addresses)
    except OSError:
        for opened in sockets:
            opened.close()
        raise
    return sockets


def _listen(address: str, port: int) -> socket.socket | None:
    """None if this machine does not have the address: `localhost` has one of IPv6, the machine often none."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            return None
        raise
