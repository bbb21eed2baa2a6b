"""kill -9 of a real engine at every crash point: each change still arrives exactly once."""

from __future__ import annotations

import pytest

from faults.conftest import PipelineFactory
from tailrace.testing.crash import CRASH_POINTS

# At which time of passing it the engine dies, where at the first one nothing would have been told yet.
TURNS = {
    "tick.before_log": 8,
    "tick.after_log": 8,
    "kafka.progress_read": 2,
    "kafka.not_begun": 5,
    "kafka.mid_produce": 5,
    "kafka.sent_not_committed": 8,
    "kafka.committed_not_seen": 7,
    "checkpoint.before_publish": 3,
    "checkpoint.after_publish": 3,
}
# Before its commit an object is not there, and comes again at the next start; of all eight, after it each comes once.
DDL_TURNS = {"ddl.before_commit": (2, 3, 3, 1), "ddl.after_commit": (2, 3, 2, 1)}
LARGE = ("--small-rows", "800", "--slot-rows", "500")
FREQUENT = ("--checkpoint-interval", "500ms")
ALREADY_THERE = 3000
SO_MANY_THAT_SPARK_READS_THEM = 50_000

OPTIONS = {
    **dict.fromkeys((point for point in CRASH_POINTS if point.startswith(("kafka.slot", "state."))), LARGE),
    **dict.fromkeys((point for point in CRASH_POINTS if point.startswith("checkpoint.")), FREQUENT),
}
# Of other targets than Kafka, of COPY and of ALTER SINK: tests/faults has a file for each.
ELSEWHERE = ("ddl.", "postgres.", "redis.", "iceberg.", "copy.", "sink.")


@pytest.mark.parametrize("point", [point for point in CRASH_POINTS if not point.startswith(ELSEWHERE)])
def test_changes_arrive_exactly_once_after_dying_at(point: str, pipelines: PipelineFactory) -> None:
    pipeline = pipelines(*OPTIONS.get(point, ()))
    if OPTIONS.get(point) == LARGE:
        pipeline.orders.send(ALREADY_THERE)
    pipeline.run_until_killed_at(f"{point}:{TURNS.get(point, 1)}")
    pipeline.run_until_caught_up()
    pipeline.check()


@pytest.mark.parametrize("point", ["kafka.slot_sent_not_committed", "kafka.slot_committed"])
def test_a_partition_that_is_a_slot_is_told_exactly_once_after_dying_at(
    point: str, pipelines: PipelineFactory
) -> None:
    pipeline = pipelines("--small-rows", "800", "--slot-rows", "20000", sinks=("lines",))
    pipeline.orders.send(SO_MANY_THAT_SPARK_READS_THEM)
    pipeline.run_until_killed_at(f"{point}:1")
    pipeline.run_until_caught_up()
    assert any(plan["placed"] for plan in pipeline.plans())
    pipeline.check()


@pytest.mark.parametrize("point", [point for point in CRASH_POINTS if point.startswith("ddl.")])
def test_an_object_is_there_wholly_or_not_at_all_after_dying_at(
    point: str, pipelines: PipelineFactory
) -> None:
    pipeline = pipelines()
    for turn in DDL_TURNS[point]:  # in the source, a view, a sink, and a sink
        pipeline.run_until_killed_at(f"{point}:{turn}")
        assert pipeline.archive.has("orders") == pipeline.archive.has("orders_dead_letters")
    pipeline.run_until_caught_up()
    pipeline.check()
