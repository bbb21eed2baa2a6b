"""Protocol messages, version 3: bytes <-> frozen dataclasses, both ways.  Knows no sockets and no SQL.

Each message lists its wire fields once, in `layout`, in the order of its dataclass fields; `encode` and
`decode` follow that list.  How long a message may be is decided by its tag alone, before a byte of it is
kept.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from struct import Struct
from typing import Any, ClassVar, TypeAlias

from tailrace.server.fields import (
    BYTE,
    CODED_STRINGS,
    INT16,
    INT32,
    NAMED_STRINGS,
    REST,
    STRING,
    UINT32,
    VALUE,
    Field,
    ProtocolViolation,
    Reader,
    counted,
)

Layout: TypeAlias = tuple[Field[Any], ...]
Fields: TypeAlias = tuple[tuple[str, str], ...]

TEXT, BINARY = 0, 1
"""Format codes of parameters and result columns."""


class Message:
    """What all messages share: a tag (empty in start-up packets) and the list of their fields."""

    __slots__ = ()
    tag: ClassVar[bytes] = b""
    layout: ClassVar[Layout] = ()


# From the client, before a session exists.


@dataclass(frozen=True, slots=True)
class StartupMessage(Message):
    """Asks for a session.  `version` is major << 16 | minor."""

    layout = (INT32, NAMED_STRINGS)
    version: int
    settings: Fields


@dataclass(frozen=True, slots=True)
class CancelRequest(Message):
    """Asks, on a connection of its own, to stop what another one runs.  Never answered."""

    layout = (INT32, INT32, REST)
    code: int
    pid: int
    secret: bytes


@dataclass(frozen=True, slots=True)
class EncryptionRequest(Message):
    """SSLRequest or GSSENCRequest; answered with one byte."""

    layout = (INT32,)
    code: int


CANCEL_CODE, SSL_CODE, GSS_CODE = 80877102, 80877103, 80877104
_SPECIAL = {CANCEL_CODE: CancelRequest, SSL_CODE: EncryptionRequest, GSS_CODE: EncryptionRequest}


@dataclass(frozen=True, slots=True)
class PasswordMessage(Message):
    """Any answer to an authentication request; what it means depends on the request."""

    tag = b"p"
    layout = (REST,)
    payload: bytes


# From the client, in a session.


@dataclass(frozen=True, slots=True)
class Query(Message):
    tag = b"Q"
    layout = (STRING,)
    text: str


@dataclass(frozen=True, slots=True)
class Parse(Message):
    tag = b"P"
    layout = (STRING, STRING, counted(UINT32))
    statement: str
    text: str
    parameter_oids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Bind(Message):
    tag = b"B"
    layout = (STRING, STRING, counted(INT16), counted(VALUE), counted(INT16))
    portal: str
    statement: str
    parameter_formats: tuple[int, ...] = ()
    parameters: tuple[bytes | None, ...] = ()
    result_formats: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Describe(Message):
    """`kind` is S for a statement, P for a portal."""

    tag = b"D"
    layout = (BYTE, STRING)
    kind: bytes
    name: str


@dataclass(frozen=True, slots=True)
class Execute(Message):
    tag = b"E"
    layout = (STRING, INT32)
    portal: str
    max_rows: int = 0


@dataclass(frozen=True, slots=True)
class Close(Message):
    tag = b"C"
    layout = (BYTE, STRING)
    kind: bytes
    name: str


@dataclass(frozen=True, slots=True)
class Flush(Message):
    tag = b"H"


@dataclass(frozen=True, slots=True)
class Sync(Message):
    tag = b"S"


@dataclass(frozen=True, slots=True)
class Terminate(Message):
    tag = b"X"


@dataclass(frozen=True, slots=True)
class FunctionCall(Message):
    tag = b"F"
    layout = (REST,)
    body: bytes


@dataclass(frozen=True, slots=True)
class CopyFail(Message):
    tag = b"f"
    layout = (STRING,)
    reason: str


# In both directions.


@dataclass(frozen=True, slots=True)
class CopyData(Message):
    tag = b"d"
    layout = (REST,)
    data: bytes


@dataclass(frozen=True, slots=True)
class CopyDone(Message):
    tag = b"c"


# To the client.


@dataclass(frozen=True, slots=True)
class Authentication(Message):
    """Kind 0 says that all is well; 10, 11 and 12 are the steps of SASL."""

    tag = b"R"
    layout = (INT32, REST)
    kind: int = 0
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class BackendKeyData(Message):
    tag = b"K"
    layout = (INT32, REST)
    pid: int
    secret: bytes


@dataclass(frozen=True, slots=True)
class NegotiateProtocolVersion(Message):
    """The newest version we speak, and the protocol options (`_pq_.…`) that we do not know."""

    tag = b"v"
    layout = (INT32, counted(STRING, Struct(">I")))
    version: int
    unknown_options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParameterStatus(Message):
    tag = b"S"
    layout = (STRING, STRING)
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class ReadyForQuery(Message):
    """`status` is I (idle), T (in a transaction) or E (in a failed one)."""

    tag = b"Z"
    layout = (BYTE,)
    status: bytes


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """One column of a RowDescription."""

    name: str
    type_oid: int
    length: int = -1
    modifier: int = -1
    format: int = TEXT
    table_oid: int = 0
    number: int = 0


def _read_column(reader: Reader) -> ResultColumn:
    name, table, number = STRING.read(reader), UINT32.read(reader), INT16.read(reader)
    oid, length, modifier, format = (kind.read(reader) for kind in (UINT32, INT16, INT32, INT16))
    return ResultColumn(name, oid, length, modifier, format, table, number)


_COLUMN = Struct(">IhIhih")


def _write_column(c: ResultColumn) -> bytes:
    return STRING.write(c.name) + _COLUMN.pack(
        c.table_oid, c.number, c.type_oid, c.length, c.modifier, c.format
    )


@dataclass(frozen=True, slots=True)
class RowDescription(Message):
    tag = b"T"
    layout = (counted(Field(_read_column, _write_column)),)
    columns: tuple[ResultColumn, ...]


@dataclass(frozen=True, slots=True)
class DataRow(Message):
    tag = b"D"
    layout = (counted(VALUE),)
    values: tuple[bytes | None, ...]


@dataclass(frozen=True, slots=True)
class RowBlock(Message):
    """Many DataRow (or CopyData) messages, already in wire form: made from whole columns, not row by row."""

    count: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class CommandComplete(Message):
    tag = b"C"
    layout = (STRING,)
    text: str


@dataclass(frozen=True, slots=True)
class ErrorResponse(Message):
    tag = b"E"
    layout = (CODED_STRINGS,)
    fields: Fields


@dataclass(frozen=True, slots=True)
class NoticeResponse(Message):
    tag = b"N"
    layout = (CODED_STRINGS,)
    fields: Fields


@dataclass(frozen=True, slots=True)
class ParameterDescription(Message):
    tag = b"t"
    layout = (counted(UINT32),)
    oids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CopyOutResponse(Message):
    tag = b"H"
    layout = (BYTE, counted(INT16))
    format: bytes
    column_formats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CopyInResponse(Message):
    tag = b"G"
    layout = (BYTE, counted(INT16))
    format: bytes
    column_formats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EmptyQueryResponse(Message):
    tag = b"I"


@dataclass(frozen=True, slots=True)
class NoData(Message):
    tag = b"n"


@dataclass(frozen=True, slots=True)
class ParseComplete(Message):
    tag = b"1"


@dataclass(frozen=True, slots=True)
class BindComplete(Message):
    tag = b"2"


@dataclass(frozen=True, slots=True)
class CloseComplete(Message):
    tag = b"3"


@dataclass(frozen=True, slots=True)
class PortalSuspended(Message):
    tag = b"s"


# Bytes.

_FRONTEND: tuple[type[Message], ...] = (
    *(PasswordMessage, Query, Parse, Bind, Describe, Execute, Close, Flush, Sync, Terminate),
    *(FunctionCall, CopyData, CopyDone, CopyFail),
)
_BACKEND: tuple[type[Message], ...] = (
    *(Authentication, BackendKeyData, NegotiateProtocolVersion, ParameterStatus, ReadyForQuery),
    *(RowDescription, DataRow, CommandComplete, ErrorResponse, NoticeResponse, ParameterDescription),
    *(EmptyQueryResponse, NoData, ParseComplete, BindComplete, CloseComplete, PortalSuspended),
    *(CopyOutResponse, CopyInResponse, CopyData, CopyDone),
)
FRONTEND = {message.tag: message for message in _FRONTEND}
BACKEND = {message.tag: message for message in _BACKEND}

STARTUP_LIMIT = 10_000
PASSWORD_LIMIT = 65_535
SMALL_LIMIT = 30_000
_LARGE = frozenset({b"Q", b"P", b"B", b"d", b"F"})

_LENGTH = Struct(">i")


def length_limit(tag: bytes, large: int) -> int:
    """How many bytes a client's message with this tag may have, its length field included."""
    if tag not in FRONTEND:
        raise ProtocolViolation(f"invalid frontend message type {tag[0]}")
    if tag == PasswordMessage.tag:
        return PASSWORD_LIMIT
    return large if tag in _LARGE else SMALL_LIMIT


def encode(message: Message) -> bytes:
    """Its bytes on the wire: tag, length, fields."""
    if isinstance(message, RowBlock):
        return message.payload
    names = fields(message)  # type: ignore[arg-type]  # every message is a dataclass
    values = (getattr(message, field.name) for field in names)
    body = b"".join(kind.write(value) for kind, value in zip(message.layout, values, strict=True))
    return message.tag + _LENGTH.pack(len(body) + 4) + body


def decode(tag: bytes, body: bytes, known: dict[bytes, type[Message]] = FRONTEND) -> Message:
    """The message with this tag and body.  `known` says whose messages are expected."""
    if tag not in known:
        raise ProtocolViolation(f"invalid frontend message type {tag[0]}")
    return _build(known[tag], body)


def decode_startup(body: bytes) -> Message:
    """A start-up packet: it has no tag, its first number says what it is."""
    (code,) = _LENGTH.unpack(body[:4]) if len(body) >= 4 else (0,)
    return _build(_SPECIAL.get(code, StartupMessage), body)


def _build(kind: type[Message], body: bytes) -> Message:
    reader = Reader(body)
    message = kind(*(field.read(reader) for field in kind.layout))
    if reader.left:
        raise ProtocolViolation("invalid message format", detail=f"{reader.left} bytes too many.")
    return message
