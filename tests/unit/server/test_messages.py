"""Bytes <-> messages: what is written is read back, and what cannot be read is an error, never a crash."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.server import messages as wire
from tailrace.server.fields import ProtocolViolation
from tailrace.server.messages import BACKEND, FRONTEND, Message, decode, decode_startup, encode

SENT_BY_CLIENTS: list[Message] = [
    wire.PasswordMessage(b"secret\0"),
    wire.Query("select 'é'"),
    wire.Parse("s", "select $1", (23, 0)),
    wire.Bind("p", "s", (0, 1), (b"1", None), (1,)),
    wire.Describe(b"S", "s"),
    wire.Execute("p", 100),
    wire.Close(b"P", ""),
    wire.Flush(),
    wire.Sync(),
    wire.Terminate(),
    wire.FunctionCall(b"\0\1\2"),
    wire.CopyData(b"1\tx\n"),
    wire.CopyDone(),
    wire.CopyFail("no more"),
]
SENT_BY_US: list[Message] = [
    wire.Authentication(),
    wire.Authentication(10, b"SCRAM-SHA-256\0\0"),
    wire.BackendKeyData(7, b"abcd"),
    wire.NegotiateProtocolVersion(3 << 16, ("_pq_.x", "_pq_.y")),
    wire.ParameterStatus("TimeZone", "UTC"),
    wire.ReadyForQuery(b"T"),
    wire.RowDescription((wire.ResultColumn("é", 23, 4, -1, 1), wire.ResultColumn("", 16464))),
    wire.DataRow((b"1", None, b"")),
    wire.CommandComplete("SELECT 1"),
    wire.ErrorResponse((("S", "ERROR"), ("C", "42601"), ("M", "no"))),
    wire.NoticeResponse((("M", "so"),)),
    wire.ParameterDescription((23, 25)),
    wire.CopyOutResponse(b"\0", (0, 0)),
    wire.CopyInResponse(b"\0", (0, 0)),
    wire.EmptyQueryResponse(),
    wire.NoData(),
    wire.ParseComplete(),
    wire.BindComplete(),
    wire.CloseComplete(),
    wire.PortalSuspended(),
]
SENT_FIRST: list[Message] = [
    wire.StartupMessage(3 << 16, (("user", "me"), ("database", "é"))),
    wire.CancelRequest(wire.CANCEL_CODE, 7, b"abcd"),
    wire.EncryptionRequest(wire.SSL_CODE),
    wire.EncryptionRequest(wire.GSS_CODE),
]


@pytest.mark.parametrize("message", SENT_BY_CLIENTS, ids=lambda m: type(m).__name__)
def test_clients_messages_are_read_as_written(message: Message) -> None:
    data = encode(message)
    assert int.from_bytes(data[1:5], "big") == len(data) - 1
    assert decode(data[:1], data[5:]) == message


@pytest.mark.parametrize("message", SENT_BY_US, ids=lambda m: type(m).__name__)
def test_our_messages_are_read_as_written(message: Message) -> None:
    data = encode(message)
    assert int.from_bytes(data[1:5], "big") == len(data) - 1
    assert decode(data[:1], data[5:], BACKEND) == message


@pytest.mark.parametrize("message", SENT_FIRST, ids=lambda m: type(m).__name__)
def test_startup_packets_are_read_as_written(message: Message) -> None:
    data = encode(message)
    assert int.from_bytes(data[:4], "big") == len(data)
    assert decode_startup(data[4:]) == message


def test_every_message_is_tried_above() -> None:
    assert {type(m) for m in SENT_BY_CLIENTS} == set(FRONTEND.values())
    assert {type(m) for m in SENT_BY_US} | {wire.CopyData, wire.CopyDone} == set(BACKEND.values())


def test_the_bytes_are_those_of_the_protocol() -> None:
    assert encode(wire.Query("x")) == b"Q\0\0\0\x06x\0"
    assert encode(wire.DataRow((b"ab", None))) == b"D\0\0\0\x10\0\x02\0\0\0\x02ab\xff\xff\xff\xff"
    assert (
        encode(wire.Bind("", "s", (1,), (None,), ())) == b"B\0\0\0\x13\0s\0\0\1\0\1\0\1\xff\xff\xff\xff\0\0"
    )


@pytest.mark.parametrize("message", SENT_BY_CLIENTS, ids=lambda m: type(m).__name__)
def test_bytes_too_many_or_too_few_are_refused(message: Message) -> None:
    body = encode(message)[5:]
    if message.layout and message.layout[-1] is not wire.REST:
        with pytest.raises(ProtocolViolation):
            decode(message.tag, body[:-1])
    if not message.layout or message.layout[-1] is not wire.REST:
        with pytest.raises(ProtocolViolation):
            decode(message.tag, body + b"\0")


@given(st.sampled_from(sorted(FRONTEND)), st.binary(max_size=200))
def test_any_body_is_a_message_or_a_violation(tag: bytes, body: bytes) -> None:
    with suppress(ProtocolViolation):
        message = decode(tag, body)
        assert type(message) is FRONTEND[tag]


@given(st.binary(max_size=200))
def test_any_startup_packet_is_a_message_or_a_violation(body: bytes) -> None:
    with suppress(ProtocolViolation):
        decode_startup(body)


@given(st.text(), st.lists(st.one_of(st.none(), st.binary(max_size=20)), max_size=5).map(tuple))
def test_texts_and_values_survive(text: str, values: tuple[bytes | None, ...]) -> None:
    query = wire.Query(text.replace("\0", ""))
    assert decode(b"Q", encode(query)[5:]) == query
    bind = wire.Bind("", "", (), values, ())
    assert decode(b"B", encode(bind)[5:]) == bind


def test_a_zero_byte_cannot_forge_fields() -> None:
    error = wire.ErrorResponse((("M", "a\0C00000"),))
    assert decode(b"E", encode(error)[5:], BACKEND) == wire.ErrorResponse((("M", "aC00000"),))


def test_a_count_beyond_the_bytes_is_not_believed() -> None:
    with pytest.raises(ProtocolViolation, match="insufficient data"):
        decode(b"P", b"\0\0\xff\xff")
