"""The first words of a client, and what we make of them."""

from __future__ import annotations

import pytest

from tailrace.errors import TailraceError
from tailrace.server.messages import NegotiateProtocolVersion, StartupMessage
from tailrace.server.startup import apply_settings, negotiation, parse_options, read_startup
from unit.server.fake_engine import FakeSession

V3_0, V3_1, V3_2, V3_9999 = 3 << 16, 3 << 16 | 1, 3 << 16 | 2, 3 << 16 | 9999


def test_settings_are_told_from_the_rest() -> None:
    options = ("options", "-c cluster=c -c x=1")
    given = (("user", "me"), ("database", "d"), ("application_name", "psql"), options, ("x", "2"))
    message = StartupMessage(V3_0, given)
    startup = read_startup(message, address="::1", encrypted=True)
    assert (startup.user, startup.database, startup.application_name) == ("me", "d", "psql")
    assert startup.settings == {"cluster": "c", "x": "2", "application_name": "psql"}
    assert (startup.address, startup.encrypted) == ("::1", True)


@pytest.mark.parametrize(
    ("version", "settings", "sqlstate"),
    [
        (2 << 16, (("user", "me"),), "0A000"),
        (V3_0, (), "28000"),
        (V3_0, (("user", ""),), "28000"),
        (V3_0, (("user", "me"), ("replication", "database")), "0A000"),
    ],
)
def test_what_cannot_become_a_session_is_refused(
    version: int, settings: tuple[tuple[str, str], ...], sqlstate: str
) -> None:
    with pytest.raises(TailraceError) as caught:
        read_startup(StartupMessage(version, settings), address="", encrypted=False)
    assert caught.value.sqlstate == sqlstate


@pytest.mark.parametrize(
    ("asked", "answer", "long_secrets"),
    [(V3_0, None, False), (V3_1, V3_0, False), (V3_2, None, True), (V3_9999, V3_2, True)],
)
def test_newer_protocols_are_negotiated_down(asked: int, answer: int | None, long_secrets: bool) -> None:
    message = StartupMessage(asked, (("user", "me"),))
    assert negotiation(message) == (None if answer is None else NegotiateProtocolVersion(answer))
    assert read_startup(message, address="", encrypted=False).takes_long_secrets == long_secrets


def test_unknown_protocol_options_are_named() -> None:
    message = StartupMessage(V3_0, (("user", "me"), ("_pq_.fancy", "1")))
    assert negotiation(message) == NegotiateProtocolVersion(V3_0, ("_pq_.fancy",))
    assert read_startup(message, address="", encrypted=False).settings == {}


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ("", {}),
        ("-c a=1 -cb=2 --c-d=3", {"a": "1", "b": "2", "c_d": "3"}),
        (r"-c search_path=a,\ b --x=\\", {"search_path": "a, b", "x": "\\"}),
        ("-c", {}),
        ("-e --", {}),
    ],
)
def test_options_are_read_like_postgres(options: str, settings: dict[str, str]) -> None:
    assert parse_options(options) == settings


def test_settings_that_cannot_be_set_keep_nobody_out() -> None:
    engine = FakeSession()
    notices = apply_settings(engine, {"application_name": "x", "jit": "off", "timezone": "Mars/Base"})
    assert engine.variables["application_name"] == "x"
    assert [n.message for n in notices] == [
        'startup setting timezone not set: invalid value for parameter "TimeZone"'
    ]
