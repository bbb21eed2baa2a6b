"""A watermark is a function of the logged ticks: the least of the partitions' greatest, and the same on a replay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tailrace.catalog.database import Database
from tailrace.ivm.operator import ENDED
from tailrace.sources.contract import Offsets
from tailrace.ticks.log import TickLog
from tailrace.ticks.watermarks import Watermarks
from tailrace.types.core import BEGINNING, Tick

# What the message at each offset of a partition says.
SAID = {0: [10, 30, 20, 90], 1: [5, 40, 50, 60]}


class Said(Watermarks):
    """Of messages that are known here instead of being read."""

    def _said(self, since: Offsets, until: Offsets) -> dict[int, int]:
        between = {p: SAID[p][since.get(p, 0) : end] for p, end in until.items()}
        return {p: max(said) for p, said in between.items() if said}


@pytest.fixture
def log(tmp_path: Path) -> Iterator[TickLog]:
    database = Database(tmp_path)
    found = TickLog(database)
    found.start("s", BEGINNING, {0: 0, 1: 0})
    yield found
    database.close()


def watermarks(log: TickLog, idle: int | None = None, end: int | None = None) -> Watermarks:
    unused: Any = None
    return Said(
        source="s",
        read=unused,
        start={0: 0, 1: 0},
        is_done=lambda position: end is not None and all(offset >= end for offset in position.values()),
        expression="",
        idle=idle,
        log=log,
        store=unused,
    )


def tick(log: TickLog, t: int, first: int, second: int) -> None:
    log.append(Tick(t), {"s": {0: first, 1: second}}, {})


def test_it_is_the_least_of_the_partitions_and_never_falls(log: TickLog) -> None:
    tick(log, 100, 1, 0)
    found = watermarks(log)
    found.advance(Tick(100))
    assert found.at(Tick(100)) is None  # nothing has come from the second partition
    tick(log, 200, 2, 1)
    tick(log, 300, 3, 2)
    log.append(Tick(400), {}, {})
    found.advance(Tick(400))
    assert [found.at(Tick(t)) for t in (150, 200, 300, 400)] == [None, 5, 30, 30]
    assert found.changes(Tick(100), Tick(400)) == [200, 300]
    again = watermarks(log)
    again.advance(Tick(400))
    assert [again.at(Tick(t)) for t in (150, 200, 300, 400)] == [None, 5, 30, 30]


def test_an_idle_partition_is_left_out_and_what_it_says_later_is_no_step_back(log: TickLog) -> None:
    tick(log, 100, 2, 1)
    found = watermarks(log, idle=1000)
    found.advance(Tick(100))
    assert (found.at(Tick(100)), found.due(Tick(100))) == (5, None)  # both fall idle at once: there is nobody to ask
    tick(log, 900, 4, 1)
    found.advance(Tick(900))
    assert (found.at(Tick(900)), found.due(Tick(900))) == (5, 1100)
    log.append(Tick(1100), {}, {})
    found.advance(Tick(1100))
    assert (found.at(Tick(1100)), found.due(Tick(1100))) == (90, None)
    tick(log, 1200, 4, 2)
    found.advance(Tick(1200))
    assert found.at(Tick(1200)) == 90


def test_the_end_of_a_bounded_table_is_after_everything(log: TickLog) -> None:
    tick(log, 100, 4, 3)
    tick(log, 200, 4, 4)
    found = watermarks(log, end=4)
    found.advance(Tick(100))
    found.advance(Tick(200))
    assert [found.at(Tick(t)) for t in (100, 200)] == [50, ENDED]


def test_a_reader_begins_where_it_began_before(log: TickLog) -> None:
    tick(log, 100, 1, 1)
    tick(log, 200, 2, 2)
    found = watermarks(log)
    found.advance(Tick(100))
    assert found.begun("view", Tick(100)) == 100
    assert watermarks(log).begun("view", Tick(200)) == 100
    log.forget(Tick(200))
    assert watermarks(log).begun("view", Tick(200)) == 200


def test_marks_are_forgotten_with_the_ticks_but_for_the_last(log: TickLog) -> None:
    for t in (100, 200, 300):
        tick(log, t, t // 100, t // 100)
        found = watermarks(log)
        found.advance(Tick(t))
    log.forget(Tick(300))
    again = watermarks(log)
    assert (again.at(Tick(300)), again.at(Tick(200))) == (30, None)
    log.drop(["s"])
    assert log.watermarks("s") == []
