"""What a reader must have been told, recomputed in plain Python from the input and the tick log alone.

A sink tells, at each tick, the keys whose value is another one than at the tick it told before: the new
value, or that there is none.  So the log gives every message of every tick, and the topic must hold exactly
these.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

from tailrace.testing.topics import Message

TICK = "materialize-timestamp"
_SHOWN = 5

Row: TypeAlias = Mapping[str, Any]
Content: TypeAlias = dict[str, str]
"""JSON of a key → JSON of its row."""


@dataclass(frozen=True, slots=True, order=True)
class Told:
    """One message; `value` is None for a deletion."""

    tick: int
    key: str
    value: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """A relation through time: `content(t)` recomputes it from scratch; `ticks` are all that were logged."""

    ticks: Sequence[int]
    content: Callable[[int], Content]

    def changes(self, told_at: Sequence[int], *, fused: bool) -> Counter[Told]:
        """Every message owed.  `told_at`: the ticks of the topic, the first of which tells all there was.

        If `fused`, the sink may have stood still meanwhile and have told several ticks at once.
        """
        if not self.ticks:
            return Counter()
        first = told_at[0] if told_at else self.ticks[-1]
        later = told_at[1:] if fused else [t for t in self.ticks if t > first]
        steps = sorted({first, *later, max(first, self.ticks[-1])})
        owed = Counter(Told(first, key, value) for key, value in self.content(first).items())
        for before, after in pairwise(steps):
            owed.update(_difference(self.content(before), self.content(after), after))
        return owed


def _difference(old: Content, new: Content, tick: int) -> Iterable[Told]:
    for key in old.keys() | new.keys():
        if old.get(key) != new.get(key):
            yield Told(tick, key, new.get(key))


@dataclass(kw_only=True, slots=True)
class Verdict:
    """What a topic holds beside what it should hold."""

    sink: str
    messages: int
    ticks: int
    lost: Counter[Told] = field(default_factory=Counter)
    strange: Counter[Told] = field(default_factory=Counter)  # nobody should have told this, or not so often
    disordered: list[Told] = field(default_factory=list)  # not later than the one before of the same key

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.strange or self.disordered)

    def __str__(self) -> str:
        lines = [f"{self.sink}: {self.messages} messages of {self.ticks} ticks"]
        for word, found in (("lost", self.lost), ("strange", self.strange), ("disordered", self.disordered)):
            each = sorted(found.elements() if isinstance(found, Counter) else found)
            lines.append(f"  {word} {len(each)}" + "".join(f"\n    {told}" for told in each[:_SHOWN]))
        return "\n".join(lines)


def judge(sink: str, messages: Sequence[Message], history: History, *, fused: bool) -> Verdict:
    """`messages` as a read_committed consumer gets them, each partition in its order."""
    at = sorted({_told(message).tick for message in messages})
    return compare(sink, messages, history.changes(at, fused=fused))


def compare(sink: str, messages: Sequence[Message], owed: Counter[Told]) -> Verdict:
    """The same for somebody who knows what is owed."""
    told = [_told(message) for message in messages]
    found = Counter(told)
    return Verdict(
        sink=sink,
        messages=len(told),
        ticks=len({each.tick for each in told}),
        lost=owed - found,
        strange=found - owed,
        disordered=_disordered(messages),
    )


def _disordered(messages: Iterable[Message]) -> list[Told]:
    """Messages that are not later than the one of their key before them, or in another partition."""
    last: dict[str, tuple[int, int]] = {}
    found = []
    for message in messages:
        told = _told(message)
        partition, tick = last.get(told.key, (message.partition, -1))
        if message.partition != partition or told.tick <= tick:
            found.append(told)
        last[told.key] = (message.partition, told.tick)
    return found


def _told(message: Message) -> Told:
    assert message.key is not None
    value = None if message.value is None else plain(json.loads(message.value))
    return Told(int(message.headers[TICK] or -1), plain(json.loads(message.key)), value)


def content_of(rows: Iterable[Row], key: str) -> Content:
    """Rows under their key.  Two rows of one key would be a fault of the test."""
    pairs = [(plain({key: row[key]}), plain(row)) for row in rows]
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def plain(value: object) -> str:
    """JSON that is the same for the same value."""
    return json.dumps(value, sort_keys=True)
