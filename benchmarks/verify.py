"""The judge: folds the committed output into a table and compares it with the expected rows, all of them.

Three envelopes exist in the wild.  `append`: each message is a row.  `upsert`: the last message of a Kafka key
wins, a tombstone removes.  `diff`: Pathway's stream of updates, each row with a +1 or a -1.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from confluent_kafka import Message as Record

from benchmarks.settings import PARTITIONS
from benchmarks.workloads.contract import Output, Row, Rows

Envelope: TypeAlias = Literal["append", "upsert", "diff"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    correct: bool
    detail: str
    messages: int
    settled: tuple[int, ...]  # per partition, the offset after the last message that changed the table


@dataclass
class _Fold:
    messages: int = 0
    settled: list[int] = field(default_factory=lambda: [0] * PARTITIONS)

    def mark(self, record: Record) -> None:
        self.settled[record.partition()] = record.offset() + 1


def judge(records: Iterable[Record], output: Output, envelope: Envelope, expected: Rows) -> Verdict:
    fold = _Fold()
    rows = {"append": _append, "upsert": _upsert, "diff": _diff}[envelope](records, fold)
    correct, detail = compare(rows, output, expected)
    return Verdict(correct=correct, detail=detail, messages=fold.messages, settled=tuple(fold.settled))


def compare(rows: Iterable[Row], output: Output, expected: Rows) -> tuple[bool, str]:
    """Whether `rows` is exactly the expected table: no row missing, none wrong, none twice, none too many."""
    seen: set[int | str] = set()
    wrong = twice = 0
    example = ""
    for row in rows:
        key = row[output.key]
        projected = {column: row[column] for column in output.columns}
        if key in seen:
            twice += 1
            example = example or f"twice: {projected}"
        elif expected.get(key) != projected:
            wrong += 1
            example = example or f"got {projected}, expected {expected.get(key)}"
        seen.add(key)
    missing = len(expected.keys() - seen)
    correct = not (wrong or twice or missing)
    return correct, "exact" if correct else f"{wrong} wrong, {twice} twice, {missing} missing; {example}"


def observed_row(record: Record, envelope: Envelope) -> Row | None:
    """The row that this message asserts, or None if it removes one."""
    if record.value() is None:
        return None
    row = json.loads(record.value())
    if envelope == "diff" and row["diff"] < 0:
        return None
    return row


def _append(records: Iterable[Record], fold: _Fold) -> Iterable[Row]:
    for record in records:
        fold.messages += 1
        fold.mark(record)
        yield json.loads(record.value())


def _upsert(records: Iterable[Record], fold: _Fold) -> Iterable[Row]:
    table: dict[bytes, bytes] = {}
    for record in records:
        fold.messages += 1
        key, value = record.key(), record.value()
        if table.get(key) != value:
            fold.mark(record)
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
    return [json.loads(value) for value in table.values()]


def _diff(records: Iterable[Record], fold: _Fold) -> Iterable[Row]:
    weights: Counter[str] = Counter()
    for record in records:
        fold.messages += 1
        fold.mark(record)
        row = json.loads(record.value())
        weight = row.pop("diff")
        row.pop("time")
        weights[json.dumps(row, sort_keys=True)] += weight
    rows = []
    for text, weight in weights.items():
        rows += [json.loads(text)] * abs(weight)  # a negative weight shows up as a wrong row
    return rows
