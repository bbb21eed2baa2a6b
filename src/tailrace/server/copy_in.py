"""COPY … FROM STDIN: the statement stands still while its client sends data, and goes on when that has ended.

The answer to the message that began it is a generator; here it waits for the number of rows, or for an error.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

from tailrace.errors import SqlError
from tailrace.server import messages as wire
from tailrace.server.fields import ProtocolViolation
from tailrace.server.messages import Message
from tailrace.statements.contract import CopyIn

Answer = Generator[Message, int | None, None]


@dataclass(frozen=True, slots=True)
class DataWanted(Message):
    """Never sent: says to the session that the answer waits for data."""

    target: CopyIn


@dataclass(eq=False, slots=True)
class Copying:
    """`begun_by`: the message whose answer it is."""

    target: CopyIn
    answer: Answer
    begun_by: Message

    def take(self, message: Message) -> Iterator[Message]:
        """Data, or its end.  What follows the end is the rest of the answer.  Raises what goes wrong."""
        match message:
            case wire.CopyData(data=data):
                self.target.write(data)
            case wire.CopyDone():
                yield from self._rest(self.target.finish())
            case wire.CopyFail(reason=reason):
                raise SqlError(f"COPY from stdin failed: {reason}", sqlstate="57014")
            case wire.Flush() | wire.Sync():
                return  # sent with the statement, before its client knew that it would be asked for data
            case _:
                raise ProtocolViolation("unexpected message while data for COPY were expected")

    def is_ended_by(self, message: Message) -> bool:
        return isinstance(message, wire.CopyDone | wire.CopyFail)

    def _rest(self, rows: int) -> Iterator[Message]:
        try:
            yield self.answer.send(rows)
            yield from self.answer
        except StopIteration:
            return


def response(target: CopyIn) -> wire.CopyInResponse:
    format = wire.BINARY if target.is_binary else wire.TEXT
    return wire.CopyInResponse(bytes([format]), (format,) * target.columns)
