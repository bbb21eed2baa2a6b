"""Lengths of time as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.sql.durations import parse_duration


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("1s", timedelta(seconds=1)),
        ("30", timedelta(seconds=30)),
        ("500 ms", timedelta(milliseconds=500)),
        ("5 Minutes", timedelta(minutes=5)),
        ("1h 30m", timedelta(minutes=90)),
        ("1 day, 2 hours", timedelta(hours=26)),
        ("00:01:30.5", timedelta(seconds=90.5)),
        ("1.5 hours", timedelta(minutes=90)),
        ("0s", timedelta()),
    ],
)
def test_a_length_of_time(text: str, length: timedelta) -> None:
    duration = parse_duration(text)
    assert duration is not None
    assert duration.length == length
    assert duration.text == text


@pytest.mark.parametrize("text", ["", " ", "soon", "5 fortnights", "-1s", "1s!", "9" * 15 + " weeks"])
def test_what_is_none(text: str) -> None:
    assert parse_duration(text) is None


@given(st.text(alphabet="0123456789:. smhdw", max_size=12))
def test_nothing_else_happens(text: str) -> None:
    parse_duration(text)
