"""A consumer that does not end holds nobody up."""

from __future__ import annotations

import threading

import pytest

from tailrace.kafka import closing


class Stuck:
    """What librdkafka's consumer was seen to be, once in many hundred times: nothing makes it so at will."""

    def __init__(self) -> None:
        self.begun, self.free = threading.Event(), threading.Event()

    def close(self) -> None:
        self.begun.set()
        self.free.wait()


def test_a_consumer_that_does_not_end_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(closing, "_PATIENCE_SECONDS", 0.05)
    stuck = Stuck()
    closing.close(stuck)
    assert stuck.begun.is_set()
    assert "did not end" in caplog.text
    stuck.free.set()


def test_one_that_ends_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    quick = Stuck()
    quick.free.set()
    closing.close(quick)
    assert quick.begun.is_set()
    assert not caplog.text
