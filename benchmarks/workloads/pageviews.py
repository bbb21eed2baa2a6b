"""Pageviews: an append-only topic of JSON views, without a key.  Shared by W1 and W2.

All views of a region are in one partition, so that a region's count says which views it reflects.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from benchmarks.settings import PARTITIONS
from benchmarks.workloads.contract import Message

BACKLOG = 2_000_000
REGIONS, USERS, PAGES = 1_000, 100_000, 10_000

_TEMPLATE = b'{"view_id":%d,"user_id":%d,"page_id":%d,"viewtime":"2026-11-15 %02d:%02d:%02d.%03d","user_region":"region-%03d"}'


def pageviews(seed: int, count: int) -> Iterator[Message]:
    draw = random.Random(seed).random
    for view_id in range(count):
        region = int(draw() * REGIONS)
        seconds, millis = divmod(view_id, 1000)
        value = _TEMPLATE % (
            view_id,
            int(draw() * USERS),
            int(draw() * PAGES),
            seconds // 3600 % 24,
            seconds // 60 % 60,
            seconds % 60,
            millis,
            region,
        )
        yield "pageviews", region % PARTITIONS, None, value
