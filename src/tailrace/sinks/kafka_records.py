"""Progress records: how a sink's target says what it durably holds.  Pure: no Kafka here.

A sink's records, each written in a transaction of whoever is named:

    mz-sink-{id}         {"frontier":[T],"version":V}  by the driver: everything before T is in the topic
    mz-sink-{id}-slots   {"tick":t,"slots":n,…}        by the driver, before the n slots of t begin
    mz-sink-{id}-{slot}  {"frontier":[t+1],…}          by a slot: its part of t is in the topic
    mz-sink-{id}-owner   {"owner":o,…}                 by the driver: slots planned by others must stop

They are folded in the order of their offsets.  A sink's own record settles everything before it, so nothing
older than the last one needs to be read.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from tailrace.errors import Fenced, SqlError

ENDED = 2**63 - 1
"""The frontier of a sink whose input has ended: nothing is ever owed again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """A tick that is written in slots.  A replay keeps to it, whatever it would choose itself.

    `placed`: a row's slot is its place in the log that it comes from; otherwise a matter of its bytes.
    """

    tick: int
    slots: int
    partitions: int
    owner: str
    placed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """What the records say.

    `plan`: a tick begun in slots and not settled; `done`: its slots that hold it.  `owner`: who alone may
    write slots.  `hidden_slots`: how many slots a plan may have that nobody can read yet.  `end`: where the
    topic ended.
    """

    frontier: int | None = None
    plan: Plan | None = None
    done: frozenset[int] = frozenset()
    owner: str | None = None
    hidden_slots: int = 0
    end: int = 0

    @property
    def slots(self) -> int:
        """Slots that somebody may still be writing."""
        return max(self.hidden_slots, self.plan.slots if self.plan else 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Records:
    """Writes and reads the records of one sink.  `key` is that of its own one."""

    sink: str
    key: str
    version: int

    def frontier(self, frontier: int) -> tuple[str, str]:
        return self._record("", frontier=[frontier])

    def plan(self, plan: Plan) -> tuple[str, str]:
        return self._record("-slots", **asdict(plan))

    def slot(self, slot: int, tick: int) -> tuple[str, str]:
        return self._record(f"-{slot}", frontier=[tick + 1])

    def owner(self, owner: str) -> tuple[str, str]:
        return self._record("-owner", owner=owner)

    def _record(self, suffix: str, **members: object) -> tuple[str, str]:
        value = json.dumps({**members, "version": self.version}, separators=(",", ":"))
        return self.key + suffix, value

    def fold(self, held: Held, key: bytes | None, value: bytes | None) -> Held:
        """What is held after one more record, ours or another sink's."""
        name = (key or b"").decode(errors="replace")
        if name != self.key and not name.startswith(f"{self.key}-"):
            return held
        members = self._parsed(name, value)
        match name.removeprefix(self.key):
            case "":
                return self._settled(held, members)
            case "-owner":
                return replace(held, owner=members.get("owner"))
            case "-slots":
                return _planned(held, members)
            case slot if slot[1:].isdigit():
                return _slot_done(held, int(slot[1:]), members)
        return held

    def _parsed(self, name: str, value: bytes | None) -> dict[str, Any]:
        """A record without a value has been deleted: it says nothing."""
        try:
            members = json.loads(value or b"{}")
        except ValueError:
            members = None
        if not isinstance(members, dict):
            raise SqlError(f'unreadable progress record "{name}" of sink "{self.sink}"', sqlstate="55000")
        theirs = members.get("version", 0)
        if theirs > self.version:
            raise Fenced(f"Fenced off by newer version of the sink. ours={self.version} theirs={theirs}")
        return members

    def _settled(self, held: Held, members: dict[str, Any]) -> Held:
        frontier = _frontier(members)
        if frontier is not None and held.frontier is not None and frontier < held.frontier:
            raise SqlError(
                f'upper regressed in the progress of sink "{self.sink}": {held.frontier} to {frontier}',
                detail=f"Somebody else writes records with key {self.key}.",
                sqlstate="55000",
            )
        return Held(frontier=frontier)


def _frontier(members: dict[str, Any]) -> int | None:
    if "frontier" in members:
        return int(members["frontier"][0]) if members["frontier"] else ENDED
    return int(members["timestamp"]) + 1 if "timestamp" in members else None  # of very old versions


def _planned(held: Held, members: dict[str, Any]) -> Held:
    if "tick" not in members:
        return replace(held, plan=None, done=frozenset())
    plan = Plan(**{each.name: members[each.name] for each in fields(Plan) if each.name in members})
    return replace(held, plan=plan, done=frozenset(), owner=plan.owner)


def _slot_done(held: Held, slot: int, members: dict[str, Any]) -> Held:
    """A slot's record counts for the tick it names; compaction keeps those of older ticks."""
    if held.plan is None or _frontier(members) != held.plan.tick + 1:
        return held
    return replace(held, done=held.done | {slot})
