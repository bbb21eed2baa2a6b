"""What can go wrong with a sink's topics: it stands still with a precise error, and goes on when the cause is gone."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.testing.broker import Broker
from tailrace.testing.topics import create_topic, delete_topic, ends, is_there, read_committed, settle
from tailrace.ticks.loop import Pace

PATIENCE_SECONDS = 120.0


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02, retry=0.05)) as opened:
        yield opened


@dataclass(frozen=True)
class Outlet:
    """A table and a sink of it, with topics of its own."""

    engine: Engine
    broker: Broker
    name: str

    @property
    def progress(self) -> str:
        return f"{self.name}_progress"

    def insert(self, *items: str) -> None:
        values = ", ".join(f"('{item}')" for item in items)
        self.engine.sql(f"INSERT INTO {self.name} VALUES {values}")

    def wait_for(self, status: str) -> str | None:
        """What it says is wrong, when it has come to this status with nothing under way."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        delivery = self.engine.cluster.deliveries[self.engine.catalog.resolve((f"{self.name}_out",)).id]
        while True:
            now = self.engine.statuses.of(delivery.id)
            is_there = delivery.owes_nothing(self.engine.cluster.done) if status == "running" else True
            if now.status == status and is_there:
                return now.error
            assert time.monotonic() < deadline, now
            time.sleep(0.02)

    def doubt(self) -> None:
        """Has the sink ask its topics again what they hold."""
        self.engine.sql(f"ALTER CONNECTION {self.name}_k SET (BROKER '{self.broker.bootstrap}')")

    def told(self) -> list[str]:
        settle(self.broker.bootstrap, self.name)
        return [json.loads(each.value or b"")["item"] for each in read_committed(self.broker.bootstrap, self.name)]


@pytest.fixture
def outlet(engine: Engine, broker: Broker) -> Iterator[Outlet]:
    name = f"trouble_{uuid.uuid4().hex[:8]}"
    engine.sql(
        f"CREATE TABLE {name} (item text NOT NULL, PRIMARY KEY (item));"
        f"CREATE CONNECTION {name}_k TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT,"
        f" PROGRESS TOPIC '{name}_progress');"
        f"CREATE SINK {name}_out FROM {name} INTO KAFKA CONNECTION {name}_k"
        f" (TOPIC '{name}', TOPIC CONFIG MAP['max.message.bytes' => '10000'], COMPRESSION TYPE 'none')"
        " KEY (item) FORMAT JSON ENVELOPE UPSERT"
    )
    made = Outlet(engine, broker, name)
    made.insert("tea")
    made.wait_for("running")
    yield made
    engine.sql(f"DROP TABLE {name} CASCADE; DROP CONNECTION {name}_k")


def test_a_progress_topic_that_was_deleted_is_not_taken_for_a_new_one(outlet: Outlet) -> None:
    delete_topic(outlet.broker.bootstrap, outlet.progress)
    outlet.doubt()
    outlet.insert("cup")
    assert "has written tick" in str(outlet.wait_for("stalled"))
    assert outlet.told() == ["tea"]


def test_a_progress_topic_that_was_emptied_is_not_taken_for_a_new_one(outlet: Outlet) -> None:
    bootstrap = outlet.broker.bootstrap
    [end] = ends(bootstrap, outlet.progress).values()
    all_of_it = TopicPartition(outlet.progress, 0, end)
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    # A compacted topic lets nobody delete records; whoever does changes its policy first.
    _alter(admin, outlet.progress, "delete")
    admin.delete_records([all_of_it])[all_of_it].result()
    _alter(admin, outlet.progress, "compact")
    outlet.doubt()
    outlet.insert("cup")
    assert "has written tick" in str(outlet.wait_for("stalled"))
    assert outlet.told() == ["tea"]


def _alter(admin: AdminClient, topic: str, policy: str) -> None:
    entry = ConfigEntry("cleanup.policy", policy, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result()


def test_a_progress_topic_that_got_a_second_partition_is_refused(outlet: Outlet) -> None:
    admin = AdminClient({"bootstrap.servers": outlet.broker.bootstrap, "log_level": 2})
    admin.create_partitions([NewPartitions(outlet.progress, 2)])[outlet.progress].result()
    outlet.doubt()
    outlet.insert("cup")
    expected = f"Progress topic {outlet.progress} should contain a single partition, but instead contains 2 partitions"
    assert outlet.wait_for("stalled") == expected


def test_a_topic_that_was_deleted_is_named_and_the_sink_goes_on_when_somebody_makes_it_again(outlet: Outlet) -> None:
    delete_topic(outlet.broker.bootstrap, outlet.name)
    outlet.doubt()
    outlet.insert("cup")
    assert outlet.wait_for("stalled") == f"topic {outlet.name} does not exist"
    create_topic(outlet.broker.bootstrap, outlet.name)
    outlet.wait_for("running")
    assert outlet.told() == ["cup"]


def test_a_sink_that_is_dropped_leaves_its_topics(outlet: Outlet) -> None:
    outlet.engine.sql(f"DROP SINK {outlet.name}_out")
    assert outlet.told() == ["tea"]
    assert is_there(outlet.broker.bootstrap, outlet.progress)


def test_a_message_that_is_too_large_holds_up_the_sink_until_its_row_is_gone(outlet: Outlet) -> None:
    outlet.insert("x" * 20_000)
    assert "a message is too large" in str(outlet.wait_for("stalled"))
    outlet.insert("cup")
    outlet.engine.sql(f"DELETE FROM {outlet.name} WHERE length(item) > 1000")
    outlet.wait_for("running")
    assert outlet.told() == ["tea", "cup"]
