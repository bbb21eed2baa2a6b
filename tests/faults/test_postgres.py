"""Sinks into PostgreSQL: engine and server die where it hurts most, and every change is still there exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from faults.pipeline import Pipeline
from faults.postgres_outlet import Tables
from faults.test_zombies import REFUSAL
from tailrace.testing.broker import Broker
from tailrace.testing.crash import CRASH_POINTS
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.postgres import Postgres

AT = "postgres.progress_read"  # it has asked, and written nothing yet

POINTS = [point for point in CRASH_POINTS if point.startswith("postgres.")]
TURNS = {"postgres.progress_read": 1, "postgres.mid_copy": 5}
AFTER_A_COMMIT = "postgres.committed_not_seen:5"
NAMES = ["totals", "prices"]


class TablesFactory(Protocol):
    """Makes a pipeline whose sinks write to audited tables of a server."""

    def __call__(self, *options: str, names: list[str] = NAMES, server: Postgres | None = None) -> Pipeline: ...


@pytest.fixture
def tables(tmp_path: Path, broker: Broker, postgres: Postgres, topic: TopicFactory) -> Iterator[TablesFactory]:
    with ExitStack() as running:

        def make(*options: str, names: list[str] = NAMES, server: Postgres | None = None) -> Pipeline:
            topics = {"orders": topic("orders", partitions=2)}
            outlet = Tables(server or postgres, names)
            return running.enter_context(Pipeline(tmp_path, broker.bootstrap, topics, *options, outlet=outlet))

        yield make


@pytest.mark.parametrize("point", POINTS)
def test_a_table_holds_every_tick_once_after_dying_at(point: str, tables: TablesFactory) -> None:
    die_and_recover(tables(), f"{point}:{TURNS.get(point, 7)}")


def die_and_recover(pipeline: Pipeline, point: str, **environment: str) -> None:
    pipeline.run_until_killed_at(point, **environment)
    pipeline.run_until_caught_up(**environment)
    pipeline.check()


def test_a_death_after_a_commit_is_written_twice_without_the_progress_row(tables: TablesFactory) -> None:
    with pytest.raises(AssertionError, match=r"strange [1-9]"):
        die_and_recover(tables(names=["totals"]), AFTER_A_COMMIT, TAILRACE_TEST_DEFENCES="-progress_record")


def test_sinks_go_on_when_the_server_was_killed(tables: TablesFactory) -> None:
    with Postgres() as server:
        pipeline = tables(server=server)
        pipeline.start()
        pipeline.run_for(ticks=3)
        server.kill()
        pipeline.run_for(ticks=2)  # the others go on
        server.start()
        pipeline.run_until_caught_up()
        pipeline.check(fused=True)


@pytest.mark.parametrize("point", ["postgres.mid_copy:3", "postgres.sent_not_committed:3"])
def test_a_zombie_with_an_open_transaction_cannot_commit_it(point: str, tables: TablesFactory) -> None:
    zombie = tables()
    with zombie.outlived(point, 4) as successor:
        zombie.wait_until_refused(REFUSAL)
        successor.run_until_caught_up()
        successor.check(fused=True)


def test_a_zombie_that_has_asked_cannot_write(tables: TablesFactory) -> None:
    zombie = tables()
    with zombie.outlived(AT, 4) as successor:
        zombie.wait_until_refused(REFUSAL)
        successor.run_until_caught_up()
        successor.check(fused=True)


def test_without_the_generation_it_can(tables: TablesFactory) -> None:
    zombie, off = tables(), {"TAILRACE_TEST_DEFENCES": "-generation"}
    with zombie.outlived(AT, 4, **off) as successor:
        zombie.run_for(ticks=3)
        zombie.engine.kill()
        successor.run_until_caught_up(**off)
        with pytest.raises(AssertionError):
            successor.check(fused=True)
