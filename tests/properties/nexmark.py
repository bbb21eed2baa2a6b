"""Nexmark in the small: people, auctions and bids, made so that each query has something to say.

The queries are Nexmark's that have neither windows of event time nor functions of one's own.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from properties.texts import queries_of, tables_of
from properties.world import Change, Row

QUERIES, TABLES = queries_of("nexmark"), tables_of("nexmark")

_BEGIN = datetime(2024, 7, 3, 6, 30)  # noqa: DTZ001  timestamps are without time zone
_CHANNELS = ("apple", "Google", "Facebook", "baidu", "channel-9")


class Market:
    """The same seed, the same story."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._minutes = 0
        self._ids = {"person": 0, "auction": 0}
        self._rows: dict[str, list[Row]] = {name: [] for name in TABLES}

    def beginning(self) -> list[Change]:
        return [*self._arriving("person", 8), *self._arriving("auction", 12), *self._arriving("bid", 60)]

    def next(self, busy: int = 1) -> list[Change]:
        """Things arrive; some are taken back, or corrected."""
        changes = [change for name in TABLES for change in self._arriving(name, self._random.randint(0, 2) * busy)]
        changes += [self._corrected(name) for name in TABLES for _ in range(busy) if self._random.random() < 0.7]
        return changes + [self._leaving("bid") for _ in range(2 * busy)]

    def _arriving(self, table: str, count: int) -> list[Change]:
        rows = [getattr(self, f"_{table}")() for _ in range(count)]
        self._rows[table] += rows
        return [Change(table, tuple(rows))] if rows else []

    def _leaving(self, table: str) -> Change:
        row = self._random.choice(self._rows[table])
        self._rows[table].remove(row)
        return Change(table, leaving=(row,))

    def _corrected(self, table: str) -> Change:
        place = self._random.randrange(len(self._rows[table]))
        old = self._rows[table][place]
        fresh: Row = getattr(self, f"_{table}")()
        self._rows[table][place] = fresh if table == "bid" else (old[0], *fresh[1:])
        return Change(table, (self._rows[table][place],), (old,))

    def _id(self, table: str) -> int:
        self._ids[table] += 1
        return self._ids[table]

    def _now(self) -> datetime:
        self._minutes += self._random.randint(1, 45)
        return _BEGIN + timedelta(minutes=self._minutes)

    def _person(self) -> Row:
        state = self._random.choice(["or", "id", "ca", "wa"])
        return (self._id("person"), "peter", "p@x.com", "1234", "bend", state, self._now(), "c")

    def _auction(self) -> Row:
        id, now = self._id("auction") * 41, self._now()  # every third can be divided by 123
        seller, category = self._random.randint(1, 8), self._random.choice([10, 10, 11])
        return (id, "vase", "old", 10, 20, now, now + timedelta(days=2), seller, category, "")

    def _bid(self) -> Row:
        auction = self._random.choice(self._rows["auction"])[0]
        price = self._random.choice([5_000, 9_000, 400_000, 2_000_000, 3_000_000])
        url = f"https://www.nexmark.com/a/b/{self._random.randint(1, 3)}/item.htm?query=1" + self._random.choice(
            ["", "&channel_id=77"]
        )
        return (auction, self._random.randint(1, 5), price, self._random.choice(_CHANNELS), url, self._now(), "abcc")
