"""Steady input: a thousand pageviews a second, and users who come, change their plan and go."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator

from tailrace.demo.pageviews import USERS, Visitors
from tailrace.testing.topics import Record, produce

PLANS = ("free", "basic", "plus", "pro", "team")
_CHANGES_A_SECOND = 20


class Load:
    """Pageviews into one topic, users under their key into another, from `start` until `stop`."""

    def __init__(self, bootstrap: str, pageviews: str, users: str, rate: int) -> None:
        self._visitors = Visitors(bootstrap, pageviews, rate)
        self._users = _Users(bootstrap, users)

    def start(self) -> None:
        self._visitors.start()
        self._users.start()

    def stop(self) -> None:
        """Returns when everything is in the topics."""
        for thread in (self._visitors, self._users):
            if thread.is_alive():
                thread.stop()


class _Users(threading.Thread):
    """At first everybody, then a few changes at a time; every tenth is a farewell."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(name="users", daemon=True)
        self._brokers = bootstrap
        self._topic = topic
        self._random = random.Random(3)
        self._stopping = threading.Event()

    def run(self) -> None:
        produce(self._brokers, self._topic, [self._user(id) for id in range(USERS)])
        while not self._stopping.wait(1.0):
            produce(self._brokers, self._topic, self._changes())

    def stop(self) -> None:
        self._stopping.set()
        self.join()

    def _changes(self) -> Iterator[Record]:
        for number in range(_CHANGES_A_SECOND):
            id = self._random.randrange(USERS)
            yield self._user(id) if number % 10 else Record(key=_key(id), value=None)

    def _user(self, id: int) -> Record:
        user = {"plan": self._random.choice(PLANS), "since": int(time.time())}
        return Record(key=_key(id), value=json.dumps(user))


def _key(id: int) -> str:
    return json.dumps({"user_id": id})
