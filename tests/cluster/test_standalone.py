"""On a Spark cluster of several processes, every change still arrives once, also when an executor is killed in a tick.

The pipeline, its input and its judge are those of tests/faults.  Here the executors are JVMs of their own, whose
Python has no Tailrace but what the engine sends along; state in Parquet is on a disk they share.  A large backlog is
written by their tasks in slots, each in a transaction of its own.  The Python of a killed executor's task normally ends
with it; the last test keeps one alive, to wake up as a second writer of a slot that Spark has had written meanwhile.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from faults.oracle import TICK, Content, History, content_of
from faults.pipeline import SINKS, Pipeline, is_before
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.spark_cluster import PythonWorker, SparkCluster
from tailrace.testing.topics import ends

pytestmark = pytest.mark.slow

ALREADY_THERE = 100_000
GROUPS = 10_000  # more than a small change has rows: their state is written by executors
OPTIONS = ("--small-rows", "5000", "--slot-rows", "5000", "--checkpoint-interval", "5s")
SLOTS = ALREADY_THERE // 5000

_GROUPS = f"""
CREATE MATERIALIZED VIEW IF NOT EXISTS groups AS
  SELECT id % {GROUPS} AS number, count(*) AS orders, sum(amount)::bigint AS amount FROM lines GROUP BY id % {GROUPS};
CREATE SINK IF NOT EXISTS groups_out FROM groups INTO KAFKA CONNECTION kafka (TOPIC '{{topic}}')
KEY (number) NOT ENFORCED FORMAT JSON ENVELOPE UPSERT
"""


class ClusterPipeline(Pipeline):
    """One sink more: an aggregate with many groups, of which each tick changes a few."""

    def __init__(self, directory: Path, bootstrap: str, topics: dict[str, str], cluster: SparkCluster) -> None:
        super().__init__(directory, bootstrap, topics, "--master", cluster.master, *OPTIONS)
        self._environment = {"PYSPARK_PYTHON": str(cluster.python), "SPARK_LOCAL_IP": "127.0.0.1"}
        self._sinks = [*SINKS, "groups"]

    def start(self, **environment: str) -> None:
        super().start(**self._environment, **environment)

    def _statements(self) -> list[str]:
        self._sinks.remove("groups")
        statements = super()._statements() + _GROUPS.format(topic=self.topics["groups"]).split(";")
        self._sinks.append("groups")
        return statements

    def history(self, name: str) -> History:
        if name != "groups":
            return super().history(name)
        return History(ticks=self.archive.ticks, content=self._groups())

    def _groups(self) -> Callable[[int], Content]:
        orders, until = self._orders(), self._positions()

        def content(t: int) -> Content:
            reached = until(t)
            amounts: defaultdict[int, list[int]] = defaultdict(list)
            for message, order in orders:
                if is_before(message, reached):
                    amounts[order["id"] % GROUPS].append(order["amount"])
            groups = amounts.items()
            return content_of(({"number": n, "orders": len(a), "amount": sum(a)} for n, a in groups), "number")

        return content


@pytest.fixture(scope="module")
def cluster() -> Iterator[SparkCluster]:
    with SparkCluster(workers=2) as running:
        yield running


@pytest.fixture
def stopping_cluster() -> Iterator[SparkCluster]:
    """Every Python worker stops itself once, with a slot sent and not committed."""
    with SparkCluster(workers=2, environment={"TAILRACE_PAUSE": "kafka.slot_sent_not_committed"}) as running:
        yield running


@pytest.fixture
def pipeline(request: pytest.FixtureRequest, cluster: SparkCluster) -> Iterator[ClusterPipeline]:
    with backlogged(request, cluster) as running:
        yield running


@contextmanager
def backlogged(request: pytest.FixtureRequest, cluster: SparkCluster) -> Iterator[ClusterPipeline]:
    """A pipeline with much to catch up with."""
    tmp_path: Path = request.getfixturevalue("tmp_path")
    broker: Broker = request.getfixturevalue("broker")
    topic: TopicFactory = request.getfixturevalue("topic")
    topics = {name: topic(name, partitions=2) for name in ("orders", *SINKS, "groups")}
    with ClusterPipeline(tmp_path, broker.bootstrap, topics, cluster) as running:
        running.orders.send(ALREADY_THERE)
        yield running


def test_a_backlog_and_what_follows_arrive_exactly_once(pipeline: ClusterPipeline, cluster: SparkCluster) -> None:
    pipeline.start()
    pipeline.run_until_caught_up()
    assert_executors_did_the_work(pipeline, cluster)
    pipeline.check()


def test_changes_arrive_exactly_once_though_an_executor_is_killed_in_mid_tick(
    pipeline: ClusterPipeline, cluster: SparkCluster, broker: Broker
) -> None:
    killer = Killer(cluster, lambda: sum(ends(broker.bootstrap, pipeline.topics["lines"]).values()) > 0)
    killer.start()
    pipeline.start()
    killer.join()
    pipeline.run_until_caught_up()
    assert_was_killed_in_mid_tick(killer, pipeline, cluster)
    assert_executors_did_the_work(pipeline, cluster)
    pipeline.check()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a stopped task does not outlive its executor")
def test_a_task_that_outlives_its_executor_cannot_commit_a_slot_that_another_has_written(
    request: pytest.FixtureRequest, stopping_cluster: SparkCluster
) -> None:
    keeper = Keeper(stopping_cluster)
    keeper.start()
    try:
        with backlogged(request, stopping_cluster) as pipeline:
            pipeline.start()
            pipeline.run_for(ticks=2)  # the large one has been settled by others
            assert keeper.zombie is not None
            assert keeper.zombie.status() == psutil.STATUS_STOPPED
            keeper.wake_zombie()
            pipeline.run_until_caught_up()
            pipeline.check()
    finally:
        keeper.stop()


class Killer(threading.Thread):
    """kill -9 of one executor as soon as something holds.  The tasks' Python processes are left to find out."""

    def __init__(self, cluster: SparkCluster, holds: Callable[[], bool]) -> None:
        super().__init__(name="killer", daemon=True)
        self._cluster = cluster
        self._holds = holds
        self.victim: psutil.Process | None = None
        self.killed_at = 0.0

    def run(self) -> None:
        while not self._holds():
            time.sleep(0.02)
        self.victim = self._cluster.python_workers()[0].executor
        self.victim.kill()
        self.killed_at = time.time()


class Keeper(threading.Thread):
    """Takes the first Python worker that has stopped away from its executor, which dies; wakes up all others."""

    def __init__(self, cluster: SparkCluster) -> None:
        super().__init__(name="keeper", daemon=True)
        self._cluster = cluster
        self._stopping = threading.Event()
        self.zombie: psutil.Process | None = None

    def run(self) -> None:
        while not self._stopping.wait(0.05):
            for worker in self._cluster.python_workers():
                with suppress(psutil.NoSuchProcess):
                    if worker.process.status() == psutil.STATUS_STOPPED:
                        self._meet(worker)

    def stop(self) -> None:
        self._stopping.set()
        self.join()
        if self.zombie is not None and self.zombie.is_running():
            self.zombie.kill()

    def wake_zombie(self) -> None:
        """Returns when it has ended."""
        assert self.zombie is not None
        self.zombie.resume()
        deadline = time.monotonic() + 60
        while self.zombie.is_running() and self.zombie.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline, "it goes on"
            time.sleep(0.1)

    def _meet(self, worker: PythonWorker) -> None:
        if self.zombie is None:
            self.zombie = worker.process
            worker.daemon.kill()  # first: it would hang up on its children on seeing the executor die
            worker.executor.kill()
        elif worker.process != self.zombie:
            worker.process.resume()


def assert_was_killed_in_mid_tick(killer: Killer, pipeline: ClusterPipeline, cluster: SparkCluster) -> None:
    """Of the large tick, some messages were written before the executor died and some after; it has a successor."""
    told = pipeline.told("lines")
    first = min(int(message.headers[TICK] or -1) for message in told)
    written_at = [m.timestamp / 1000 for m in told if int(m.headers[TICK] or -1) == first]
    assert min(written_at) < killer.killed_at < max(written_at)
    assert killer.victim is not None
    assert not killer.victim.is_running()
    assert len(cluster.executors()) == 2


def assert_executors_did_the_work(pipeline: ClusterPipeline, cluster: SparkCluster) -> None:
    """The backlog went out in slots; state was written by executors; all of them have run tasks of ours."""
    assert max(plan["slots"] for plan in pipeline.plans()) >= SLOTS
    runs = pipeline.engine.data_dir / "state" / "runs"
    assert list(runs.glob("*/part-*-*.parquet")), "no file has a name that Spark gives"
    assert len({worker.executor.pid for worker in cluster.python_workers()}) == 2
