"""The few shapes that protocol fields have, each as a pair: how to read it, how to write it.

A `Reader` never reads past its end and never believes a count that its bytes cannot hold, so that no message,
however malformed, costs more than its own size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct
from typing import Generic, TypeVar

from tailrace.errors import TailraceError

T = TypeVar("T")

_INT16, _UINT16, _INT32, _UINT32 = (Struct(layout) for layout in (">h", ">H", ">i", ">I"))


class ProtocolViolation(TailraceError):
    """Bytes that no client of the protocol sends.  The connection cannot go on."""

    sqlstate = "08P01"


class Reader:
    """Walks over the body of one message."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, size: int) -> bytes:
        if not 0 <= size <= self.left:
            raise ProtocolViolation("insufficient data left in message")
        self._at += size
        return self._data[self._at - size : self._at]

    def until_zero(self) -> bytes:
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise ProtocolViolation("invalid string in message")
        taken = self._data[self._at : end]
        self._at = end + 1
        return taken


@dataclass(frozen=True, slots=True)
class Field(Generic[T]):
    read: Callable[[Reader], T]
    write: Callable[[T], bytes]


def _number(layout: Struct) -> Field[int]:
    return Field(lambda reader: int(layout.unpack(reader.take(layout.size))[0]), layout.pack)


def _read_string(reader: Reader) -> str:
    # Bytes that are not UTF-8 stay recognisable (surrogates), for the session to refuse by name: it is no
    # reason to close the connection.
    return reader.until_zero().decode("utf-8", "surrogateescape")


def _write_string(text: str) -> bytes:
    # A zero byte would end the string early and make garbage of what follows.
    return text.replace("\0", "").encode("utf-8", "replace") + b"\0"


def _read_value(reader: Reader) -> bytes | None:
    size = int(_INT32.unpack(reader.take(4))[0])
    return None if size == -1 else reader.take(size)


def _write_value(value: bytes | None) -> bytes:
    return _INT32.pack(-1) if value is None else _INT32.pack(len(value)) + value


INT16 = _number(_INT16)
INT32 = _number(_INT32)
UINT32 = _number(_UINT32)
BYTE: Field[bytes] = Field(lambda reader: reader.take(1), lambda value: value)
STRING: Field[str] = Field(_read_string, _write_string)
VALUE: Field[bytes | None] = Field(_read_value, _write_value)
"""Bytes with their length before them; None is the length -1."""
REST: Field[bytes] = Field(lambda reader: reader.take(reader.left), lambda value: value)


def counted(item: Field[T], count: Struct = _UINT16) -> Field[tuple[T, ...]]:
    """So many items, the number first.  Every item takes a byte at least, which bounds what we believe."""

    def read(reader: Reader) -> tuple[T, ...]:
        number = int(count.unpack(reader.take(count.size))[0])
        if number > reader.left:
            raise ProtocolViolation("insufficient data left in message")
        return tuple(item.read(reader) for _ in range(number))

    return Field(read, lambda items: count.pack(len(items)) + b"".join(map(item.write, items)))


def _read_pairs(reader: Reader) -> tuple[tuple[str, str], ...]:
    pairs = []
    while name := STRING.read(reader):
        pairs.append((name, STRING.read(reader)))
    return tuple(pairs)


def _read_tagged(reader: Reader) -> tuple[tuple[str, str], ...]:
    pairs = []
    while (code := reader.take(1)) != b"\0":
        pairs.append((code.decode("latin-1"), STRING.read(reader)))
    return tuple(pairs)


def _read_strings(reader: Reader) -> tuple[str, ...]:
    strings = []
    while text := STRING.read(reader):
        strings.append(text)
    return tuple(strings)


NAMED_STRINGS: Field[tuple[tuple[str, str], ...]] = Field(
    _read_pairs,
    lambda pairs: b"".join(STRING.write(name) + STRING.write(value) for name, value in pairs) + b"\0",
)
"""Names and values, ended by an empty name: the settings of a start-up packet."""

CODED_STRINGS: Field[tuple[tuple[str, str], ...]] = Field(
    _read_tagged,
    lambda pairs: b"".join(code.encode("latin-1") + STRING.write(value) for code, value in pairs) + b"\0",
)
"""One-byte codes and values, ended by a zero byte: the fields of an error."""

STRINGS: Field[tuple[str, ...]] = Field(
    _read_strings, lambda strings: b"".join(map(STRING.write, strings)) + b"\0"
)
"""Strings, ended by an empty one: the names of authentication mechanisms."""
