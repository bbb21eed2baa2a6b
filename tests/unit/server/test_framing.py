"""A byte stream is cut at the same places however it arrives, and bad lengths are found out at once."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.server import messages as wire
from tailrace.server.fields import ProtocolViolation
from tailrace.server.framing import Framer, Phase
from tailrace.server.messages import Message, encode

STARTUP = wire.StartupMessage(3 << 16, (("user", "me"),))


def framer(phase: Phase, limit: int = 1000) -> Framer:
    made = Framer(limit)
    made.phase = phase
    return made


def drain(made: Framer) -> list[Message]:
    return list(iter(made.next, None))


@given(st.lists(st.integers(min_value=1, max_value=9), min_size=1, max_size=40))
def test_messages_are_the_same_in_any_pieces(sizes: list[int]) -> None:
    sent = [wire.Query("select 1"), wire.Sync(), wire.Bind("", "", (), (None, b"x"), ())]
    data = b"".join(map(encode, sent))
    made, found = framer(Phase.SESSION), []
    for size in sizes:
        made.feed(data[:size])
        data = data[size:]
        found += drain(made)
    made.feed(data)
    assert [*found, *drain(made)] == sent
    assert made.held == 0


def test_startup_packets_have_no_tag() -> None:
    made = framer(Phase.STARTUP)
    made.feed(encode(wire.EncryptionRequest(wire.SSL_CODE)) + encode(STARTUP))
    assert drain(made) == [wire.EncryptionRequest(wire.SSL_CODE), STARTUP]


@pytest.mark.parametrize(
    ("phase", "data"),
    [
        (Phase.STARTUP, b"\x00\x00\x00\x03"),
        (Phase.STARTUP, b"\x7f\xff\xff\xff"),
        (Phase.STARTUP, b"\xff\xff\xff\xff"),
        (Phase.STARTUP, b"GET / HTTP/1.1\r\n\r\n"),
        (Phase.STARTUP, b"\x16\x03\x01\x02\x00\x01"),
        (Phase.AUTHENTICATION, b"Q"),
        (Phase.AUTHENTICATION, b"p\x00\x01\x00\x00"),
        (Phase.SESSION, b"\x00"),
        (Phase.SESSION, b"p"),
        (Phase.SESSION, b"Q\x00\x00\x00\x03"),
        (Phase.SESSION, b"Q\x00\x00\x03\xe9"),
        (Phase.SESSION, b"S\x00\x01\x00\x00"),
    ],
)
def test_what_cannot_become_a_message_is_refused_at_once(phase: Phase, data: bytes) -> None:
    made = framer(phase)
    made.feed(data)
    with pytest.raises(ProtocolViolation):
        made.next()


def test_a_violation_stays() -> None:
    made = framer(Phase.SESSION)
    made.feed(encode(wire.Sync()) + b"Q\0\0\0\x05x" + encode(wire.Sync()))
    assert made.next() == wire.Sync()
    for _ in range(2):
        with pytest.raises(ProtocolViolation):
            made.next()


@given(st.sampled_from(list(Phase)), st.binary(max_size=100))
def test_any_bytes_are_messages_or_a_violation(phase: Phase, data: bytes) -> None:
    made = framer(phase)
    made.feed(data)
    with suppress(ProtocolViolation):
        drain(made)
