"""Under steady load nothing grows, and at the end every change has arrived once.

TAILRACE_SOAK_SECONDS (600 unless given) of a thousand pageviews a second through a real `tailrace serve`: an aggregate
with count(DISTINCT), and an aggregate joined with an upsert source.  State is bounded by the number of users and
regions, so whatever grows is a leak.  It is red if, from the first third after a warm-up of a fifth to the last third,

- resident memory of the engine's Python or of its JVM grows by more than 1.3,
- live objects of the JVM grow by more than 1.3, or Spark's temporary views by more than 1.5 (where there is a JDK),
- the median tick takes more than 1.5 times as long, is planned for more than 1.5 times as long, or runs
  more than 1.3 times as many Spark jobs,

if the data directory ever has more than MOST_FILES files, or if a topic differs from the oracle in any message.  Tried:
an engine that kept 2 MB and one temporary view of each tick was red by memory, live objects and views in 120 seconds.
Times are those of the machine: what else starts to run on it meanwhile counts too.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psycopg
import pytest

from faults.archive import Archive
from faults.oracle import compare
from soak.expected import owed
from soak.load import Load
from soak.samples import Growth, Sample, Watcher, growth, table
from tailrace.testing.broker import Broker
from tailrace.testing.engine_process import EngineProcess
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.topics import ends, read_committed, settle

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("TAILRACE_SOAK_SECONDS", "600"))
RATE = 1000
SAMPLES = 30
HEAP_EVERY = 2  # samples: to count live objects the JVM has to collect garbage
MOST_FILES = 100
PATIENCE_SECONDS = 240.0
OPTIONS = ("--master", "local[2]", "--driver-memory", "1g", "--checkpoint-interval", "10s")

OBJECTS = """
CREATE CONNECTION kafka TO KAFKA (BROKER '{bootstrap}', SECURITY PROTOCOL PLAINTEXT);
CREATE SOURCE pageviews_topic FROM KAFKA CONNECTION kafka (TOPIC '{pageviews}') FORMAT JSON;
CREATE SOURCE users_topic FROM KAFKA CONNECTION kafka (TOPIC '{users}')
  KEY FORMAT JSON VALUE FORMAT JSON ENVELOPE UPSERT;
CREATE VIEW pageviews AS
  SELECT (data->>'user_id')::bigint AS user_id, data->>'user_region' AS user_region FROM pageviews_topic;
CREATE VIEW users AS SELECT (key->>'user_id')::bigint AS user_id, data->>'plan' AS plan FROM users_topic;
CREATE MATERIALIZED VIEW regions AS
  SELECT user_region AS region, count(*) AS pv, count(DISTINCT user_id) AS uv FROM pageviews GROUP BY user_region;
CREATE MATERIALIZED VIEW views_per_user AS SELECT user_id, count(*) AS views FROM pageviews GROUP BY user_id;
CREATE MATERIALIZED VIEW profiles AS
  SELECT u.user_id, u.plan, v.views FROM users u JOIN views_per_user v ON v.user_id = u.user_id;
CREATE SINK regions_out FROM regions INTO KAFKA CONNECTION kafka (TOPIC '{regions}')
  KEY (region) FORMAT JSON ENVELOPE UPSERT;
CREATE SINK profiles_out FROM profiles INTO KAFKA CONNECTION kafka (TOPIC '{profiles}')
  KEY (user_id) NOT ENFORCED FORMAT JSON ENVELOPE UPSERT
"""
DELIVERED = """
SELECT status, write_frontier::text FROM mz_internal.mz_sink_statuses s
JOIN mz_internal.mz_frontiers f ON f.object_id = s.id
"""


def test_nothing_grows_and_nothing_is_lost(
    tmp_path: Path, broker: Broker, topic: TopicFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    topics = {name: topic(name, partitions=2) for name in ("pageviews", "users", "regions", "profiles")}
    data = tmp_path / "data"
    archive = Archive(data)
    load = Load(broker.bootstrap, topics["pageviews"], topics["users"], RATE)
    with EngineProcess(data, tmp_path / "engine.log", *OPTIONS) as engine:
        engine.start()
        with engine.connect() as connection:
            for statement in OBJECTS.format(bootstrap=broker.bootstrap, **topics).split(";"):
                connection.execute(statement.strip().encode())
            load.start()
            try:
                samples = watch(Watcher(pid=engine.pid, notes=tmp_path, data_dir=data, connection=connection))
            finally:
                load.stop()
            with capsys.disabled():
                sys.stdout.write(f"\n{table(samples)}")
            wait_until_delivered(archive, broker, topics, connection)
        assert engine.stop() == 0
    check_topics(archive, broker, topics)
    check_samples(samples, capsys)


def watch(watcher: Watcher) -> list[Sample]:
    """Takes samples while time passes."""
    began = time.monotonic()
    for number in range(1, SAMPLES + 1):
        time.sleep(max(0.0, began + number * SECONDS / SAMPLES - time.monotonic()))
        watcher.take(with_heap=number % HEAP_EVERY == 0)
    return watcher.samples


def check_samples(samples: Sequence[Sample], capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Growth | None] = [
        growth("Python's memory (MB)", samples, lambda each: [each.python], 1.3),
        growth("the JVM's memory (MB)", samples, lambda each: [each.jvm], 1.3),
        # The least seen: what a tick needs while it runs comes on top.
        growth("live objects (MB)", samples, lambda each: [each.heap], 1.3, min),
        growth("temporary views", samples, lambda each: [each.views], 1.5, min),
        growth("seconds for a tick", samples, lambda each: each.ticks, 1.5),
        growth("seconds of it to plan", samples, lambda each: each.plans, 1.5),
        growth("jobs of a tick", samples, lambda each: each.jobs, 1.3),
    ]
    found = [each for each in seen if each is not None]
    with capsys.disabled():
        sys.stdout.writelines(f"  {each}\n" for each in found)
    too_much = [str(each) for each in found if each.is_too_much]
    assert not too_much, "; ".join(too_much)
    assert max(each.files for each in samples) <= MOST_FILES


def check_topics(archive: Archive, broker: Broker, topics: dict[str, str]) -> None:
    """Each topic holds every change of every tick once, and nothing else."""
    expected = owed(
        read_committed(broker.bootstrap, topics["pageviews"]),
        archive.positions("pageviews_topic"),
        read_committed(broker.bootstrap, topics["users"]),
        archive.positions("users_topic"),
    )
    for sink, changes in expected.items():
        settle(broker.bootstrap, topics[sink])
        verdict = compare(sink, read_committed(broker.bootstrap, topics[sink]), changes)
        assert verdict.is_clean, str(verdict)
        assert verdict.messages


def wait_until_delivered(
    archive: Archive, broker: Broker, topics: dict[str, str], connection: psycopg.Connection
) -> None:
    def all_read() -> bool:
        return all(archive.position(f"{n}_topic") == ends(broker.bootstrap, topics[n]) for n in ("pageviews", "users"))

    wait(all_read, "the end of the input")
    last = archive.ticks[-1]

    def delivered() -> bool:
        found = connection.execute(DELIVERED.encode()).fetchall()
        return len(found) == 2 and all(s == "running" and int(frontier) >= last for s, frontier in found)

    wait(delivered, "the sinks")


def wait(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"waited for {what} in vain"
        time.sleep(0.2)
