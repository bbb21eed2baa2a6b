"""Input that does not stop: orders into a topic, and statements that change a table, each from a thread."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import threading
from typing import Any

import psycopg

from tailrace.testing.engine_process import EngineProcess
from tailrace.testing.topics import Record, produce, transaction

ITEMS = [f"item{i}" for i in range(25)]
_BATCH = 20
_PAUSE_SECONDS = 0.1


class Orders(threading.Thread):
    """Sends a few orders ten times a second; some in transactions, of which half are aborted."""

    def __init__(self, bootstrap: str, topic: str, *, in_transactions: bool = True) -> None:
        super().__init__(name="orders", daemon=True)
        self._brokers = bootstrap
        self._topic = topic
        self._in_transactions = in_transactions
        self._ids = itertools.count()
        self._random = random.Random(11)
        self._stopping = threading.Event()

    def send(self, count: int) -> None:
        """So many at once."""
        produce(self._brokers, self._topic, self._some(count))

    def run(self) -> None:
        for number in itertools.count():
            if self._stopping.wait(_PAUSE_SECONDS):
                return
            if self._in_transactions and number % 10 == 5:
                self._send_in_transaction(aborted=number % 20 == 5)
            else:
                self.send(_BATCH)

    def stop(self) -> None:
        """Returns when every order is in the topic."""
        self._stopping.set()
        if self.is_alive():
            self.join()

    def _send_in_transaction(self, *, aborted: bool) -> None:
        with contextlib.suppress(_Aborted), transaction(self._brokers) as open_one:
            open_one.produce(self._topic, self._some(_BATCH))
            if aborted:
                raise _Aborted

    def _some(self, count: int) -> list[Record]:
        draw = self._random
        ids = list(itertools.islice(self._ids, count))
        orders: list[dict[str, Any]] = [
            {"id": id, "item": draw.choice(ITEMS), "amount": draw.randrange(100)} for id in ids
        ]
        return [Record(value=json.dumps(order), partition=order["id"] % 2) for order in orders]


class _Aborted(Exception):
    pass


class Clerk(threading.Thread):
    """Inserts, updates and deletes prices while the engine answers.  `done`: inserts that it acknowledged."""

    def __init__(self, engine: EngineProcess, first: int) -> None:
        super().__init__(name="clerk", daemon=True)
        self._engine = engine
        self._number = first
        self._stopping = threading.Event()
        self.done: list[str] = []
        self.failure: psycopg.Error | None = None

    def run(self) -> None:
        try:
            with self._engine.connect() as connection:
                while not self._stopping.wait(_PAUSE_SECONDS):
                    self._work(connection)
        except (psycopg.OperationalError, RuntimeError):
            pass  # it died, as it was told to
        except psycopg.Error as error:
            self.failure = error

    def stop(self) -> None:
        self._stopping.set()
        self.join()
        if self.failure is not None:
            raise self.failure

    def _work(self, connection: psycopg.Connection) -> None:
        self._number += 1
        name = f"price{self._number}"
        connection.execute("INSERT INTO prices VALUES (%s, %s)", (name, self._number))
        self.done.append(name)
        if self._number % 3 == 0:
            update = f"UPDATE prices SET price = price + 1000 WHERE item = 'price{self._number - 1}'"
            connection.execute(update.encode())
        if self._number % 4 == 0:
            connection.execute(f"DELETE FROM prices WHERE item = 'price{self._number - 3}'".encode())
