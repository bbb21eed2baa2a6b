"""A key cancels its own session, and nothing without its secret."""

from __future__ import annotations

from threading import Event

from tailrace.server.cancel import CancelKeys


def test_a_key_finds_its_own_session_only() -> None:
    keys, mine, other = CancelKeys(), Event(), Event()
    key = keys.issue(1, mine.set)
    keys.issue(2, other.set)
    assert keys.find(key.pid, key.secret) == mine.set
    assert keys.find(key.pid, b"wrong") is None
    assert keys.find(key.pid, b"") is None
    assert keys.find(2, key.secret) is None
    assert keys.find(3, key.secret) is None


def test_a_revoked_key_finds_nothing() -> None:
    keys = CancelKeys()
    key = keys.issue(1, lambda: None, long=True)
    assert len(key.secret) == 32
    keys.revoke(key)
    assert keys.find(key.pid, key.secret) is None


def test_secrets_are_not_shown() -> None:
    assert "***" in repr(CancelKeys().issue(1, lambda: None))
