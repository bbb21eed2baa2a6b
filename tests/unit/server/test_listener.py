"""The server on real sockets: bad clients, leaving clients, slow clients, cancels, and its own end."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailrace.errors import SqlError
from tailrace.server import Scram, Server, TooOpen, Verifier
from tailrace.server import messages as wire
from tailrace.server.messages import Message, encode
from unit.server.conftest import PATIENCE, Running, StartServer
from unit.server.fake_engine import FakeSession


def fatal(messages: list[Message | None]) -> str:
    """The SQLSTATE of the one FATAL error among the messages."""
    errors = [dict(m.fields) for m in messages if isinstance(m, wire.ErrorResponse)]
    assert [error["S"] for error in errors] == ["FATAL"]
    return errors[0]["C"]


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "gave up waiting"
        time.sleep(0.005)


def assert_serves(running: Running) -> None:
    with running.raw() as client:
        client.start()
        assert isinstance(client.ask("select 1")[-1], wire.ReadyForQuery)


def test_a_client_is_greeted(running: Running) -> None:
    with running.raw() as client:
        answers = client.start(application_name="raw", jit="off", TimeZone="Mars")
    assert answers[0] == wire.Authentication()
    assert wire.ParameterStatus("application_name", "raw") in answers
    assert sum(isinstance(m, wire.NoticeResponse) for m in answers) == 1
    assert isinstance(answers[-2], wire.BackendKeyData)
    assert answers[-1] == wire.ReadyForQuery(b"I")
    startup = running.sessions[0].startup
    assert startup is not None
    assert (startup.user, startup.database, startup.address) == ("me", None, "127.0.0.1")


def test_encryption_is_declined_without_a_certificate(running: Running) -> None:
    with running.raw() as client:
        client.send(wire.EncryptionRequest(wire.GSS_CODE))
        assert client.byte() == b"N"
        client.send(wire.EncryptionRequest(wire.SSL_CODE))
        assert client.byte() == b"N"
        assert client.start()[-1] == wire.ReadyForQuery(b"I")


def test_a_newer_protocol_is_negotiated(running: Running) -> None:
    with running.raw() as client:
        answers = client.start(3 << 16 | 9999)
        assert answers[0] == wire.NegotiateProtocolVersion(3 << 16 | 2)
        assert client.key is not None
        assert len(client.key.secret) == 32
    with psycopg.connect(running.url, max_protocol_version="3.2") as connection:
        assert connection.execute("select 1").fetchone() == (1,)


GARBAGE = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\xff" * 50,
    b"\0\0\0\4",
    b"\0\0\0\x09\0\3\0\0x",
    b"\0\0\0\x08" + bytes(4),
]


@pytest.mark.parametrize("data", GARBAGE)
def test_garbage_instead_of_a_startup_packet_is_refused(running: Running, data: bytes) -> None:
    with running.raw() as client:
        client.socket.sendall(data)
        assert fatal([client.receive()]) in ("08P01", "0A000")
        assert client.receive() is None
    assert_serves(running)


@pytest.mark.parametrize(
    "data", [b"?", b"Q\x7f\xff\xff\xff", b"Q\0\0\0\0", b"B\0\0\0\x07\0\0\0", b"p\0\0\0\4"]
)
def test_garbage_in_a_session_ends_it(running: Running, data: bytes) -> None:
    with running.raw() as client:
        client.start()
        client.socket.sendall(encode(wire.Query("select 1")) + data)
        assert client.until_ready()[-1] == wire.ReadyForQuery(b"I")
        assert fatal([client.receive()]) == "08P01"
        assert client.receive() is None
    eventually(running.sessions[0].closed.is_set)
    assert_serves(running)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.booleans(), st.binary(max_size=60), st.booleans())
def test_any_bytes_end_in_an_answer_or_the_end(
    running: Running, greeted: bool, data: bytes, as_query: bool
) -> None:
    with running.raw() as client:
        if greeted:
            client.start()
        with suppress(ConnectionError):
            client.socket.sendall(
                b"Q" + (len(data) + 5).to_bytes(4, "big") + data + b"\0" if as_query else data
            )
            client.socket.shutdown(socket.SHUT_WR)
        while client.receive() is not None:
            pass
    assert_serves(running)


def test_a_message_over_the_limit_is_refused(start_server: StartServer) -> None:
    running = start_server(message_limit=100_000)
    with running.raw() as client:
        client.start()
        assert client.ask("select 1 " + "x" * 90_000)[-1] == wire.ReadyForQuery(b"I")
        client.socket.sendall(b"Q" + (100_001).to_bytes(4, "big"))
        assert fatal([client.receive()]) == "08P01"


def test_a_large_message_in_small_pieces_is_one_message(running: Running) -> None:
    with running.raw() as client:
        client.start()
        data = encode(wire.Query("select 1 " + " " * 1_000_000))
        for start in range(0, len(data), 100_000):
            client.socket.sendall(data[start : start + 100_000])
        assert client.until_ready()[-1] == wire.ReadyForQuery(b"I")


def test_messages_sent_ahead_are_answered_in_order(running: Running) -> None:
    with running.raw() as client:
        client.start()
        client.send(*[wire.Query("select 1")] * 500)
        ready = 0
        while ready < 500:
            ready += isinstance(client.receive(), wire.ReadyForQuery)


def test_a_client_that_leaves_an_idle_stream_ends_it(running: Running) -> None:
    with running.raw() as client:
        client.start()
        client.send(wire.Query("forever"))
        session = running.sessions[0]
        eventually(session.blocked.is_set)
    assert session.rows is not None
    eventually(session.rows.closed.is_set)
    eventually(session.closed.is_set)


def test_a_client_that_leaves_a_full_stream_ends_it(running: Running) -> None:
    with running.raw() as client:
        client.start()
        client.send(wire.Query("numbers 1000000000000 10000"))
        client.receive()
        session = running.sessions[0]
    assert session.rows is not None
    eventually(session.rows.closed.is_set)
    eventually(session.closed.is_set)


def test_a_client_that_leaves_an_idle_stream_after_sending_more_than_is_read_ends_it(running: Running) -> None:
    with running.raw() as client:
        client.start()
        client.send(wire.Query("forever"))
        session = running.sessions[0]
        eventually(session.blocked.is_set)
        client.send(*[wire.Query("select 1 " + " " * 50_000)] * 10)
    eventually(session.closed.is_set)


def test_a_half_closed_socket_is_closed(running: Running) -> None:
    with running.raw() as client:
        client.start()
        client.socket.shutdown(socket.SHUT_WR)
        assert client.receive() is None
    eventually(running.sessions[0].closed.is_set)


def test_a_half_closed_socket_still_gets_its_answer(running: Running) -> None:
    with running.raw() as client:
        client.start()
        client.send(wire.Query("select 1"))
        client.socket.shutdown(socket.SHUT_WR)
        assert client.until_ready()[-1] == wire.ReadyForQuery(b"I")
        assert client.receive() is None


def test_a_slow_reader_holds_up_nobody(running: Running) -> None:
    with running.raw() as slow:
        slow.start()
        slow.send(wire.Query("numbers 1000000000000 10000"))
        for _ in range(20):
            assert_serves(running)


def test_many_idle_connections_are_fine(running: Running) -> None:
    clients = [running.raw() for _ in range(100)]
    for client in clients:
        client.start()
    for client in clients[::10]:
        assert client.ask("select 1")[-1] == wire.ReadyForQuery(b"I")
    for client in clients:
        client.close()
    eventually(lambda: all(session.closed.is_set() for session in running.sessions))


def test_one_client_too_many_is_turned_away(start_server: StartServer) -> None:
    running = start_server(max_connections=1)
    with running.raw() as first, running.raw() as second:
        first.start()
        assert fatal([*second.start()]) == "53300"


def test_a_cancel_ends_the_statement_and_not_the_session(running: Running) -> None:
    with running.raw() as client, running.raw() as canceller:
        client.start()
        client.send(wire.Query("sleep"))
        eventually(running.sessions[0].blocked.is_set)
        assert client.key is not None
        canceller.send(wire.CancelRequest(wire.CANCEL_CODE, client.key.pid, client.key.secret))
        assert canceller.receive() is None
        answers = client.until_ready()
        assert isinstance(answers[0], wire.ErrorResponse)
        assert ("C", "57014") in answers[0].fields
        assert client.ask("select 1")[-1] == wire.ReadyForQuery(b"I")


def test_a_cancel_with_a_wrong_secret_does_nothing(running: Running) -> None:
    with running.raw() as client:
        client.start()
        client.send(wire.Query("sleep"))
        eventually(running.sessions[0].blocked.is_set)
        assert client.key is not None
        for secret in (b"", b"abcd", client.key.secret + b"x"):
            with running.raw() as canceller:
                canceller.send(wire.CancelRequest(wire.CANCEL_CODE, client.key.pid, secret))
                assert canceller.receive() is None
        assert not running.sessions[0]._cancelled.is_set()


def test_a_client_that_forgets_its_transaction_is_turned_out(running: Running) -> None:
    with running.raw() as client:
        client.start()
        running.sessions[0].variables["idle_limit"] = "0.05"
        assert client.ask("select 1")[-1] == wire.ReadyForQuery(b"I")
        time.sleep(0.2)
        assert client.ask("begin")[-1] == wire.ReadyForQuery(b"T"), "outside of one it may wait"
        assert fatal([client.receive()]) == "25P03"
        assert client.receive() is None
    eventually(running.sessions[0].closed.is_set)


def test_the_end_is_told_to_idle_and_busy_clients(running: Running) -> None:
    with running.raw() as idle, running.raw() as busy, running.raw() as unborn:
        idle.start()
        busy.start()
        busy.send(wire.Query("sleep"))
        eventually(running.sessions[1].blocked.is_set)
        running.server.stop(PATIENCE)
        assert fatal([idle.receive()]) == "57P01"
        assert fatal([busy.receive()]) == "57P01"
        assert unborn.receive() is None
    assert all(session.closed.is_set() for session in running.sessions)
    with pytest.raises(ConnectionRefusedError):
        running.raw()


def test_the_end_does_not_wait_for_a_client_that_does_not_read(running: Running) -> None:
    with running.raw() as client:
        client.start()
        client.send(wire.Query("numbers 1000000000000 10000"))
        client.receive()
        running.server.stop(0.2)
        assert running.sessions[0].rows is not None
        eventually(running.sessions[0].rows.closed.is_set)


def test_stopping_twice_or_before_the_start_is_fine(running: Running) -> None:
    running.server.stop()
    running.server.stop()
    Server(host="127.0.0.1", port=0, open_session=FakeSession).stop()


def test_what_opening_a_session_raises_is_told(start_server: StartServer) -> None:
    def refuse(_: object) -> FakeSession:
        raise SqlError("unknown database 'x'", sqlstate="3D000")

    def crash(_: object) -> FakeSession:
        raise RuntimeError("password=hunter2")

    with start_server(open_session=refuse).raw() as client:
        assert fatal([*client.start()]) == "3D000"
    with start_server(open_session=crash).raw() as client:
        answers = client.start()
        assert fatal([*answers]) == "XX000"
        assert "hunter2" not in str(answers)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_it_does_not_listen_beyond_loopback_without_tls_and_passwords(host: str) -> None:
    passwords = Scram(lambda user: Verifier.of("x"))
    for authenticator in (None, passwords):
        server = Server(host=host, port=0, open_session=FakeSession, authenticator=authenticator)
        with pytest.raises(TooOpen, match="without TLS and passwords"):
            server.start()


def test_a_port_in_use_is_an_error(running: Running) -> None:
    server = Server(host="127.0.0.1", port=running.server.port, open_session=FakeSession)
    with pytest.raises(OSError, match="in use"):
        server.start()


def test_sessions_run_beside_each_other(running: Running) -> None:
    """Twenty that block take twenty threads; the next one still has its turn."""
    clients = [running.raw() for _ in range(20)]
    for client in clients:
        client.start()
        client.send(wire.Query("sleep"))
    eventually(lambda: all(session.blocked.is_set() for session in running.sessions))
    assert_serves(running)
    closers = [Thread(target=client.close) for client in clients]
    for closer in closers:
        closer.start()
    for closer in closers:
        closer.join()
    eventually(lambda: all(session.closed.is_set() for session in running.sessions))
