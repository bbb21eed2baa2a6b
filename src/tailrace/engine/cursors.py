"""Cursors: the rows of a SELECT or SUBSCRIBE, fetched some at a time within one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.engine.subscribing import SubscribeRows
from tailrace.engine.transaction import NoTransaction, Transaction
from tailrace.errors import SqlError
from tailrace.statements.contract import Result
from tailrace.types.core import Schema

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession
    from tailrace.statements.cursors import Close, Declare, Fetch

_POLL_SECONDS = 0.1


class UnknownCursor(SqlError):
    sqlstate = "34000"


class DuplicateCursor(SqlError):
    sqlstate = "42P03"


@dataclass(eq=False, slots=True)
class Cursor:
    """`rows` of a SUBSCRIBE can be asked for with a time limit; those of a SELECT are there or come to an end."""

    columns: Schema
    rows: SubscribeRows | Iterator[pa.RecordBatch]
    rest: pa.RecordBatch | None = None
    is_over: bool = False

    def take(self, most: int | None, timeout: float) -> pa.RecordBatch | None:
        """Rows that are there within `timeout` seconds, at most so many; None if there are none."""
        batch = self.rest if self.rest is not None else self._next(timeout)
        self.rest = None
        if batch is not None and most is not None and batch.num_rows > most:
            self.rest = batch.slice(most)
            return batch.slice(0, most)
        return batch

    def _next(self, timeout: float) -> pa.RecordBatch | None:
        if isinstance(self.rows, SubscribeRows):
            batch = self.rows.take(timeout)
            self.is_over = batch is None and self.rows.is_over
            return batch
        batch = next(self.rows, None)
        self.is_over = batch is None
        return batch

    def close(self) -> None:
        close = getattr(self.rows, "close", None)
        if close is not None:
            close()


def declare(session: EngineSession, statement: Declare, run: Callable[[], Result]) -> Result:
    transaction = _transaction(session, "DECLARE CURSOR")
    if statement.cursor in transaction.cursors:
        raise DuplicateCursor(f'cursor "{statement.cursor}" already exists', position=statement.position)
    result = run()
    assert result.columns is not None
    rows = result.rows if isinstance(result.rows, SubscribeRows) else iter(result.rows)
    subscribes = [isinstance(each, SubscribeRows) for each in (rows, *(c.rows for c in transaction.cursors.values()))]
    if len(subscribes) > 1 and any(subscribes):
        raise SqlError("SUBSCRIBE in transactions must be the only read statement", sqlstate="0A000")
    transaction.cursors[statement.cursor] = Cursor(result.columns, rows)
    return Result(tag="DECLARE CURSOR")


def get(session: EngineSession, statement: Fetch) -> Cursor:
    cursors = {} if session.transaction is None else session.transaction.cursors
    if statement.cursor not in cursors:
        raise UnknownCursor(f'cursor "{statement.cursor}" does not exist', position=statement.position)
    return cursors[statement.cursor]


def fetch(session: EngineSession, statement: Fetch) -> Result:
    """Without a time limit: waits for at least one row, then gives what is there."""
    cursor = get(session, statement)
    limit = None if statement.timeout is None else statement.timeout.length.total_seconds()
    rows = _rows(session, cursor, statement.count, limit)
    if statement.skips:
        return Result(tag=f"MOVE {sum(batch.num_rows for batch in rows)}")
    return Result(tag="FETCH {rows}", columns=cursor.columns, rows=rows)


def _rows(
    session: EngineSession, cursor: Cursor, count: int | None, limit: float | None
) -> Iterator[pa.RecordBatch]:
    deadline = None if limit is None else time.monotonic() + limit
    sent = 0
    while count is None or sent < count:
        session.check_cancelled()
        left = _POLL_SECONDS if deadline is None else min(max(deadline - time.monotonic(), 0), _POLL_SECONDS)
        waits = deadline is not None or (sent == 0 and count is not None)
        batch = cursor.take(None if count is None else count - sent, left if waits else 0)
        if batch is not None:
            sent += batch.num_rows
            yield batch
        elif cursor.is_over or (deadline is None and not waits) or (deadline is not None and left == 0):
            return


def close(session: EngineSession, statement: Close) -> Result:
    cursors = {} if session.transaction is None else session.transaction.cursors
    names = list(cursors) if statement.cursor is None else [statement.cursor]
    for name in names:
        if name not in cursors:
            raise UnknownCursor(f'cursor "{name}" does not exist', position=statement.position)
        cursors.pop(name).close()
    return Result(tag="CLOSE CURSOR ALL" if statement.cursor is None else "CLOSE CURSOR")


def _transaction(session: EngineSession, what: str) -> Transaction:
    if session.transaction is None or session.transaction.is_implicit:
        raise NoTransaction(f"{what} can only be used in transaction blocks")
    return session.transaction
