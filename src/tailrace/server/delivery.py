"""From a result to the messages that carry its rows: DataRow, or CopyData for COPY … TO STDOUT."""

from __future__ import annotations

from collections.abc import Callable, Generator

import pyarrow as pa

from tailrace.errors import SqlError
from tailrace.server.copy_out import CopyOut
from tailrace.server.messages import CopyDone, Message, RowBlock
from tailrace.server.portals import Portal, RowStream
from tailrace.server.rows import pieces, row_block
from tailrace.statements.contract import Prepared, Result
from tailrace.types.core import Schema
from tailrace.types.postgres import oid_of

Delivery = Generator[Message, None, int | None]
"""Yields messages and returns the number of rows sent; None if there may be more."""


def deliver(portal: Portal, result: Result, check: Callable[[], None], most: int | None) -> Delivery:
    """The rows of a portal, at most so many.  `check` raises when the statement has been interrupted."""
    columns, stream = result.columns, portal.stream
    if columns is None or stream is None:
        return 0
    if result.copy is not None:
        return (yield from _copy(stream, CopyOut(columns, result.copy), check))
    return (yield from _rows(stream, lambda batch: row_block(batch, columns, portal.formats), check, most))


def _rows(
    stream: RowStream,
    encode: Callable[[pa.RecordBatch], RowBlock],
    check: Callable[[], None],
    most: int | None = None,
) -> Delivery:
    sent = 0
    while most is None or sent < most:
        batch = stream.take(None if most is None else most - sent)
        check()
        if batch is None:
            return sent
        for piece in pieces(batch):
            check()
            yield encode(piece)
        sent += batch.num_rows
    return None


def _copy(stream: RowStream, copy: CopyOut, check: Callable[[], None]) -> Delivery:
    yield copy.response()
    sent = yield from _rows(stream, copy.block, check)
    if last := copy.end():
        yield last
    yield CopyDone()
    return sent


def check_described(prepared: Prepared, result: Result) -> None:
    """The client reads the rows by what Describe has told it: they must not have changed since."""
    if result.copy is None and _oids(prepared.columns) != _oids(result.columns):
        raise SqlError("cached plan must not change result type", sqlstate="0A000")


def _oids(columns: Schema | None) -> tuple[int, ...] | None:
    return None if columns is None else tuple(oid_of(column.type) for column in columns)
