"""A target that does not answer is its own sink's trouble: other sinks get every tick meanwhile."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from tailrace.engine.engine import Engine
from tailrace.sinks.kafka_plans import Plans
from tailrace.sinks.kafka_records import Plan
from tailrace.testing.broker import Broker
from tailrace.testing.topics import ends, is_there, read_committed, settle

PATIENCE_SECONDS = 120.0


@pytest.fixture(scope="module")
def other_broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def sinks(engine: Engine, broker: Broker, other_broker: Broker) -> Iterator[str]:
    """One table, two sinks of it, and two brokers: the second is one that a test may stop."""
    engine.sql("CREATE TABLE bids (item int NOT NULL, PRIMARY KEY (item))")
    for name, there in (("near", broker), ("far", other_broker)):
        engine.sql(
            f"CREATE CONNECTION {name} TO KAFKA (BROKER '{there.bootstrap}', SECURITY PROTOCOL PLAINTEXT);"
            f"CREATE SINK {name}_out FROM bids INTO KAFKA CONNECTION {name} (TOPIC 'silent_{name}')"
            " KEY (item) FORMAT JSON ENVELOPE UPSERT"
        )
    insert(engine, 0)
    engine.settle()
    yield "bids"
    engine.sql("DROP TABLE bids CASCADE; DROP CONNECTION near; DROP CONNECTION far")


def insert(engine: Engine, item: int) -> None:
    engine.sql(f"INSERT INTO bids VALUES ({item})")


def told(broker: Broker, topic: str) -> list[int]:
    settle(broker.bootstrap, topic)
    return [json.loads(message.value or b"")["item"] for message in read_committed(broker.bootstrap, topic)]


def status(engine: Engine, sink: str) -> tuple[str, str | None]:
    id = engine.catalog.resolve((sink,)).id
    now = engine.statuses.of(id)
    return now.status, now.error


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "in vain"
        time.sleep(0.05)


def test_a_broker_that_says_nothing_holds_up_its_own_sink_alone(engine, sinks, broker, other_broker):
    far = engine.cluster.deliveries[engine.catalog.resolve(("far_out",)).id]
    wait_for(lambda: far.owes_nothing(engine.cluster.done))  # or the errand below may be an earlier one, and end
    os.kill(other_broker.pid, signal.SIGSTOP)
    try:
        insert(engine, 1)
        errand = far._errand
        assert errand is not None  # what was begun at that tick,
        for item in range(2, 6):
            insert(engine, item)
        assert told(broker, "silent_near") == list(range(6))
        assert far._errand is errand  # has not ended when all later ticks have gone by
        wait_for(lambda: status(engine, "far_out")[0] == "stalled")
        assert "has not answered yet" in str(status(engine, "far_out")[1])
        assert status(engine, "near_out") == ("running", None)
    finally:
        os.kill(other_broker.pid, signal.SIGCONT)
    wait_for(lambda: status(engine, "far_out")[0] == "running" and far.owes_nothing(engine.cluster.done))
    assert told(other_broker, "silent_far") == list(range(6))


def test_a_new_target_is_opened_while_the_loop_is_busy_with_what_it_is_to_get(engine, sinks, broker):
    rests, statement = threading.Event(), ThreadPoolExecutor(2)
    busy = statement.submit(engine.loop.do, lambda: rests.wait(PATIENCE_SECONDS))
    try:
        made = statement.submit(
            engine.sql,
            "CREATE SINK early_out FROM bids INTO KAFKA CONNECTION near (TOPIC 'silent_early')"
            " KEY (item) FORMAT JSON ENVELOPE UPSERT",
        )
        wait_for(lambda: is_there(broker.bootstrap, "silent_early"))  # made when the target is opened
        assert not busy.done()
        assert not made.done()
    finally:
        rests.set()
        statement.shutdown()
    made.result()
    engine.settle()
    assert told(broker, "silent_early") == [0]


def test_a_sink_that_is_paused_in_the_middle_of_a_write_is_waited_for_by_nobody(
    engine, sinks, broker, other_broker, monkeypatch
):
    engine.sql("DROP SINK far_out")  # so that no other answer comes from that broker
    engine.sql("CREATE CLUSTER away SIZE '1'")
    engine.sql(
        "CREATE SINK paused_out IN CLUSTER away FROM bids INTO KAFKA CONNECTION far (TOPIC 'silent_paused')"
        " KEY (item) FORMAT JSON ENVELOPE UPSERT"
    )
    engine.settle()
    sink = engine.cluster.deliveries[engine.catalog.resolve(("paused_out",)).id]
    with monkeypatch.context() as unhurried:
        unhurried.setattr(engine.loop, "pace", replace(engine.loop.pace, retry=3600.0))
        os.kill(other_broker.pid, signal.SIGSTOP)
        try:
            insert(engine, 1)
            wait_for(lambda: sink.is_under_way)  # its cluster has ticks of its own
            engine.sql("ALTER CLUSTER away SET (REPLICATION FACTOR 0)")
            assert status(engine, "paused_out")[0] == "paused"
        finally:
            os.kill(other_broker.pid, signal.SIGCONT)
        wait_for(lambda: not sink.is_under_way)  # nothing asks for a tick here but the answer itself
    insert(engine, 2)
    engine.settle()
    assert status(engine, "paused_out") == ("paused", None)
    assert not sink.owes_nothing(engine.cluster.done)
    engine.sql("ALTER CLUSTER away SET (REPLICATION FACTOR 1)")
    engine.settle()
    assert told(other_broker, "silent_paused") == [0, 1, 2]
    engine.sql("DROP CLUSTER away CASCADE")


def test_a_view_whose_reader_leaves_before_it_has_read_says_itself_what_is_wrong(engine, sinks, other_broker):
    engine.sql("CREATE MATERIALIZED VIEW shares AS SELECT item, 100 / (item - 2) AS share FROM bids")
    engine.sql(
        "CREATE SINK shares_out FROM shares INTO KAFKA CONNECTION far (TOPIC 'silent_shares')"
        " KEY (item) NOT ENFORCED FORMAT JSON ENVELOPE UPSERT"
    )
    engine.settle()
    os.kill(other_broker.pid, signal.SIGSTOP)
    try:
        for item in (1, 2, 3):  # it waits for the first to be taken, and so does not see that 2 has no share
            insert(engine, item)
        assert status(engine, "shares") == ("running", None)
        engine.sql("DROP SINK shares_out")
        insert(engine, 4)
    finally:
        os.kill(other_broker.pid, signal.SIGCONT)
    assert status(engine, "shares") == ("stalled", "division by zero")


@pytest.mark.slow
def test_a_broker_that_falls_silent_in_the_middle_of_much_holds_up_its_own_sink_alone(
    engine, sinks, broker, other_broker, monkeypatch
):
    far = engine.cluster.deliveries[engine.catalog.resolve(("far_out",)).id]
    begin = Plans.begin

    def begin_and_hear_no_more(plans: Plans, *args: Any, **kwargs: Any) -> Plan:
        plan = begin(plans, *args, **kwargs)
        if plans is far.sink._plans:
            monkeypatch.undo()
            os.kill(other_broker.pid, signal.SIGSTOP)
        return plan

    monkeypatch.setattr(Plans, "begin", begin_and_hear_no_more)
    far.sink._plans._outlet = replace(far.sink._plans._outlet, patience=3.0)  # Spark has few places for tasks
    far.sink._limits = replace(far.sink._limits, slot_rows=1000)
    many = far.sink._limits.small_rows + 1
    try:
        engine.sql(f"INSERT INTO bids SELECT generate_series(1, {many})")
        assert far.is_under_way
        for item in range(many + 1, many + 5):
            insert(engine, item)
        near = engine.cluster.deliveries[engine.catalog.resolve(("near_out",)).id]
        wait_for(lambda: near.owes_nothing(engine.cluster.done))
        assert sorted(told(broker, "silent_near")[-4:]) == list(range(many + 1, many + 5))
        wait_for(lambda: status(engine, "far_out")[0] == "stalled")
    finally:
        os.kill(other_broker.pid, signal.SIGCONT)
    wait_for(lambda: far.owes_nothing(engine.cluster.done))
    assert sorted(told(other_broker, "silent_far")[-many - 4 :]) == list(range(1, many + 5))


def test_a_sink_that_is_dropped_in_the_middle_of_a_snapshot_leaves_nothing_open(engine, broker):
    engine.sql("CREATE TABLE much (item int NOT NULL, PRIMARY KEY (item))")
    engine.sql("INSERT INTO much SELECT generate_series(1, 400000)")
    engine.sql(
        f"CREATE CONNECTION here TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT);"
        "CREATE SINK much_out FROM much INTO KAFKA CONNECTION here (TOPIC 'silent_much')"
        " KEY (item) FORMAT JSON ENVELOPE UPSERT"
    )
    wait_for(lambda: is_there(broker.bootstrap, "silent_much") and any(ends(broker.bootstrap, "silent_much").values()))
    delivery = engine.cluster.deliveries[engine.catalog.resolve(("much_out",)).id]
    assert delivery.is_under_way  # so it is in the middle
    engine.sql("DROP SINK much_out")
    settle(broker.bootstrap, "silent_much")
    engine.sql("DROP TABLE much; DROP CONNECTION here")


@pytest.mark.slow
def test_a_broker_that_is_gone_is_asked_beside_the_loop_until_it_is_back(engine, sinks, broker, other_broker):
    other_broker.kill()
    insert(engine, 1)
    wait_for(lambda: status(engine, "far_out")[0] == "stalled")
    for item in range(2, 6):
        insert(engine, item)
    assert told(broker, "silent_near")[-6:] == list(range(6))
    other_broker.start()
    far = engine.cluster.deliveries[engine.catalog.resolve(("far_out",)).id]
    wait_for(lambda: status(engine, "far_out")[0] == "running" and far.owes_nothing(engine.cluster.done))
    assert sorted(told(other_broker, "silent_far")[-6:]) == list(range(6))
