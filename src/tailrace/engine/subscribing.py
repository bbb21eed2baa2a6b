"""SUBSCRIBE: the changes of a relation or query as rows, for as long as the client listens.

A row with `mz_progressed` says that nothing before its time will follow.  After the last row of a tick t that time is
t + 1, so whoever goes on AS OF one less, without a snapshot, misses nothing and sees nothing twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.engine import times
from tailrace.engine.contents import not_readable
from tailrace.engine.polling import Polled
from tailrace.engine.rows import arrow_schema
from tailrace.engine.sessions import Following
from tailrace.engine.subscribe_output import Output, output_of
from tailrace.engine.subscription import Change, Subscription
from tailrace.errors import NotSupported, SqlError, WrongObjectType
from tailrace.plan.nodes import Node
from tailrace.plan.walk import scans
from tailrace.sql.names import Name, QueryText
from tailrace.statements.contract import Result
from tailrace.types.core import BOOLEAN, Column, Numeric, Schema

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession
    from tailrace.statements.subscribe import Subscribe

_POLL_SECONDS = 0.1
_SELECTABLE = ("table", "source", "view", "materialized view", "system table")


def columns_of(session: EngineSession, statement: Subscribe) -> Schema:
    return _columns(output_of(statement, _plan(session, statement)), statement)


def _columns(output: Output, statement: Subscribe) -> Schema:
    progressed = (Column("mz_progressed", BOOLEAN, False),) if statement.progress else ()
    columns = output.columns
    if statement.progress:
        columns = tuple(Column(c.name, c.type, True) for c in columns)
    return (Column("mz_timestamp", Numeric(0), False), *progressed, *columns)


def subscribe(session: EngineSession, statement: Subscribe) -> Result:
    node = _plan(session, statement)
    output = output_of(statement, node)
    session.admit("read")
    rows = SubscribeRows(session, statement, node, output)
    return Result(tag="SUBSCRIBE {rows}", columns=_columns(output, statement), rows=rows)


def _plan(session: EngineSession, statement: Subscribe) -> Node:
    of = statement.of
    if isinstance(of, Name):
        item = session.resolve(of)
        if item.kind not in _SELECTABLE:
            raise WrongObjectType(
                f"'{item.name}' cannot be subscribed to because it is a {item.kind}", position=of.position
            )
        quoted = ".".join('"' + part.replace('"', '""') + '"' for part in of.parts)
        of = QueryText(f"SELECT * FROM {quoted}", of.position or 0)
    node = session.plan_changes(of)
    system = {id for id in scans(node) if id.startswith("s")}
    if system and system != scans(node):
        raise NotSupported("SUBSCRIBE to a query of both system relations and others not yet supported")
    return node


@dataclass(eq=False, slots=True)
class SubscribeRows:
    """The rows of a SUBSCRIBE, batch by batch; opened when the first is asked for, closed when nobody listens."""

    session: EngineSession
    statement: Subscribe
    node: Node
    output: Output
    _subscription: Subscription | Polled | None = None
    _until: int | None = None
    _progress: int = -1
    _next_told: int = -1

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            while True:
                self.session.check_cancelled()
                batch = self.take(_POLL_SECONDS)
                if batch is not None:
                    yield batch
                elif self.is_over:
                    return
        finally:
            self.close()

    @property
    def is_over(self) -> bool:
        subscription = self._subscription
        if subscription is None:
            return False
        if self._until is not None and self._progress >= self._until:
            return True
        return subscription.is_over or (subscription.is_constant and self._progress > subscription.start)

    def take(self, timeout: float) -> pa.RecordBatch | None:
        """The next rows, or None if there are none within `timeout` seconds."""
        subscription = self._subscription or self._open()
        if self.is_over:
            return None
        if self._progress < 0:
            self._progress = subscription.start
            if self.statement.progress:
                return self._report(subscription.start)
        deadline = time.monotonic() + timeout
        while True:
            if self._next_told >= 0:
                return self._tell(self._next_told)
            told = subscription.told_up_to()
            change = subscription.next(max(deadline - time.monotonic(), 0))
            if change is not None and self._is_wanted(change.tick):
                self._next_told = change.tick + 1
                return self._batch(change)
            if change is None and told + 1 > self._progress:
                return self._tell(told + 1)
            if change is None or self.is_over:
                return None

    def _is_wanted(self, tick: int) -> bool:
        return self._until is None or tick < self._until

    def _open(self) -> Subscription | Polled:
        as_of = times.chosen(self.session, self.statement.as_of)
        if self.statement.up_to is not None:
            self._until = times.milliseconds(self.session, self.statement.up_to)
            start = self.session.engine.cluster.settled if as_of is None else as_of
            if as_of is not None and self._until < start:
                raise SqlError(
                    f"subscription lower bound (`AS OF`) is greater than its upper bound (`UP TO`):"
                    f" {start} > {self._until}",
                    sqlstate="22000",
                )
        self._subscription = opened = self._subscribe(as_of)
        relations = tuple(sorted(scans(self.node)))
        self.session.engine.sessions.follow(Following(id=opened.id, session=self.session, relations=relations))
        return opened

    def _subscribe(self, as_of: int | None) -> Subscription | Polled:
        engine, shape, snapshot = self.session.engine, self.output.shape, self.statement.snapshot
        system = [id for id in scans(self.node) if id.startswith("s")]
        if not system:
            lane = engine.clusters.lane(self.session.variables.get("cluster"))
            check = partial(self.session.check_in_time, self.session.deadline())
            return Subscription.open(
                engine, self.node, snapshot=snapshot, time=as_of, shape=shape, lane=lane, check=check
            )
        if as_of is not None:
            raise not_readable(as_of, engine.cluster.settled, str(engine.catalog.items[system[0]].name))
        return Polled(self.session, self.node, shape, snapshot)

    def _tell(self, at: int) -> pa.RecordBatch | None:
        """Nothing before `at` follows."""
        self._next_told = -1
        at = at if self._until is None else min(at, self._until)
        if at <= self._progress:
            return None
        self._progress = at
        return self._report(at) if self.statement.progress else None

    def _report(self, at: int) -> pa.RecordBatch:
        schema = arrow_schema(_columns(self.output, self.statement))
        time_ = pa.array([at], pa.int64()).cast(schema.field(0).type)
        rest = [pa.nulls(1, schema.field(i).type) for i in range(2, len(schema))]
        return pa.RecordBatch.from_arrays([time_, pa.array([True]), *rest], schema=schema)

    def _batch(self, change: Change) -> pa.RecordBatch:
        schema = arrow_schema(_columns(self.output, self.statement))
        rows = change.rows.sort_by("place") if "place" in change.rows.column_names else change.rows
        tick = pa.repeat(pa.scalar(change.tick, pa.int64()), rows.num_rows).cast(schema.field(0).type)
        progressed = [pa.repeat(pa.scalar(False), rows.num_rows)] if self.statement.progress else []
        arrays = [tick, *progressed, *(rows.column(name) for name in self.output.names)]
        combined = [
            (array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array).cast(field.type)
            for array, field in zip(arrays, schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(combined, schema=schema)

    def close(self) -> None:
        if self._subscription is not None:
            self.session.engine.sessions.unfollow(self._subscription.id)
            self._subscription.close()
