"""Arithmetic on positions, and what makes a source stop."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.errors import InvalidOption, SqlError
from tailrace.sources.kafka_offsets import beyond, check_same
from tailrace.sources.kafka_start import StartOffset, StartTimestamp, start_of
from tailrace.sources.positions import capped, distance

positions = st.dictionaries(st.integers(0, 5), st.integers(0, 100))


@given(since=positions, further=positions, rows=st.integers(0, 300))
def test_a_capped_position_lies_between_and_uses_up_its_rows(
    since: dict[int, int], further: dict[int, int], rows: int
) -> None:
    until = {p: since.get(p, 0) + further.get(p, 0) for p in {*since, *further}}
    position = capped(since, until, rows)
    assert all(since.get(p, 0) <= position[p] <= until[p] for p in until)
    assert distance(since, position) == min(rows, distance(since, until))


def test_a_capped_position_is_fair() -> None:
    assert capped({}, {0: 1000, 1: 1000, 2: 10}, 110) == {0: 50, 1: 50, 2: 10}


def test_positions_go_to_the_end_and_new_partitions_begin_at_0() -> None:
    assert beyond({0: 5}, {0: 5, 1: 0}, {0: 9, 1: 3}, "t") == {0: 9, 1: 3}


def test_messages_deleted_before_they_were_read_are_an_error() -> None:
    with pytest.raises(SqlError) as raised:
        beyond({0: 5}, {0: 7}, {0: 9}, "t")
    assert raised.value.message == (
        "Low watermark 7 of kafka topic t partition 0 is past the start offset/resume upper: 5"
    )
    with pytest.raises(SqlError, match="Low watermark 1 of kafka topic t partition 1 is past"):
        beyond({0: 5}, {0: 5, 1: 1}, {0: 9, 1: 9}, "t")  # a partition that was never seen


def test_a_topic_that_became_shorter_is_an_error() -> None:
    with pytest.raises(SqlError, match="ends at offset 4, below the offset 5 that was already read"):
        beyond({0: 5}, {0: 0}, {0: 4}, "t")
    with pytest.raises(SqlError, match="has no partition 1 any more"):
        beyond({0: 5, 1: 5}, {0: 0}, {0: 9}, "t")


def test_another_topic_of_the_same_name_is_an_error() -> None:
    check_same("t", "a", "a")
    check_same("t", None, "a")
    check_same("t", "a", None)
    with pytest.raises(SqlError, match="kafka topic t was deleted and created again"):
        check_same("t", "a", "b")


def test_the_start_options_exclude_each_other() -> None:
    assert start_of(None, None) is None
    assert start_of((1, 2), None) == StartOffset((1, 2))
    assert start_of(None, -5) == StartTimestamp(-5)
    with pytest.raises(InvalidOption, match="cannot specify START TIMESTAMP and START OFFSET at same time"):
        start_of((1,), 5)
    with pytest.raises(InvalidOption, match="START OFFSET must be a nonnegative integer"):
        start_of((1, -1), None)
