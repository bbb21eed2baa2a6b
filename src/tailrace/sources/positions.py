"""Arithmetic on positions in a log of several partitions.  A partition that is missing stands at 0."""

from __future__ import annotations

from tailrace.sources.contract import Offsets


def distance(since: Offsets, until: Offsets) -> int:
    """How many offsets lie between two positions; at most so many messages do."""
    return sum(sizes(since, until).values())


def sizes(since: Offsets, until: Offsets) -> dict[int, int]:
    """How many offsets lie in between in each partition that has any."""
    return {p: end - since.get(p, 0) for p, end in sorted(until.items()) if end > since.get(p, 0)}


def capped(since: Offsets, until: Offsets, rows: int) -> Offsets:
    """At most `rows` offsets after `since`: each partition gets an equal share, and what others leave of
    theirs."""
    left = sizes(since, until)
    position = {**since, **{p: since.get(p, 0) for p in until}}
    for number, partition in enumerate(sorted(left, key=lambda p: (left[p], p))):  # the shortest first
        share = min(left[partition], rows // (len(left) - number))
        position[partition] += share
        rows -= share
    return position
