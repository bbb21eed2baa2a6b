"""W2, keyed aggregation:  SELECT user_region, COUNT(*) AS pv, COUNT(DISTINCT user_id) AS uv
FROM pageviews GROUP BY user_region   → an upsert topic keyed by user_region.  (The example of Flink's upsert-kafka page.)
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.workloads.contract import Message, Output, Row, Rows, Stream
from benchmarks.workloads.pageviews import BACKLOG, pageviews

_BASE = 100_000


class Regions:
    name = "w2"
    title = "W2 aggregation: COUNT(*), COUNT(DISTINCT user_id) per region → upsert topic"
    dataset = "pageviews"
    inputs = ("pageviews",)
    output = Output(key="user_region", columns=("user_region", "pv", "uv"), kind="upsert")

    def backlog(self, seed: int) -> Iterator[Message]:
        return pageviews(seed, BACKLOG)

    def stream(self, seed: int, paced: int) -> Stream:
        messages = list(pageviews(seed, _BASE + paced))
        return Stream(
            base=messages[:_BASE],
            paced=messages[_BASE:],
            tracker=_ByCount(messages[:_BASE], messages[_BASE:]),
        )

    def expected(self, messages: Iterable[Message]) -> Rows:
        views: Counter[str] = Counter()
        users: defaultdict[str, set[int]] = defaultdict(set)
        for _, _, _, value in messages:
            view = json.loads(value)
            views[view["user_region"]] += 1
            users[view["user_region"]].add(view["user_id"])
        return {r: {"user_region": r, "pv": views[r], "uv": len(users[r])} for r in views}


class _ByCount:
    """A region's count only grows and its views keep their order: a count of n reflects its first n views."""

    def __init__(self, base: Sequence[Message], paced: Sequence[Message]) -> None:
        self._counted = Counter(json.loads(value)["user_region"] for _, _, _, value in base)
        self._waiting: defaultdict[str, list[int]] = defaultdict(list)
        for number, (_, _, _, value) in enumerate(paced):
            self._waiting[json.loads(value)["user_region"]].append(number)
        self._base = Counter(self._counted)
        self._total = len(paced)

    def probes(self) -> Sequence[int]:
        return range(self._total)

    def observe(self, row: Row, sent: int) -> Iterable[int]:
        region, count = row["user_region"], row["pv"]
        seen = self._counted[region]
        if count <= seen:
            return ()
        self._counted[region] = count
        start = self._base[region]
        return self._waiting[region][seen - start : count - start]
