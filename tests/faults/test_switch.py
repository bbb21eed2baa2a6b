"""kill -9 while ALTER SINK … SET FROM switches: the sink has one relation or the other, and tells each change once."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import psycopg
import pytest

from tailrace.testing.broker import Broker
from tailrace.testing.crash import CRASH_POINTS
from tailrace.testing.engine_process import EngineProcess
from tailrace.testing.topics import read_committed, settle

OPTIONS = ("--master", "local[2]", "--driver-memory", "1g", "--checkpoint-interval", "60m")
POINTS = [point for point in CRASH_POINTS if point.startswith("sink.")]
OBJECTS = (
    "CREATE CONNECTION k TO KAFKA (BROKER '{bootstrap}', SECURITY PROTOCOL PLAINTEXT)",
    "CREATE TABLE bids (item text NOT NULL, price int)",
    "CREATE MATERIALIZED VIEW total AS SELECT item, sum(price) AS n FROM bids GROUP BY item",
    "CREATE SINK out FROM total INTO KAFKA CONNECTION k (TOPIC '{topic}') KEY (item) FORMAT JSON ENVELOPE UPSERT",
    "CREATE MATERIALIZED VIEW negated AS SELECT item, -sum(price) AS n FROM bids GROUP BY item",
    "INSERT INTO bids VALUES ('tea', 1), ('cup', 5)",
)


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("point", POINTS)
def test_a_sink_has_one_relation_or_the_other_after_dying_at(point: str, broker: Broker, tmp_path: Path) -> None:
    topic = f"switch-{uuid.uuid4().hex[:8]}"
    with EngineProcess(tmp_path / "data", tmp_path / "engine.log", *OPTIONS) as engine:
        engine.start(TAILRACE_CRASH=point)
        with engine.connect() as connection:
            for statement in OBJECTS:
                connection.execute(statement.format(bootstrap=broker.bootstrap, topic=topic))
            with pytest.raises(psycopg.OperationalError):
                connection.execute("ALTER SINK out SET FROM negated")
        engine.wait_until_dead()
        engine.start()
        with engine.connect() as connection:
            connection.execute("INSERT INTO bids VALUES ('tea', 1)")
            connection.execute("ALTER SINK out SET FROM negated")
            connection.execute("INSERT INTO bids VALUES ('cup', 1)")
            connection.execute("ALTER SINK out SET FROM total")  # returns when all before it is told
    settle(broker.bootstrap, topic)
    told = [json.loads(message.value or b"") for message in read_committed(broker.bootstrap, topic)]
    tea = 2 if point == "sink.before_switch" else -2
    assert sorted((row["item"], row["n"]) for row in told[:2]) == [("cup", 5), ("tea", 1)]
    assert [(row["item"], row["n"]) for row in told[2:]] == [("tea", tea), ("cup", -6)]
