"""What is kept is read once, and never takes more room than it is given."""

from __future__ import annotations

from tailrace.sinks.kept import Kept


def test_what_nobody_asked_for_longest_goes_first() -> None:
    kept, read = Kept(room=10), list[str]()

    def get(name: str) -> str:
        return kept.get(name, lambda: read.append(name) or name * 4, len)

    assert [get(name) for name in "abab"] == ["aaaa", "bbbb", "aaaa", "bbbb"]
    assert read == ["a", "b"]
    get("c")  # for which a must go
    get("b")
    get("a")  # and now c
    get("b")
    assert read == ["a", "b", "c", "a"]


def test_what_is_larger_than_the_room_is_not_kept() -> None:
    kept = Kept(room=3)
    assert kept.get("a", lambda: "abcd", len) == "abcd"
    assert kept.get("a", lambda: "efgh", len) == "efgh"
    assert kept.get("b", lambda: "ijk", len) == "ijk"
    assert kept.get("b", lambda: "lmn", len) == "ijk"
