"""The tick log: what a tick consists of is the same whenever it is asked for, also by a later process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.catalog.database import Database, temporary_directory
from tailrace.ticks.log import TickLog
from tailrace.types.core import BEGINNING, Tick


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path)
    yield opened
    opened.close()


def rows(*values: int) -> pa.Table:
    return pa.table({"c0": pa.array(values, pa.int32()), "weight": pa.array([1] * len(values), pa.int64())})


def test_a_tick_is_there_for_the_next_process(database: Database) -> None:
    log = TickLog(database)
    log.append(Tick(10), {"u1": {0: 5, 1: 7}}, {"u2": rows(1, 2)})
    log.append(Tick(20), {}, {"u2": rows(3)})
    for known in (log, TickLog(database)):
        assert known.last == 20
        assert known.after(BEGINNING) == [10, 20]
        assert known.after(Tick(10)) == [20]
        assert Tick(10) in known
        assert Tick(15) not in known
        assert known.position("u1", Tick(20)) == {0: 5, 1: 7}
        assert known.changes("u2", BEGINNING, Tick(10)) == [(10, rows(1, 2))]
        assert known.changes("u2", Tick(10), Tick(20)) == [(20, rows(3))]


def test_an_empty_log_is_before_everything(database: Database) -> None:
    log = TickLog(database)
    assert log.last == BEGINNING
    assert log.after(BEGINNING) == []
    assert log.position("u1", Tick(5)) == {}


def test_a_tick_happens_once(database: Database) -> None:
    log = TickLog(database)
    log.append(Tick(10), {}, {})
    with pytest.raises(Exception, match="UNIQUE"):
        log.append(Tick(10), {"u1": {0: 1}}, {})
    assert TickLog(database).position("u1", Tick(10)) == {}


def test_a_source_starts_where_it_was_told_to(database: Database) -> None:
    log = TickLog(database)
    log.start("u1", BEGINNING, {0: 100})
    log.append(Tick(10), {"u1": {0: 120}}, {})
    assert log.position("u1", Tick(9)) == {0: 100}
    assert log.position("u1", Tick(10)) == {0: 120}


def test_a_dropped_relation_leaves_nothing(database: Database) -> None:
    log = TickLog(database)
    log.append(Tick(10), {"u1": {0: 1}, "u3": {0: 9}}, {"u2": rows(1)})
    log.drop(["u1", "u2"])
    for known in (log, TickLog(database)):
        assert known.position("u1", Tick(10)) == {}
        assert known.changes("u2", BEGINNING, Tick(10)) == []
        assert known.position("u3", Tick(10)) == {0: 9}


@given(
    moves=st.dictionaries(st.integers(1, 30), st.dictionaries(st.sampled_from("ab"), st.integers(1, 9)), max_size=8),
    before=st.integers(1, 31),
)
def test_forgetting_changes_nothing_that_comes_after(moves: dict[int, dict[str, int]], before: int) -> None:
    directory = temporary_directory()
    database = Database(directory)
    try:
        log = TickLog(database)
        for source in "ab":
            log.start(source, BEGINNING, {0: 0})
        for t, positions in sorted(moves.items()):
            log.append(Tick(t), {source: {0: offset} for source, offset in positions.items()}, {"t": rows(t)})
        asked = [Tick(t) for t in range(before, 32)]
        expected = [(log.position(source, t), log.after(t)) for source in "ab" for t in asked]
        log.forget(Tick(before))
        for known in (log, TickLog(database)):
            assert [(known.position(source, t), known.after(t)) for source in "ab" for t in asked] == expected
            assert [t for t, _ in known.changes("t", BEGINNING, Tick(99))] == [t for t in sorted(moves) if t >= before]
            assert all(known.position(source, BEGINNING) == {0: 0} for source in "ab")
    finally:
        database.close()
        for path in directory.iterdir():
            path.unlink()
        directory.rmdir()
