"""Reads ahead of the session, a little: so that a client's leaving is seen while its statement still runs."""

from __future__ import annotations

import asyncio
import select
from contextlib import suppress
from typing import Protocol

from tailrace.server.framing import Framer

CHUNK = 64 * 1024
_AHEAD = 2 * CHUNK  # then the client waits until what it has sent is worked off
_LOOK_SECONDS = 1.0  # and we look whether it is still there: a socket that nobody reads from does not tell
_HUNG_UP = getattr(select, "POLLRDHUP", 0)  # only Linux sees it behind bytes that were not read


class Socket(Protocol):
    def fileno(self) -> int: ...


class Intake:
    """Feeds a framer from a socket.  `gone` is done once the client sends no more.

    A client that only half-closes its socket counts as gone: nothing tells it from one that has closed it,
    until something is written, which for an idle SUBSCRIBE may be never.
    """

    def __init__(self, reader: asyncio.StreamReader, framer: Framer, socket: Socket) -> None:
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reader = reader
        self._framer = framer
        self._socket = socket
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._starving = False
        self._task = asyncio.create_task(self._read())

    async def more(self) -> None:
        """Returns when there is something new: bytes, the client's leaving, or a call of `wake`."""
        self._news.clear()
        if self.gone.done():
            return
        self._starving = True
        self._room.set()
        await self._news.wait()
        self._starving = False

    def wake(self) -> None:
        self._news.set()

    def stop(self) -> None:
        self._task.cancel()

    async def _read(self) -> None:
        try:
            while data := await self._reader.read(CHUNK):
                self._framer.feed(data)
                self._news.set()
                while self._framer.held >= _AHEAD and not self._starving and not _has_hung_up(self._socket):
                    self._room.clear()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_LOOK_SECONDS):
                            await self._room.wait()
        except OSError:
            pass  # reset by the client, or broken TLS: it is gone all the same
        finally:
            if not self.gone.done():
                self.gone.set_result(None)
            self._news.set()


def _has_hung_up(socket: Socket) -> bool:
    """Whether the client sends no more than what has already arrived."""
    if socket.fileno() < 0 or not _HUNG_UP:
        return False
    look = select.poll()
    look.register(socket.fileno(), _HUNG_UP)
    return bool(look.poll(0))
