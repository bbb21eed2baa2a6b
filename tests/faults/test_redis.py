"""Sinks into Redis: the engine dies where it hurts most, and the keys are always those of one tick, the one on record.

Redis keeps no history, so what is held against the oracle is the state: right after the death, and at the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from faults.oracle import Content, plain
from faults.pipeline import KEYS, Pipeline
from faults.test_zombies import REFUSAL
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.redis import PASSWORD, Redis
from tailrace.testing.topics import Message

AT = "redis.progress_read"  # it has asked, and written nothing yet

_STATEMENTS = """
CREATE SECRET IF NOT EXISTS password AS '{password}';
CREATE CONNECTION IF NOT EXISTS r TO REDIS (HOST '127.0.0.1', PORT {port}, PASSWORD SECRET password);
CREATE SINK IF NOT EXISTS {name}_out FROM {name} INTO REDIS CONNECTION r (KEY TEMPLATE '{name}:{{{key}}}')
KEY ({key}) NOT ENFORCED FORMAT JSON MODE UPSERT
"""
LARGE = ("--small-rows", "800", "--slot-rows", "500")
ALREADY_THERE = 3000


@dataclass(frozen=True, slots=True)
class Keys:
    """One sink, on a server of its own."""

    server: Redis
    name: str

    @property
    def names(self) -> list[str]:
        return [self.name]

    def statements(self) -> list[str]:
        given = {"password": PASSWORD, "port": self.server.port, "name": self.name, "key": KEYS[self.name]}
        return _STATEMENTS.format(**given).split(";")

    def told(self, name: str) -> list[Message]:
        raise NotImplementedError

    def state(self) -> tuple[int | None, int | None, Content]:
        """The tick on record, one that is unfinished, and the rows."""
        with self.server.connect() as client:
            [progress] = client.keys("tailrace:progress:*")
            tick, unfinished = client.hmget(progress, ["tick", "unfinished"])
            keys = client.keys(f"{self.name}:*")
            rows = [json.loads(value) for value in client.mget(keys)] if keys else []
        content = {plain({KEYS[self.name]: row[KEYS[self.name]]}): plain(row) for row in rows}
        return tick and int(tick), unfinished and int(unfinished), content


class KeysFactory(Protocol):
    def __call__(self, name: str, *options: str) -> tuple[Pipeline, Keys]: ...


@pytest.fixture
def keys(tmp_path: Path, broker: Broker, topic: TopicFactory) -> Iterator[KeysFactory]:
    with ExitStack() as running:

        def make(name: str, *options: str) -> tuple[Pipeline, Keys]:
            outlet = Keys(running.enter_context(Redis()), name)
            topics = {"orders": topic("orders", partitions=2)}
            pipeline = Pipeline(tmp_path, broker.bootstrap, topics, *options, outlet=outlet)
            return running.enter_context(pipeline), outlet

        yield make


def check(pipeline: Pipeline, outlet: Keys) -> int | None:
    """The rows are those of the tick on record."""
    tick, unfinished, content = outlet.state()
    assert unfinished is None
    assert content == ({} if tick is None else pipeline.history(outlet.name).content(tick))
    return tick


def die_and_recover(pipeline: Pipeline, outlet: Keys, point: str, **environment: str) -> None:
    pipeline.run_until_killed_at(point, **environment)
    before = check(pipeline, outlet)
    pipeline.run_until_caught_up(**environment)
    after = check(pipeline, outlet)
    assert (before or 0) < (after or 0)
    last = pipeline.history(outlet.name).content(pipeline.archive.ticks[-1])
    assert outlet.state()[2] == last


@pytest.mark.parametrize(
    ("point", "name"), [("redis.progress_read", "prices"), ("redis.written_not_seen:6", "totals")]
)
def test_keys_are_those_of_one_tick_after_dying_at(point: str, name: str, keys: KeysFactory) -> None:
    die_and_recover(*keys(name), point)


def test_without_the_progress_key_nobody_knows_which_tick_it_is(keys: KeysFactory) -> None:
    with pytest.raises(AssertionError):
        die_and_recover(*keys("totals"), "redis.written_not_seen:6", TAILRACE_TEST_DEFENCES="-progress_record")


def test_a_snapshot_that_was_cut_off_is_finished(keys: KeysFactory) -> None:
    pipeline, outlet = keys("lines", *LARGE)
    pipeline.orders.send(ALREADY_THERE)
    pipeline.run_until_killed_at("redis.chunk_written:2")
    tick, unfinished, content = outlet.state()
    assert tick is None
    assert unfinished is not None
    assert 0 < len(content) < ALREADY_THERE
    pipeline.run_until_caught_up()
    check(pipeline, outlet)


def check_all(pipeline: Pipeline, outlet: Keys) -> None:
    """Everything that was logged has arrived, and nothing else."""
    check(pipeline, outlet)
    assert outlet.state()[2] == pipeline.history(outlet.name).content(pipeline.archive.ticks[-1])


def test_sinks_go_on_when_the_server_was_killed(keys: KeysFactory) -> None:
    pipeline, outlet = keys("totals")
    pipeline.start()
    pipeline.run_for(ticks=3)
    outlet.server.kill()
    pipeline.run_for(ticks=2)
    outlet.server.start()
    pipeline.run_until_caught_up()
    check_all(pipeline, outlet)


def test_a_zombie_that_has_asked_cannot_write(keys: KeysFactory) -> None:
    zombie, outlet = keys("prices")
    with zombie.outlived(AT, 4) as successor:
        zombie.wait_until_refused(REFUSAL)
        successor.run_until_caught_up()
        check_all(successor, outlet)


def test_without_the_generation_it_can(keys: KeysFactory) -> None:
    zombie, outlet = keys("prices")
    off = {"TAILRACE_TEST_DEFENCES": "-generation"}
    with zombie.outlived(AT, 4, **off) as successor:
        zombie.run_for(ticks=3)
        zombie.run_until_told()  # of prices, too, that its successor knows nothing of
        zombie.engine.kill()
        successor.run_until_caught_up(**off)
        with pytest.raises(AssertionError):
            check_all(successor, outlet)
