"""W4, latest row per key:  SELECT device_id, updated_at, status, reading FROM (SELECT *, ROW_NUMBER() OVER
(PARTITION BY device_id ORDER BY updated_at DESC) AS place FROM readings) WHERE place = 1   → upsert by device.

One message in ten arrives late: it carries an older `updated_at` and must not win over a newer row.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.settings import PARTITIONS
from benchmarks.workloads.contract import Message, Output, Row, Rows, Stream

BACKLOG, DEVICES = 1_000_000, 200_000
_BASE = 100_000
_STATUS = (b"ok", b"warm", b"hot", b"off")


def _readings(seed: int, count: int) -> Iterator[Message]:
    rng = random.Random(seed)
    draw = rng.random
    for number in range(count):
        device = int(draw() * DEVICES)
        updated_at = number * 10
        if draw() < 0.10:  # late; the last digit keeps it apart from every row that was on time
            updated_at = (number - int(draw() * min(number, 500_000))) * 10 + 1 + int(draw() * 9)
        value = b'{"device_id":%d,"updated_at":%d,"status":"%s","reading":%d}' % (
            device,
            updated_at,
            _STATUS[int(draw() * 4)],
            int(draw() * 100_000),
        )
        yield "readings", device % PARTITIONS, None, value


class LatestReading:
    name = "w4"
    title = "W4 latest row per key: ROW_NUMBER() = 1 → upsert topic"
    dataset = "readings"
    inputs = ("readings",)
    output = Output(key="device_id", columns=("device_id", "updated_at", "status", "reading"), kind="upsert")

    def backlog(self, seed: int) -> Iterator[Message]:
        return _readings(seed, BACKLOG)

    def stream(self, seed: int, paced: int) -> Stream:
        messages = list(_readings(seed, _BASE + paced))
        tracker = _ByTime(messages[:_BASE], messages[_BASE:])
        return Stream(base=messages[:_BASE], paced=messages[_BASE:], tracker=tracker)

    def expected(self, messages: Iterable[Message]) -> Rows:
        rows: Rows = {}
        for _, _, _, value in messages:
            reading = json.loads(value)
            latest = rows.get(reading["device_id"])
            if latest is None or latest["updated_at"] < reading["updated_at"]:
                rows[reading["device_id"]] = reading
            elif latest["updated_at"] == reading["updated_at"]:
                raise ValueError(f"the generator made a tie: {reading}")
        return rows


class _ByTime:
    """A device's row reflects every reading that was, when sent, newer than all before it and not newer than the row."""

    def __init__(self, base: Sequence[Message], paced: Sequence[Message]) -> None:
        newest: dict[int, int] = {}
        for _, _, _, value in base:
            reading = json.loads(value)
            newest[reading["device_id"]] = max(reading["updated_at"], newest.get(reading["device_id"], -1))
        self._waiting: dict[int, list[tuple[int, int]]] = {}
        for number, (_, _, _, value) in enumerate(paced):
            reading = json.loads(value)
            if reading["updated_at"] > newest.get(reading["device_id"], -1):
                newest[reading["device_id"]] = reading["updated_at"]
                self._waiting.setdefault(reading["device_id"], []).append((reading["updated_at"], number))
        self._probes = [number for waiting in self._waiting.values() for _, number in waiting]

    def probes(self) -> Sequence[int]:
        return self._probes

    def observe(self, row: Row, sent: int) -> Iterable[int]:
        waiting = self._waiting.get(row["device_id"])
        if not waiting:
            return ()
        reflected = [number for updated_at, number in waiting if updated_at <= row["updated_at"]]
        del waiting[: len(reflected)]
        return reflected
