"""The judge: reads input and output as any consumer would, and compares.  Shares no code with the engine.

A region's counts only grow, so every committed message must be newer than the one before it, and the last must be
what the input says.  A message that repeats a tick or a count is a duplicate; a region that is missing is lost.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tailrace.testing.topics import Message


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    pageviews: int
    messages: int
    lost: int
    duplicated: int
    wrong: int

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.duplicated or self.wrong)

    def __str__(self) -> str:
        return f"lost {self.lost}, duplicated {self.duplicated}, wrong {self.wrong}"


def judge(pageviews: Iterable[Message], output: Iterable[Message]) -> Verdict:
    """`output` in the order of each partition; both read with isolation level read_committed."""
    expected, count = _recompute(pageviews)
    last: dict[str, dict[str, int]] = {}
    ticks: dict[str, int] = {}
    messages = duplicated = 0
    for message in output:
        assert message.key is not None
        assert message.value is not None
        messages += 1
        region = json.loads(message.key)["region"]
        row = json.loads(message.value)
        tick = int(message.headers["materialize-timestamp"] or 0)
        if tick <= ticks.get(region, 0) or (region in last and row["pv"] <= last[region]["pv"]):
            duplicated += 1
        ticks[region] = tick
        last[region] = row
    lost = sum(1 for region in expected if region not in last)
    wrong = sum(1 for region, row in last.items() if (row["pv"], row["uv"]) != expected.get(region))
    return Verdict(pageviews=count, messages=messages, lost=lost, duplicated=duplicated, wrong=wrong)


def _recompute(pageviews: Iterable[Message]) -> tuple[dict[str, tuple[int, int]], int]:
    views: defaultdict[str, int] = defaultdict(int)
    users: defaultdict[str, set[int]] = defaultdict(set)
    count = 0
    for message in pageviews:
        assert message.value is not None
        view = json.loads(message.value)
        views[view["user_region"]] += 1
        users[view["user_region"]].add(view["user_id"])
        count += 1
    return {region: (views[region], len(users[region])) for region in views}, count
