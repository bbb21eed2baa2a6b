"""Several topics as one source: the sum of their logs.

A place in the whole is `number * SPAN + partition`; the first topic's places are its partitions.  Numbers are given in
order of discovery and kept by whoever keeps the source's definition: `found` tells of a new topic, and returns when
that is durable.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from tailrace.ivm.views import Views
from tailrace.ivm.zset import ZSet, leading
from tailrace.sources.contract import Offsets, Source
from tailrace.sources.kafka_definition import DEAD_LETTERS
from tailrace.sources.positions import capped

SPAN = 1_000_000
"""More partitions than any topic has."""


def places_of(number: int, offsets: Offsets) -> Offsets:
    """A topic's own offsets as places in the whole."""
    return {number * SPAN + partition: offset for partition, offset in offsets.items()}


def offsets_of(number: int, position: Offsets) -> Offsets:
    """One topic's part of a position."""
    return {place % SPAN: offset for place, offset in position.items() if place // SPAN == number}


class SeveralTopics:
    """A `Source` (contract.py) over the sources of single topics."""

    def __init__(
        self,
        arity: int,
        logs: Mapping[int, Source],
        discover: Callable[[], Mapping[int, Source]] | None = None,
        interval: float = 0.0,
    ) -> None:
        """`discover`: looks for topics that came since, and opens them."""
        self._arity = arity
        self._logs = dict(logs)
        self._discover = discover
        self._interval = interval
        self._look_at = time.monotonic() + interval

    def start(self) -> Offsets:
        return {place: o for number, log in self._logs.items() for place, o in places_of(number, log.start()).items()}

    def latest(self, known: Offsets) -> Offsets:
        if self._discover is not None and time.monotonic() >= self._look_at:
            self._logs.update(self._discover())
            self._look_at = time.monotonic() + self._interval
        found: dict[int, int] = {}
        for number, log in self._logs.items():
            found |= places_of(number, log.latest(offsets_of(number, known)))
        return found

    def capped(self, since: Offsets, until: Offsets, rows: int) -> Offsets:
        return capped(since, until, rows)

    def changes(self, since: Offsets, until: Offsets, views: Views) -> ZSet:
        return ZSet.empty(self._arity).plus(
            *(
                log.changes(offsets_of(number, since), offsets_of(number, until), views)
                for number, log in self._logs.items()
            )
        )

    def placed(self, since: Offsets, until: Offsets, views: Views) -> str | None:
        texts = [
            f"(SELECT {leading(self._arity)}place + {number * SPAN} AS place FROM ({text}))"
            for number, log in self._logs.items()
            if (text := log.placed(offsets_of(number, since), offsets_of(number, until), views)) is not None
        ]
        return " UNION ALL ".join(texts) if texts else None

    def dead_letters(self, since: Offsets, until: Offsets, views: Views) -> ZSet:
        return ZSet.empty(len(DEAD_LETTERS)).plus(
            *(
                log.dead_letters(offsets_of(number, since), offsets_of(number, until), views)
                for number, log in self._logs.items()
            )
        )

    def commit(self, position: Offsets) -> None:
        for number, log in self._logs.items():
            log.commit(offsets_of(number, position))

    def is_done(self, position: Offsets) -> bool:
        return all(log.is_done(offsets_of(number, position)) for number, log in self._logs.items())

    def close(self) -> None:
        for log in self._logs.values():
            log.close()
