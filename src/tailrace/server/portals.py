"""Portals: statements with arguments, which Execute runs and reads, all at once or some rows at a time."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from tailrace.errors import SqlError
from tailrace.server.messages import BINARY, TEXT, Bind
from tailrace.server.prepared import Statement
from tailrace.statements.contract import Prepared, Result
from tailrace.types.postgres import binary_parameter, text_parameter

log = logging.getLogger("tailrace.server")


class UnknownCursor(SqlError):
    sqlstate = "34000"


class DuplicateCursor(SqlError):
    sqlstate = "42P03"


class BadBind(SqlError):
    """Numbers of parameters or formats that do not fit the statement.  The connection can go on."""

    sqlstate = "08P01"


class RowStream:
    """The rows of a result, in the sizes that the client asks for.

    Taking blocks for as long as there is nothing to take; closing ends the work behind it.
    """

    def __init__(self, result: Result) -> None:
        self._source = result.rows
        self._batches = iter(result.rows)
        self._rest: pa.RecordBatch | None = None

    def take(self, most: int | None = None) -> pa.RecordBatch | None:
        """The next rows, at most so many of them; None at the end."""
        batch = self._rest if self._rest is not None else next(self._batches, None)
        self._rest = None
        if batch is None or most is None or batch.num_rows <= most:
            return batch
        self._rest = batch.slice(most)
        return batch.slice(0, most)

    def close(self) -> None:
        """Never raises: what goes wrong here is for the log, the client has moved on."""
        self._rest = None
        for held in (self._batches, self._source):
            try:
                getattr(held, "close", _nothing)()
            except Exception:  # rows come from anywhere in the engine
                log.warning("rows not closed cleanly", exc_info=True)


def _nothing() -> None: ...


@dataclass(slots=True)
class Portal:
    """A statement with its arguments; from its first Execute on also with its result."""

    prepared: Prepared
    arguments: tuple[str | None, ...] = ()
    formats: tuple[int, ...] = ()
    result: Result | None = None
    stream: RowStream | None = None

    def run(self, result: Result) -> None:
        self.result = result
        self.stream = RowStream(result)

    @property
    def is_finished(self) -> bool:
        return self.result is not None and self.stream is None

    def close(self) -> None:
        stream, self.stream = self.stream, None
        if stream is not None:
            stream.close()


class Portals:
    """The portals of a session.  The unnamed one is replaced by every Bind without a name."""

    def __init__(self) -> None:
        self._by_name: dict[str, Portal] = {}

    def add(self, name: str, portal: Portal) -> None:
        if name and name in self._by_name:
            raise DuplicateCursor(f'cursor "{name}" already exists')
        self.close(name)
        self._by_name[name] = portal

    def get(self, name: str) -> Portal:
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownCursor(f'portal "{name}" does not exist') from None

    def has(self, name: str) -> bool:
        return name in self._by_name

    def close(self, name: str) -> None:
        if portal := self._by_name.pop(name, None):
            portal.close()

    def clear(self) -> None:
        for name in list(self._by_name):
            self.close(name)


def bind(message: Bind, statement: Statement) -> Portal:
    """A portal of this statement with the message's arguments, brought to text."""
    oids, given = statement.parameter_oids, message.parameters
    if len(given) != len(oids):
        raise BadBind(
            f"bind message supplies {len(given)} parameters, "
            f'but prepared statement "{message.statement}" requires {len(oids)}'
        )
    formats = _spread(message.parameter_formats, len(given), "parameter")
    arguments = tuple(_argument(*part) for part in zip(given, formats, oids, strict=True))
    columns = statement.prepared.columns
    results = () if columns is None else _spread(message.result_formats, len(columns), "column")
    return Portal(statement.prepared, arguments, results)


def _argument(value: bytes | None, format: int, oid: int) -> str | None:
    if value is None:
        return None
    return binary_parameter(value, oid) if format == BINARY else text_parameter(value)


def _spread(formats: Sequence[int], number: int, kind: str) -> tuple[int, ...]:
    """A format for each: none given means text, one given is for all."""
    for code in formats:
        if code not in (TEXT, BINARY):
            raise SqlError(f"unsupported format code: {code}", sqlstate="22023")
    if len(formats) <= 1:
        return (formats[0] if formats else TEXT,) * number
    if len(formats) != number:
        raise BadBind(f"bind message has {len(formats)} {kind} formats but {number} {kind}s")
    return tuple(formats)
