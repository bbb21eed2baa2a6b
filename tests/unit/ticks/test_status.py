"""Statuses: equal ones are noted once, and their history outlives the process."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tailrace.catalog.database import Database
from tailrace.ticks.status import Statuses


def _history(statuses: Statuses) -> list[tuple[str, str, str | None]]:
    return [(id, status.status, status.error) for id, status in statuses.history()]


def test_the_history_goes_on_in_the_next_process(tmp_path: Path) -> None:
    with closing(Database(tmp_path)) as database:
        statuses = Statuses(database)
        statuses.note("u1", "starting")
        statuses.note("u1", "stalled", "broken", "Mend it.", "22012")
        assert not statuses.note("u1", "stalled", "broken", "Mend it.", "22012")
        statuses.note("q1", "running")  # a subscription: it is not there next time
        statuses.save()
    with closing(Database(tmp_path)) as database:
        statuses = Statuses(database)
        assert statuses.of("u1").status == "created", "what it was is no promise of what it is"
        statuses.note("u1", "starting")
        assert _history(statuses) == [("u1", "starting", None), ("u1", "stalled", "broken"), ("u1", "starting", None)]
        assert statuses.history()[1][1].hint == "Mend it."


def test_what_was_not_saved_is_lost_and_the_oldest_is_forgotten(tmp_path: Path) -> None:
    with closing(Database(tmp_path)) as database:
        statuses = Statuses(database, remember=3)
        for number in range(5):
            statuses.note("u1", "stalled", f"error {number}")
        statuses.save()
        statuses.note("u1", "running")
    with closing(Database(tmp_path)) as database:
        assert [error for _, _, error in _history(Statuses(database))] == ["error 2", "error 3", "error 4"]
