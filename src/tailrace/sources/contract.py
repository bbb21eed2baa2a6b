"""Where rows come from.  A source is a log with positions; a tick fixes a position, and so the same rows for
ever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

from tailrace.ivm.views import Views
from tailrace.ivm.zset import ZSet

Offsets: TypeAlias = Mapping[int, int]
"""Partition → the next offset to read.  A partition that is missing has not been seen: it starts at its
beginning."""


class Log(Protocol):
    """One relation fed from outside.  The loop asks for `latest`, writes the answer to the tick log, then
    reads between two logged positions, now and again after every crash: the rows are the same each time."""

    def start(self) -> Offsets:
        """The position before the first row, fixed when the source was created."""

    def latest(self, known: Offsets) -> Offsets:
        """Where reading could go now (last stable offsets; never below `known`).  Asks the outside; cheap.

        Raises Unavailable if the outside does not answer, and SqlError if rows after `known` are gone for
        good (topic recreated, truncated, retention).
        """

    def capped(self, since: Offsets, until: Offsets, rows: int) -> Offsets:
        """A position between the two that is at most `rows` rows after `since`, fair over partitions."""

    def dead_letters(self, since: Offsets, until: Offsets, views: Views) -> ZSet:
        """The messages between two positions that could not be decoded, with the reason."""

    def commit(self, position: Offsets) -> None:
        """Tells the outside how far we are, for people to look at.  Never fails, never waits."""

    def is_done(self, position: Offsets) -> bool:
        """Nothing can ever come after this position: reading was told where to end."""

    def close(self) -> None: ...


class Source(Log, Protocol):
    """A log in which every message is a row."""

    def changes(self, since: Offsets, until: Offsets, views: Views) -> ZSet:
        """The rows between two positions as insertions; broken messages are left out."""

    def placed(self, since: Offsets, until: Offsets, views: Views) -> str | None:
        """Spark text of the same rows, c0 …, with the partition of each as `place`; None if there are none."""
