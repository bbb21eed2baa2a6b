"""The judge must notice every way of being wrong."""

from __future__ import annotations

import json

import pytest
from benchmarks.verify import judge
from benchmarks.workloads.contract import Output

ROWS = {1: {"id": 1, "n": 10}, 2: {"id": 2, "n": 20}}
APPEND = Output(key="id", columns=("id", "n"), kind="append")
UPSERT = Output(key="id", columns=("id", "n"), kind="upsert")


class Record:
    """As much of a Kafka message as the judge looks at."""

    def __init__(self, offset: int, key: int, value: dict | None) -> None:
        self._offset, self._key = offset, b"%d" % key
        self._value = None if value is None else json.dumps(value).encode()

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes:
        return self._key

    def value(self) -> bytes | None:
        return self._value


def records(*pairs: tuple[int, dict | None]) -> list[Record]:
    return [Record(offset, key, value) for offset, (key, value) in enumerate(pairs)]


def test_the_expected_rows_are_exact():
    verdict = judge(records((1, ROWS[1]), (2, ROWS[2])), APPEND, "append", ROWS)
    assert verdict.correct
    assert verdict.settled[0] == 2


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param([(1, ROWS[1])], id="missing"),
        pytest.param([(1, ROWS[1]), (2, ROWS[2]), (2, ROWS[2])], id="twice"),
        pytest.param([(1, ROWS[1]), (2, {"id": 2, "n": 21})], id="wrong"),
        pytest.param([(1, ROWS[1]), (2, ROWS[2]), (3, {"id": 3, "n": 30})], id="too many"),
    ],
)
def test_an_append_topic_is_wrong_when_a_row_is(pairs):
    assert not judge(records(*pairs), APPEND, "append", ROWS).correct


def test_in_an_upsert_topic_the_last_message_of_a_key_wins():
    topic = records((1, {"id": 1, "n": 9}), (2, ROWS[2]), (1, ROWS[1]), (3, {"id": 3, "n": 1}), (3, None))
    assert judge(topic, UPSERT, "upsert", ROWS).correct


def test_an_upsert_topic_is_wrong_when_a_tombstone_is_missing():
    topic = records((1, ROWS[1]), (2, ROWS[2]), (3, {"id": 3, "n": 1}))
    assert not judge(topic, UPSERT, "upsert", ROWS).correct


def test_messages_that_change_nothing_do_not_move_the_settled_offset():
    topic = records((1, ROWS[1]), (2, ROWS[2]), (1, ROWS[1]))
    assert judge(topic, UPSERT, "upsert", ROWS).settled[0] == 2


def test_diffs_add_up_in_any_order_within_the_topic():
    old = {"id": 1, "n": 9}
    topic = records(
        (1, {**old, "diff": 1, "time": 0}),
        (1, {**ROWS[1], "diff": 1, "time": 2}),
        (1, {**old, "diff": -1, "time": 2}),
        (2, {**ROWS[2], "diff": 1, "time": 2}),
    )
    assert judge(topic, UPSERT, "diff", ROWS).correct
    assert not judge(topic[:2] + topic[3:], UPSERT, "diff", ROWS).correct
