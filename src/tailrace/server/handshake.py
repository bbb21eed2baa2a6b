"""Before there is a session: encryption, who is there, whether to let them in.  Cancels come in here, too."""

from __future__ import annotations

import asyncio
import ssl
from functools import partial

from tailrace.server.auth import Authenticator, Conversation
from tailrace.server.cancel import CancelKeys
from tailrace.server.fields import ProtocolViolation
from tailrace.server.framing import Framer, Phase
from tailrace.server.intake import CHUNK
from tailrace.server.loopback import is_loopback
from tailrace.server.messages import (
    SSL_CODE,
    Authentication,
    CancelRequest,
    EncryptionRequest,
    Message,
    PasswordMessage,
    StartupMessage,
    encode,
)
from tailrace.server.startup import BadStartup, StartupInfo, negotiation, read_startup
from tailrace.server.workers import Workers, in_worker


class Handshake:
    """Strictly in turns: the client waits for an answer after each of its words."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        framer: Framer,
        *,
        tls: ssl.SSLContext | None,
        keys: CancelKeys,
        workers: Workers,
    ) -> None:
        self._reader, self._writer, self._framer = reader, writer, framer
        self._tls, self._keys, self._workers = tls, keys, workers
        self._encrypted = False

    async def first_words(self) -> StartupMessage | None:
        """The client's start-up message.  None: it wanted something else, and has got it, or it has left."""
        while True:
            match await self._receive():
                case StartupMessage() as message:
                    return message
                case EncryptionRequest(code=code):
                    await self._encrypt(code)
                case CancelRequest(pid=pid, secret=secret):
                    if cancel := self._keys.find(pid, secret):
                        await in_worker(self._workers, cancel)
                    return None
                case _:
                    return None

    async def admit(self, message: StartupMessage, authenticator: Authenticator) -> StartupInfo:
        """Who it is, once it has been let in.  Raises what is to be the client's last word from us."""
        address = str((self._writer.get_extra_info("peername") or ("",))[0])
        startup = read_startup(message, address=address, encrypted=self._encrypted)
        if not self._encrypted and not is_loopback(address):
            hint = "Connect with sslmode=require."
            raise BadStartup("connections from other machines must use TLS", hint=hint)
        if offer := negotiation(message):
            await self._send(offer)
        self._framer.phase = Phase.AUTHENTICATION
        await self._authenticate(authenticator.converse(startup))
        self._framer.phase = Phase.SESSION
        return startup

    async def _authenticate(self, conversation: Conversation) -> None:
        answer: bytes | None = None
        while True:
            request, is_last = await in_worker(self._workers, partial(_step, conversation, answer))
            if request is not None:
                await self._send(request)
            if is_last:
                return
            message = await self._receive()
            if not isinstance(message, PasswordMessage):
                raise ConnectionResetError
            answer = message.payload

    async def _receive(self) -> Message | None:
        """None if the client leaves."""
        while (message := self._framer.next()) is None:
            data = await self._reader.read(CHUNK)
            if not data:
                return None
            self._framer.feed(data)
        return message

    async def _send(self, message: Message) -> None:
        self._writer.write(encode(message))
        await self._writer.drain()

    async def _encrypt(self, code: int) -> None:
        if code != SSL_CODE or self._tls is None or self._encrypted:
            self._writer.write(b"N")
            return
        # Whatever has arrived by now is not encrypted, and must not be taken for something that was.
        if self._framer.held or getattr(self._reader, "_buffer", None):
            raise ProtocolViolation("received unencrypted data after SSL request")
        self._writer.write(b"S")
        await self._writer.start_tls(self._tls)
        self._encrypted = True


def _step(conversation: Conversation, answer: bytes | None) -> tuple[Authentication | None, bool]:
    """The next request, or the last word (True) if the client is let in."""
    try:
        return (next(conversation) if answer is None else conversation.send(answer)), False
    except StopIteration as end:
        return end.value, True
