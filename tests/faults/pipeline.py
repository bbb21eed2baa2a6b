"""A pipeline in an engine that may die at any time: one topic and one table in, three topics out.

`lines` passes every order on under a key of its own, so that a message told twice or never is seen; `totals`
changes the same few keys at every tick; `prices` is a table whose rows come, change and go.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree, ignore_patterns
from types import TracebackType
from typing import Any, Protocol, Self

import psycopg

from faults.archive import Archive
from faults.input import Clerk, Orders
from faults.oracle import Content, History, Row, Verdict, content_of, judge
from tailrace.testing.engine_process import EngineProcess
from tailrace.testing.topics import Message, ends, read_committed, settle

OPTIONS = ("--master", "local[2]", "--driver-memory", "1g", "--checkpoint-interval", "60m")
SINKS = ("lines", "totals", "prices")
PATIENCE_SECONDS = 240.0

_OBJECTS = """
CREATE CONNECTION IF NOT EXISTS kafka TO KAFKA (BROKER '{bootstrap}', SECURITY PROTOCOL PLAINTEXT);
CREATE SOURCE IF NOT EXISTS orders FROM KAFKA CONNECTION kafka (TOPIC '{orders}') FORMAT JSON;
CREATE TABLE IF NOT EXISTS prices (item text NOT NULL, price int NOT NULL);
CREATE MATERIALIZED VIEW IF NOT EXISTS lines AS
  SELECT (data->>'id')::bigint AS id, data->>'item' AS item, (data->>'amount')::bigint AS amount FROM orders;
CREATE MATERIALIZED VIEW IF NOT EXISTS totals AS
  SELECT item, count(*) AS orders, sum(amount)::bigint AS amount FROM lines GROUP BY item
"""
_KAFKA_SINK = """
CREATE SINK IF NOT EXISTS {name}_out FROM {name} INTO KAFKA CONNECTION kafka (TOPIC '{topic}')
KEY ({key}) NOT ENFORCED FORMAT JSON ENVELOPE UPSERT
"""
# The same objects in three clusters.  Hashing a long text for each row makes one of them slow, so that it falls behind.
_CLUSTERS = ("CREATE CLUSTER IF NOT EXISTS heavy SIZE '1'", "CREATE CLUSTER IF NOT EXISTS outlets SIZE '1'")
_APART = (
    ("NOT EXISTS totals AS", "NOT EXISTS totals IN CLUSTER heavy AS"),
    ("FROM lines GROUP BY", "FROM lines WHERE md5(repeat(item, 60000)) <> '' GROUP BY"),
    ("lines_out FROM", "lines_out IN CLUSTER heavy FROM"),
    ("totals_out FROM", "totals_out IN CLUSTER outlets FROM"),
)
_DELIVERED = """
SELECT status, write_frontier::text FROM mz_internal.mz_sink_statuses s
JOIN mz_internal.mz_frontiers f ON f.object_id = s.id
"""
KEYS = {"lines": "id", "totals": "item", "prices": "item"}


class Outlet(Protocol):
    """Where the sinks write to, and what a reader there was told."""

    @property
    def names(self) -> list[str]:
        """Of the relations that have a sink."""

    def statements(self) -> list[str]:
        """What makes the sinks, each called `{name}_out`."""

    def told(self, name: str) -> list[Message]:
        """Every change that has become visible, in order."""


@dataclass(frozen=True, slots=True)
class Topics:
    """Sinks into topics, by the name of their relation."""

    bootstrap: str
    topics: Mapping[str, str]

    @property
    def names(self) -> list[str]:
        return [name for name in SINKS if name in self.topics]

    def statements(self) -> list[str]:
        return [_KAFKA_SINK.format(name=name, topic=self.topics[name], key=KEYS[name]) for name in self.names]

    def told(self, name: str) -> list[Message]:
        """What a reader of committed messages sees once nothing is open any more."""
        settle(self.bootstrap, self.topics[name])
        return read_committed(self.bootstrap, self.topics[name])


class Pipeline:
    """`topics`: that of the orders; and if there is no other `outlet`, those that sinks write to."""

    def __init__(
        self,
        directory: Path,
        bootstrap: str,
        topics: dict[str, str],
        *options: str,
        orders: Orders | None = None,
        outlet: Outlet | None = None,
        apart: bool = False,
    ) -> None:
        """`apart`: in several clusters."""
        self._is_apart = apart
        self.engine = EngineProcess(directory / "data", directory / "engine.log", *OPTIONS, *options)
        self.archive = Archive(directory / "data")
        self.orders = orders or Orders(bootstrap, topics["orders"])
        self.clerks: list[Clerk] = []
        self._directory = directory
        self._bootstrap = bootstrap
        self.topics = topics
        self._options = options
        self._outlet: Outlet = outlet or Topics(bootstrap, topics)
        self._sinks = self._outlet.names
        self._first_price = 0

    # ── running it ──

    def run_until_killed_at(self, point: str, **environment: str) -> None:
        """Orders arrive and prices change, until the engine kills itself."""
        self.start(TAILRACE_CRASH=point, **environment)
        self.engine.wait_until_dead()
        self.clerks[-1].stop()

    def run_until_stopped_at(self, point: str, **environment: str) -> None:
        """Once there are objects, and something was told of them, a new start of the engine stops itself."""
        self.start()
        self.run_for(ticks=2)
        self.engine.kill()
        self.engine.start(TAILRACE_PAUSE=point, **environment)
        self.clerks.append(Clerk(self.engine, first=self._first_price + 10_000 * len(self.clerks)))
        self.clerks[-1].start()
        self.engine.wait_until_paused()

    def successor(self) -> Pipeline:
        """The same pipeline on a copy of the data directory, as if restored from a backup of this moment."""
        directory = self._directory / "successor"
        copytree(self.engine.data_dir, directory / "data", ignore=ignore_patterns("lock"))
        successor = Pipeline(
            directory, self._bootstrap, self.topics, *self._options, orders=self.orders, outlet=self._outlet
        )
        successor._first_price = self._first_price + 1_000_000  # the copy has the prices of our clerks
        return successor

    def outlived(self, stopped_at: str, ticks: int, **environment: str) -> Pipeline:
        """A successor that has told so many ticks while we stood still at a crash point; we go on again."""
        self.run_until_stopped_at(stopped_at, **environment)
        self.engine.pause()
        successor = self.successor()
        successor.start(**environment)
        successor.run_for(ticks=ticks)
        successor.run_until_told()
        self.engine.resume()
        return successor

    def start(self, **environment: str) -> None:
        """Returns when all objects are there, or the engine is dead."""
        self.engine.start(**environment)
        if not self.orders.is_alive():
            self.orders.start()
        self._create()
        self.clerks.append(Clerk(self.engine, first=self._first_price + 10_000 * len(self.clerks)))
        self.clerks[-1].start()

    def run_for(self, ticks: int) -> None:
        """Until so many more ticks were logged."""
        goal = len(self.archive.ticks) + ticks
        self._wait(lambda: len(self.archive.ticks) >= goal, f"{ticks} more ticks")

    def run_until_told(self) -> None:
        """Until sinks have delivered what is in the log now."""
        last = self.archive.ticks[-1]
        with self.engine.connect() as connection:
            self._wait(lambda: self._has_delivered(connection, last), f"all sinks to deliver tick {last}")

    def run_until_caught_up(self, **environment: str) -> None:
        """Starts it if it is dead, lets more input come, stops the input, and waits until all has arrived."""
        if not self.engine.is_running():
            self.start(**environment)
        self.run_for(ticks=3)
        self.finish()

    def finish(self) -> None:
        """No more input; returns when all there was has been told."""
        self.orders.stop()
        self._wait(lambda: self.archive.position("orders") == self._ends(), "the end of the input")
        for clerk in self.clerks:
            clerk.stop()  # after the orders: a log that lags a tick behind needs one more
        with self.engine.connect() as connection:
            self._wait(lambda: self._has_delivered(connection, self.archive.ticks[-1]), "all sinks to deliver")

    def _create(self) -> None:
        hopeless = threading.Timer(PATIENCE_SECONDS, self.engine.kill)
        hopeless.start()
        try:
            with self.engine.connect() as connection:
                for statement in self._statements():
                    connection.execute(statement.strip().encode())
        except (psycopg.OperationalError, RuntimeError):
            if not hopeless.is_alive():
                raise TimeoutError(f"the objects were not made in time:\n{self.engine.output()}") from None
            self.engine.wait_until_dead(PATIENCE_SECONDS)
        finally:
            hopeless.cancel()

    def _statements(self) -> list[str]:
        objects = _OBJECTS.format(bootstrap=self._bootstrap, orders=self.topics["orders"]).split(";")
        statements = objects + self._outlet.statements()
        if not self._is_apart:
            return statements
        for before, after in _APART:
            statements = [statement.replace(before, after) for statement in statements]
        return [*_CLUSTERS, *statements]

    def _ends(self) -> dict[int, int]:
        return ends(self._bootstrap, self.topics["orders"])

    def errors(self) -> list[str | None]:
        """Why each sink stands still; None for those that do not."""
        with self.engine.connect() as connection:
            found = connection.execute(b"SELECT error FROM mz_internal.mz_sink_statuses").fetchall()
        return [error for (error,) in found]

    def wait_until_refused(self, reason: str) -> None:
        """Until every sink stands still for this reason."""
        self._wait(lambda: all(reason in (error or "") for error in self.errors()), f"sinks to say {reason}")

    def _has_delivered(self, connection: psycopg.Connection, last: int) -> bool:
        found = connection.execute(_DELIVERED.encode()).fetchall()
        delivered = [status == "running" and int(frontier) >= last for status, frontier in found]
        return len(delivered) == len(self._sinks) and all(delivered)

    def _wait(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            if time.monotonic() > deadline or not self.engine.is_running():
                raise TimeoutError(f"waited for {what} in vain:\n{self.engine.output()}")
            time.sleep(0.2)

    # ── what must have come of it ──

    def check(self, *, fused: bool = False) -> list[Verdict]:
        """Every message of every tick is there, once, in order; nothing that was acknowledged is missing."""
        verdicts = [judge(name, self.told(name), self.history(name), fused=fused) for name in self._sinks]
        assert all(verdict.is_clean for verdict in verdicts), "\n".join(map(str, verdicts))
        acknowledged = {name for clerk in self.clerks for name in clerk.done}
        logged = {row["c0"] for _, rows in self.archive.changes("prices") for row in rows}
        assert acknowledged <= logged, f"{sorted(acknowledged - logged)} were acknowledged and are gone"
        assert all(verdict.messages for verdict in verdicts)
        return verdicts

    def told(self, sink: str) -> list[Message]:
        return self._outlet.told(sink)

    def plans(self) -> list[dict[str, Any]]:
        """What the progress topic says of ticks that were written in slots."""
        with self.engine.connect() as connection:
            found = connection.execute(b"SELECT sink_progress_topic FROM mz_catalog.mz_kafka_connections").fetchall()
        [(progress,)] = found
        records = read_committed(self._bootstrap, progress)
        return [json.loads(each.value or b"{}") for each in records if (each.key or b"").endswith(b"-slots")]

    def history(self, name: str) -> History:
        """The relation of a sink, at every tick that was logged."""
        contents = {"lines": self._lines, "totals": self._totals, "prices": self._prices}
        return History(ticks=self.archive.ticks, content=contents[name]())

    def _lines(self) -> Callable[[int], Content]:
        orders, until = self._orders(), self._positions()
        pairs = [next(iter(content_of([order], "id").items())) for _, order in orders]

        def content(t: int) -> Content:
            reached = until(t)
            return dict(pair for (m, _), pair in zip(orders, pairs, strict=True) if is_before(m, reached))

        return content

    def _totals(self) -> Callable[[int], Content]:
        orders, until = self._orders(), self._positions()

        def content(t: int) -> Content:
            reached = until(t)
            amounts: defaultdict[str, list[int]] = defaultdict(list)
            for message, order in orders:
                if is_before(message, reached):
                    amounts[order["item"]].append(order["amount"])
            groups = amounts.items()
            return content_of(({"item": i, "orders": len(a), "amount": sum(a)} for i, a in groups), "item")

        return content

    def _orders(self) -> list[tuple[Message, Row]]:
        messages = read_committed(self._bootstrap, self.topics["orders"])
        return [(message, json.loads(message.value or b"")) for message in messages]

    def _positions(self) -> Callable[[int], Mapping[int, int]]:
        """How far the topic of orders had been read at a tick."""
        positions = self.archive.positions("orders")
        reached = dict(positions)
        return lambda t: reached.get(max((tick for tick in reached if tick <= t), default=-1), {})

    def _prices(self) -> Callable[[int], Content]:
        changes = self.archive.changes("prices")

        def content(t: int) -> Content:
            weights: Counter[tuple[str, int]] = Counter()
            for tick, rows in changes:
                if tick <= t:
                    for row in rows:
                        weights[row["c0"], row["c1"]] += row["weight"]
            assert all(weight >= 0 for weight in weights.values())
            return content_of(({"item": item, "price": price} for item, price in weights.elements()), "item")

        return content

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.engine.kill()
        self.orders.stop()
        for clerk in self.clerks:
            clerk.join()


def is_before(message: Message, position: Mapping[int, int]) -> bool:
    """Whether a position has passed a message."""
    return message.offset < position.get(message.partition, 0)
