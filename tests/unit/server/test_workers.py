"""Calls that block have a thread each, and threads are used again."""

from __future__ import annotations

from threading import Event, current_thread

import pytest

from tailrace.server.workers import Workers


def test_calls_that_block_do_not_hold_up_others() -> None:
    workers, gate = Workers("test"), Event()
    blocked = [workers.submit(gate.wait) for _ in range(20)]
    assert workers.submit(lambda: 42).result(timeout=30) == 42
    gate.set()
    assert all(future.result(timeout=30) for future in blocked)


def test_threads_are_daemons_and_used_again() -> None:
    workers = Workers("test")
    threads = {workers.submit(current_thread).result(timeout=30) for _ in range(50)}
    assert all(thread.daemon for thread in threads)
    assert len(threads) < 50


def test_errors_belong_to_whoever_waits() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Workers("test").submit(fail).result(timeout=30)
