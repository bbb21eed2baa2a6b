"""The queries of a benchmark as materialized views of one engine: incremental all, and right at every tick."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from pyspark.sql import SparkSession

from properties.world import Change, World
from tailrace.engine.engine import Engine
from tailrace.ivm.dataflow import reach
from tailrace.ivm.rules.recompute import Recompute
from tailrace.testing.oracle import Bag
from tailrace.ticks.loop import Pace


class Story(Protocol):
    def beginning(self) -> list[Change]: ...

    def next(self, busy: int) -> list[Change]: ...


def assert_no_recompute(
    spark: SparkSession, tables: Mapping[str, Sequence[str]], queries: Mapping[str, str], *, keys: bool
) -> None:
    """No part of any view is recomputed from scratch, whether or not the tables' keys are declared."""
    with Engine(spark, pace=Pace(interval=3600)) as engine:
        for name, columns in tables.items():
            declared = columns[0] if keys else columns[0].partition(",\n    PRIMARY KEY")[0]
            engine.sql(f"CREATE TABLE {name} ({declared})")
        for name, query in queries.items():
            engine.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        views = list(engine.cluster.maintained.values())
        assert len(views) == len(queries)
        assert [v.name for v in views if any(isinstance(each, Recompute) for each in reach(v.root))] == []


def live(world: World, story: Story, days: Sequence[int], *, restarts: Iterable[int] = ()) -> None:
    """One tick a day, each checked; and that every query had something to say, and something else another day."""
    world.tick(story.beginning())
    before = world.check(world.each_tick)
    spoke, changed = answered(before), set[str]()
    for number, busy in enumerate(days):
        if number in restarts:
            world.checkpoint()
        world.tick(story.next(busy))
        if number in restarts:
            world.restart(crash=True)
        also = [world.now_and_then] if number == len(days) - 1 else []
        now = world.check(world.each_tick, *also)
        changed |= {name for name in now if now[name] != before[name]}
        spoke |= answered(now)
        before = now
    assert set(before) - spoke == set()
    assert set(before) - changed == set()


def answered(contents: Mapping[str, Bag]) -> set[str]:
    """The views that hold a row, and not only one of NULLs."""
    return {name for name, rows in contents.items() if any(row != "{}" for row in rows)}
