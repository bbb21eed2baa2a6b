"""Every message that the soak's sinks owe, in one pass of plain Python over the input and the tick log.

tests/faults/oracle.py recomputes each relation from scratch at each tick; here there are too many ticks for that.
So the few lines of `_Relations` are the oracle: they know the meaning of the two views, and nothing of Tailrace.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from faults.oracle import Row, Told, plain
from tailrace.testing.topics import Message

Positions = Sequence[tuple[int, Mapping[int, int]]]
"""How far a source had been read at each tick that moved it."""


def owed(
    pageviews: Sequence[Message], pageview_positions: Positions, users: Sequence[Message], user_positions: Positions
) -> dict[str, Counter[Told]]:
    """By sink.  All sinks were there before the first message."""
    relations = _Relations()
    told: dict[str, Counter[Told]] = {"regions": Counter(), "profiles": Counter()}
    views_at, users_at = _by_tick(pageviews, pageview_positions), _by_tick(users, user_positions)
    known: dict[tuple[str, int | str], str] = {}
    for tick in sorted({*views_at, *users_at}):
        for message in views_at.get(tick, ()):
            relations.view(json.loads(message.value or b""))
        for message in users_at.get(tick, ()):
            relations.user(json.loads(message.key or b""), message.value)
        for sink, key in relations.touched():
            row = relations.row(sink, key)
            value = None if row is None else plain(row)
            if known.get((sink, key)) != value:
                told[sink][Told(tick, plain({_KEYS[sink]: key}), value)] += 1
            if value is None:
                known.pop((sink, key), None)
            else:
                known[sink, key] = value
    return told


_KEYS = {"regions": "region", "profiles": "user_id"}


class _Relations:
    def __init__(self) -> None:
        self._pv: Counter[str] = Counter()
        self._uv: defaultdict[str, set[int]] = defaultdict(set)
        self._views: Counter[int] = Counter()
        self._plans: dict[int, str] = {}
        self._touched: set[tuple[str, int | str]] = set()

    def view(self, view: Row) -> None:
        region, user = view["user_region"], view["user_id"]
        self._pv[region] += 1
        self._uv[region].add(user)
        self._views[user] += 1
        self._touched |= {("regions", region), ("profiles", user)}

    def user(self, key: Row, value: bytes | None) -> None:
        id = key["user_id"]
        if value is None:
            self._plans.pop(id, None)
        else:
            self._plans[id] = json.loads(value)["plan"]
        self._touched.add(("profiles", id))

    def touched(self) -> Iterator[tuple[str, int | str]]:
        """Since the last time."""
        touched, self._touched = self._touched, set()
        yield from touched

    def row(self, sink: str, key: int | str) -> Row | None:
        if isinstance(key, str):
            return {"region": key, "pv": self._pv[key], "uv": len(self._uv[key])}
        plan, views = self._plans.get(key), self._views[key]
        return None if plan is None or not views else {"user_id": key, "plan": plan, "views": views}


def _by_tick(messages: Sequence[Message], positions: Positions) -> dict[int, list[Message]]:
    """Each tick with the messages it consists of; those of one partition in their order."""
    found: dict[int, list[Message]] = {}
    by_partition: defaultdict[int, list[Message]] = defaultdict(list)
    for message in messages:
        by_partition[message.partition].append(message)
    taken: Counter[int] = Counter()
    for tick, position in positions:
        found[tick] = []
        for partition, end in position.items():
            queue = by_partition[partition]
            while taken[partition] < len(queue) and queue[taken[partition]].offset < end:
                found[tick].append(queue[taken[partition]])
                taken[partition] += 1
    return found
