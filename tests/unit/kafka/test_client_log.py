"""A client that repeats itself is heard once a minute."""

import logging

from tailrace.kafka.client_log import Seldom


def lines(*said: tuple[float, str]) -> list[str]:
    clock = iter(at for at, _ in said)
    heard = []
    filter = Seldom(now=lambda: next(clock))
    for _, text in said:
        record = logging.LogRecord("kafka", logging.ERROR, "", 0, text, (), None)
        if filter.filter(record):
            heard.append(record.getMessage())
    return heard


def test_a_line_that_differs_in_numbers_only_is_a_repetition():
    assert lines((0, "failed after 12ms"), (1, "failed after 900ms"), (2, "something else")) == [
        "failed after 12ms",
        "something else",
    ]


def test_after_a_minute_it_is_said_again_and_how_often_it_was_not():
    assert lines((0, "broker 1 down"), (1, "broker 1 down"), (59, "broker 1 down"), (61, "broker 1 down")) == [
        "broker 1 down",
        "broker 1 down (and 2 times before)",
    ]


def test_what_is_remembered_does_not_grow():
    heard = lines(*((0, "x" * n) for n in range(2_500)))
    assert len(heard) == 2_500
