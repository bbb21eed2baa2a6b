"""One client's socket, from its first byte to its last: reads, lets a worker think, writes, in that order.

The engine is called in worker threads only.  The next rows are asked for when the last ones have left, so a
slow reader costs one piece of memory and no thread.  Whatever a client sends, the worst it gets is its own
end.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from tailrace.errors import TailraceError
from tailrace.server.auth import Authenticator
from tailrace.server.cancel import CancelKeys, Key
from tailrace.server.fields import ProtocolViolation
from tailrace.server.framing import Framer
from tailrace.server.handshake import Handshake
from tailrace.server.intake import Intake
from tailrace.server.messages import Authentication, BackendKeyData, Message, NoticeResponse, RowBlock, encode
from tailrace.server.reports import IdleInTransaction, ShuttingDown, error_response
from tailrace.server.session import WireSession
from tailrace.server.startup import StartupInfo, apply_settings
from tailrace.server.workers import Workers, in_worker
from tailrace.statements.contract import Session

T = TypeVar("T")
log = logging.getLogger("tailrace.server")

_STARTUP_SECONDS = 60.0
_FAREWELL_SECONDS = 2.0
_GRACE_SECONDS = 0.5
_INSIST_SECONDS = 1.0
_BUFFER = 256 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Shared:
    """What the connections of a server have in common."""

    open_session: Callable[[StartupInfo], Session]
    authenticator: Authenticator
    tls: ssl.SSLContext | None
    workers: Workers
    keys: CancelKeys
    message_limit: int


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, shared: Shared) -> None:
        self._writer = writer
        self._reader = reader
        self._shared = shared
        self._framer = Framer(shared.message_limit)
        self._handshake = Handshake(
            reader, writer, self._framer, tls=shared.tls, keys=shared.keys, workers=shared.workers
        )
        self._session: WireSession | None = None
        self._key: Key | None = None
        self._intake: Intake | None = None
        self._replies: Generator[Message] | None = None
        self._call: asyncio.Task[Any] | None = None
        self._interrupting: asyncio.Task[None] | None = None
        self._is_stopping = False
        self._idle_limit: float | None = None
        writer.transport.set_write_buffer_limits(high=_BUFFER)

    async def serve(self) -> None:
        """Returns when the connection has ended, and everything behind it."""
        try:
            await self._serve()
        except OSError:
            pass  # the client has gone, or did not say in time who it is
        except Exception as error:  # noqa: BLE001  # a bad client, or a bug, ends one connection and no more
            await self._farewell(error)
        finally:
            await self._release()

    async def refuse(self, error: TailraceError) -> None:
        """Turns the client away.  It will not listen before it has said its first words."""
        with suppress(OSError, ProtocolViolation):
            async with asyncio.timeout(_FAREWELL_SECONDS):
                if await self._handshake.first_words() is not None:
                    await self._farewell(error)
        self._writer.close()

    def stop(self) -> None:
        """The server ends, or this session: the statement that runs is cancelled, and the client told why."""
        self._is_stopping = True
        if self._session is None or self._intake is None:
            self.abort()
        else:
            self._interrupting = asyncio.create_task(self._interrupt(self._session))
            self._intake.wake()

    def abort(self) -> None:
        """Closes the socket at once; what waits to be sent is lost."""
        self._writer.transport.abort()

    async def _serve(self) -> None:
        async with asyncio.timeout(_STARTUP_SECONDS):
            message = await self._handshake.first_words()
            if message is None:
                return
            startup = await self._handshake.admit(message, self._shared.authenticator)
        session = await self._open(startup)
        self._intake = Intake(self._reader, self._framer, self._writer.get_extra_info("socket"))
        while not session.closed:
            if self._is_stopping:
                raise ShuttingDown
            if batch := self._received():
                await self._answer(session, batch)
            elif self._intake.gone.done():
                return
            else:
                await self._more(self._intake)

    async def _more(self, intake: Intake) -> None:
        """Waits for the client's next word."""
        try:
            async with asyncio.timeout(self._idle_limit):
                await intake.more()
        except TimeoutError:
            raise IdleInTransaction from None

    async def _open(self, startup: StartupInfo) -> WireSession:
        def open_session() -> WireSession:
            self._session = WireSession(self._shared.open_session(startup))
            return self._session

        session = await self._in_worker(open_session)
        cancel, loop = session.interruption.cancel, asyncio.get_running_loop()

        def terminate() -> None:
            loop.call_soon_threadsafe(self.stop)

        pid = session.engine.attach(cancel, terminate)
        self._key = self._shared.keys.issue(pid, cancel, long=startup.takes_long_secrets)
        log.info("session opened pid=%d user=%s address=%s", self._key.pid, startup.user, startup.address)
        key = BackendKeyData(self._key.pid, self._key.secret)
        self._writer.writelines(await self._in_worker(lambda: list(_greeting(session, startup, key))))
        await self._writer.drain()
        return session

    def _received(self) -> list[Message]:
        """All whole messages that have come, to be answered in one go.  What is wrong after them can wait."""
        batch: list[Message] = []
        try:
            while (message := self._framer.next()) is not None:
                batch.append(message)
        except ProtocolViolation:
            if not batch:
                raise
        return batch

    async def _answer(self, session: WireSession, batch: list[Message]) -> None:
        self._replies = replies = _replies(session, batch)
        is_last = False
        while not is_last:
            pieces, is_last = await self._in_worker(lambda: _next_pieces(replies))
            self._writer.writelines(pieces)
            await self._writer.drain()
        self._replies = None
        self._idle_limit = await self._in_worker(session.idle_limit) if session.is_in_block else None

    async def _in_worker(self, call: Callable[[], T]) -> T:
        """Its result.  For a client that has gone, or only half-closed its socket, we do not wait long."""
        self._call = running = asyncio.create_task(in_worker(self._shared.workers, call))
        gone = () if self._intake is None else (self._intake.gone,)
        await asyncio.wait((running, *gone), return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            await asyncio.wait((running,), timeout=_GRACE_SECONDS)
        if not running.done():
            raise ConnectionResetError
        return running.result()

    async def _farewell(self, error: Exception) -> None:
        self._writer.write(encode(error_response(error, severity="FATAL")))
        with suppress(OSError):
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self._writer.drain()

    async def _release(self) -> None:
        """Ends what still runs, waits for it, then closes the rows and the session, in a worker."""
        if self._intake is not None:
            self._intake.stop()
        if self._key is not None:
            self._shared.keys.revoke(self._key)
        self._writer.close()
        if self._session is not None:
            await self._interrupt(self._session)
        if self._call is not None:
            await asyncio.gather(self._call, return_exceptions=True)
        if self._session is not None:
            await in_worker(self._shared.workers, self._close_session)
        await self._hang_up()

    async def _interrupt(self, session: WireSession) -> None:
        """Ends what runs, and insists: an engine may miss a cancel that comes just before its statement."""
        await in_worker(self._shared.workers, session.interruption.terminate)
        while self._call is not None and not self._call.done():
            await asyncio.wait((self._call,), timeout=_INSIST_SECONDS)
            await in_worker(self._shared.workers, session.interruption.terminate)

    async def _hang_up(self) -> None:
        """Gives a slow reader a little time for the last words, and no more."""
        try:
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self._writer.wait_closed()
        except OSError:
            self.abort()

    def _close_session(self) -> None:
        try:
            if self._replies is not None:
                self._replies.close()
            if self._session is not None:
                self._session.close()
            log.info("session closed pid=%s", self._key and self._key.pid)
        except Exception:  # nobody is left to be told
            log.exception("session not closed cleanly pid=%s", self._key and self._key.pid)


def _greeting(session: WireSession, startup: StartupInfo, key: BackendKeyData) -> Iterator[bytes]:
    notices = apply_settings(session.engine, startup.settings)
    for message in (Authentication(), *session.greet(notices), key, *session.ready()):
        yield encode(message)


def _replies(session: WireSession, batch: list[Message]) -> Generator[Message]:
    for message in batch:
        yield from session.handle(message)


def _next_pieces(replies: Iterator[Message]) -> tuple[list[bytes], bool]:
    """What can be sent by now: up to the first rows or notice, as the next may be long in coming.  True: it is all."""
    pieces: list[bytes] = []
    size = 0
    for message in replies:
        pieces.append(encode(message))
        size += len(pieces[-1])
        if isinstance(message, RowBlock | NoticeResponse) or size >= _BUFFER:
            return pieces, False
    return pieces, True
