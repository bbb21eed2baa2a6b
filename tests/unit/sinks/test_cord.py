"""Whoever waits at a connection is told at once when it is cut."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

from tailrace.sinks.cord import Cord


def test_one_who_waits_is_told_and_so_is_the_other_end() -> None:
    here, there = socket.socketpair()
    with here, there, ThreadPoolExecutor() as beside:
        cord = Cord(here.fileno())
        waiting = beside.submit(here.recv, 1)
        cord.cut()
        assert waiting.result(60) == b""
        assert there.recv(1) == b""
        cord.cut()  # nothing more to cut
        cord.close()
        cord.cut()


def test_a_descriptor_that_was_closed_and_given_away_is_left_alone() -> None:
    here, there = socket.socketpair()
    cord = Cord(here.fileno())
    number = here.fileno()
    here.close()
    others, far = socket.socketpair()
    with there, others, far:
        assert number in (others.fileno(), far.fileno())
        cord.cut()
        assert there.recv(1) == b""
        others.send(b"x")
        assert far.recv(1) == b"x"
    cord.close()
