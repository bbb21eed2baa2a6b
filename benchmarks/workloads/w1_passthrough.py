"""W1, passthrough:  SELECT view_id, user_id, viewtime, UPPER(user_region) AS region
FROM pageviews WHERE page_id < 5000   → an append topic.  Every view that passes must be there exactly once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.workloads.contract import Message, Output, Row, Rows, Stream
from benchmarks.workloads.pageviews import BACKLOG, pageviews

_BASE = 20_000
PAGE_LIMIT = 5_000


class Passthrough:
    name = "w1"
    title = "W1 passthrough: filter, projection, UPPER → append topic"
    dataset = "pageviews"
    inputs = ("pageviews",)
    output = Output(key="view_id", columns=("view_id", "user_id", "viewtime", "region"), kind="append")

    def backlog(self, seed: int) -> Iterator[Message]:
        return pageviews(seed, BACKLOG)

    def stream(self, seed: int, paced: int) -> Stream:
        messages = list(pageviews(seed, _BASE + paced))
        return Stream(base=messages[:_BASE], paced=messages[_BASE:], tracker=_ByViewId(messages[_BASE:]))

    def expected(self, messages: Iterable[Message]) -> Rows:
        rows: Rows = {}
        for _, _, _, value in messages:
            view = json.loads(value)
            if view["page_id"] < PAGE_LIMIT:
                rows[view["view_id"]] = {
                    "view_id": view["view_id"],
                    "user_id": view["user_id"],
                    "viewtime": view["viewtime"],
                    "region": view["user_region"].upper(),
                }
        return rows


class _ByViewId:
    """An output row carries the id of the one view it came from."""

    def __init__(self, paced: Sequence[Message]) -> None:
        views = [json.loads(value) for _, _, _, value in paced]
        self._numbers = {v["view_id"]: n for n, v in enumerate(views) if v["page_id"] < PAGE_LIMIT}

    def probes(self) -> Sequence[int]:
        return list(self._numbers.values())

    def observe(self, row: Row, sent: int) -> Iterable[int]:
        number = self._numbers.get(row["view_id"])
        return () if number is None else (number,)
