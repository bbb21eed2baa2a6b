"""How the bytes of a message become columns: as Spark SQL text, so that all of it runs on the JVM.

A decoder is a value (`JsonDecoder()`, `CsvDecoder(names=("a", "b"))`): definitions that hold one compare by
content.  It turns one expression of type binary into columns and a reason why not.  A new format is a new
file and a line in decoders.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

from tailrace.formats.encode_scalars import literal
from tailrace.types.core import Schema

SHOWN = 200
"""How much of a broken message its error repeats; the dead letter itself holds all of it."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Spark SQL text over one binary expression.  Both parts are only looked at where that is not NULL.

    `error` is the reason why the bytes cannot be decoded, or NULL; without one, every message can be.  Where
    it is not NULL, `columns` may hold anything, but must not fail.

    `once`: what the texts mention by name, each computed once a message; a later one may mention an earlier one.
    `rows`: for a format whose messages are changes: the name among `once` of an array of structs, one a row; the
    columns are then over `row`, one of these, and its field `w` is the row's weight.  Without it, a message is one row.
    `absent`: whether the value says that there is no row.
    """

    columns: tuple[str, ...]
    error: str | None
    once: tuple[tuple[str, str], ...] = ()
    rows: str | None = None
    absent: str | None = None


class Decoder(Protocol):
    """One format on the way in."""

    keyword: ClassVar[str]
    """After FORMAT, e.g. `JSON`."""

    is_single: ClassVar[bool]
    """One value and no fields: as a key, its column is called `key`."""

    @property
    def schema(self) -> Schema:
        """The columns it makes of a value."""

    @property
    def head(self) -> int:
        """How many bytes at the beginning of a message say what must be known to decode it; mostly none."""

    def learned(self, heads: Iterable[bytes]) -> Self:
        """The decoder that can decode messages with these heads.  May ask a schema registry.

        Raises Unavailable if trying again can help.  What a head stands for never changes.
        """

    def decoded(self, data: str) -> Decoded:
        """`data` is a column of type binary; naming it twice costs nothing."""

    def surely_differ(self, values: Sequence[bytes]) -> bool:
        """Whether those of these with different bytes have different values, if that is cheap to say."""

    def surely_decodes(self, values: Sequence[bytes]) -> bool:
        """Whether all these can be decoded, if that is cheap to say on the driver.  False: Spark has to look.

        Never True for bytes that `decoded` would refuse: a True saves the job that would look for dead
        letters.
        """


def as_text(data: str) -> str:
    return f"CAST({data} AS STRING)"


def decode_error(cause: str, data: str) -> str:
    """Spark text of `Decode error: {cause} (original text: …)`; `cause` is Spark text too.

    Bytes that are no text are shown in hexadecimal.
    """
    text = as_text(data)
    shown = f"concat(' (original text: ', left({text}, {SHOWN}), IF(length({text}) > {SHOWN}, '…)', ')'))"
    hexadecimal = f"lower(hex(substring({data}, 1, {SHOWN})))"
    dumped = f"concat(' (original bytes: ', {hexadecimal}, IF(octet_length({data}) > {SHOWN}, '…)', ')'))"
    prefix = literal("Decode error: ")
    return f"concat({prefix}, {cause}, CASE WHEN is_valid_utf8({text}) THEN {shown} ELSE {dumped} END)"


def is_utf8(values: Sequence[bytes]) -> bool:
    """Whether all of them are UTF-8, which Python and the JVM judge alike."""
    try:
        for value in values:
            value.decode()
    except UnicodeDecodeError:
        return False
    return True
