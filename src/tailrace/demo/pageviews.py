"""Pageviews as a website might send them: JSON messages into a topic, from a thread, until told to stop."""

from __future__ import annotations

import json
import random
import threading
import time
from datetime import UTC, datetime

from confluent_kafka import Producer

REGIONS = ("africa", "asia", "europe", "north america", "oceania", "south america")
USERS = 5_000
PAGES = 200
_QUIET = 2  # tries that are repeated are no news for people who watch


class Visitors(threading.Thread):
    """Sends `rate` pageviews a second.  `sent` counts those that the broker has acknowledged."""

    def __init__(self, bootstrap: str, topic: str, rate: int, seed: int = 7) -> None:
        super().__init__(name="visitors", daemon=True)
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "linger.ms": 5, "enable.idempotence": True, "log_level": _QUIET}
        )
        self._topic = topic
        self._rate = rate
        self._random = random.Random(seed)
        self._stopping = threading.Event()
        self.sent = 0

    def run(self) -> None:
        began, made = time.monotonic(), 0
        while not self._stopping.is_set():
            due = int((time.monotonic() - began) * self._rate)
            for _ in range(due - made):
                self._producer.produce(self._topic, value=self._pageview(), on_delivery=self._delivered)
            made = max(made, due)
            self._producer.poll(0)
            self._stopping.wait(0.01)
        self._producer.flush()

    def stop(self) -> None:
        """Returns when every pageview is in the topic."""
        self._stopping.set()
        self.join()

    def _pageview(self) -> bytes:
        draw = self._random
        view = {
            "user_id": draw.randrange(USERS),
            "page_id": draw.randrange(PAGES),
            "viewtime": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f"),
            "user_region": draw.choices(REGIONS, weights=(2, 6, 5, 4, 1, 2))[0],
        }
        return json.dumps(view).encode()

    def _delivered(self, error: object, _: object) -> None:
        if error is None:
            self.sent += 1
