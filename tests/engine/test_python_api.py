"""The engine beside a SparkSession of one's own: a view as a DataFrame, a subscription as an iterator."""

from __future__ import annotations

import subprocess
import sys
import time
import traceback
from pathlib import Path

import pytest

from tailrace import Engine
from tailrace.errors import SqlError
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.topics import produce

MANY = 30_000  # more than the driver reads by itself
BESIDE = """
import sys
from pyspark.sql import SparkSession
from tailrace import Engine

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
with Engine(spark) as engine:
    engine.sql(f"CREATE CONNECTION k TO KAFKA (BROKER '{sys.argv[1]}', SECURITY PROTOCOL PLAINTEXT)")
    engine.sql(f"CREATE SOURCE orders FROM KAFKA CONNECTION k (TOPIC '{sys.argv[2]}') FORMAT JSON")
    engine.sql("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM orders")
    print(engine.sql("SELECT * FROM counted").to_pylist())
print(spark.range(3).count())
"""


def test_a_view_is_a_dataframe_that_stays_what_it_was(engine: Engine) -> None:
    engine.sql("CREATE TABLE prices (item text, price int)")
    engine.sql("CREATE MATERIALIZED VIEW lowest AS SELECT item, min(price) AS price FROM prices GROUP BY item")
    engine.sql("INSERT INTO prices VALUES ('tea', 30), ('tea', 20)")
    before = engine.table("lowest")
    engine.sql("DELETE FROM prices WHERE price = 20")
    assert [tuple(row) for row in before.collect()] == [("tea", 20)]
    assert [tuple(row) for row in engine.table("lowest").collect()] == [("tea", 30)]


def test_a_subscription_begins_with_the_content_and_gives_every_change(engine: Engine) -> None:
    engine.sql("CREATE TABLE seen (x int)")
    engine.sql("INSERT INTO seen VALUES (1)")
    changes = engine.subscribe("SELECT x, count(*) AS n FROM seen GROUP BY x")
    first = next(changes)
    assert first.rows.to_pylist() == [{"x": 1, "n": 1, "weight": 1}]
    engine.sql("INSERT INTO seen VALUES (1)")
    second = next(changes)
    assert sorted(map(tuple, (row.values() for row in second.rows.to_pylist()))) == [(1, 1, -1), (1, 2, 1)]
    assert second.tick > first.tick
    changes.close()
    changes.close()
    assert list(changes) == []


def test_a_subscription_costs_nothing_when_nobody_listens_any_more(engine: Engine) -> None:
    engine.sql("CREATE TABLE heard (x int); INSERT INTO heard VALUES (1)")

    def listen_and_leave(way: str) -> None:
        changes = engine.subscribe("heard")
        assert len(engine.cluster.deliveries) == 1
        if way == "with":
            with changes:
                next(changes)
        elif way == "break":
            for _ in changes:
                break
        elif way == "never begins":
            changes.close()

    for way in ("with", "break", "never begins", "forgets"):
        listen_and_leave(way)
        deadline = time.monotonic() + 60
        while engine.cluster.deliveries:
            assert time.monotonic() < deadline, way
            time.sleep(0.01)


def test_an_empty_answer_has_the_columns_all_the_same(engine: Engine) -> None:
    answer = engine.sql("SELECT 1 AS a, 2 AS a WHERE false")
    assert answer is not None
    assert (answer.column_names, answer.num_rows) == (["a", "a"], 0)


def test_statements_answer_with_arrow(engine: Engine) -> None:
    answer = engine.sql("SELECT 1 AS one, 'x' AS letter")
    assert answer is not None
    assert answer.to_pylist() == [{"one": 1, "letter": "x"}]
    assert next(engine.session().sql("SHOW TABLES")).columns is not None


def test_an_error_points_at_its_place_and_carries_its_hint(engine: Engine) -> None:
    with pytest.raises(SqlError) as caught:
        engine.sql("SELECT 1;\nCREATE TABLE held (item int);\nSELECT item,\n  prize FROM held")
    assert caught.value.__notes__[:2] == ["LINE 2:   prize FROM held", "          ^"]
    shown = "".join(traceback.format_exception(caught.value))
    for query in (lambda: engine.table("hold"), lambda: engine.subscribe("hold")):
        with pytest.raises(SqlError) as caught:
            query()
        assert any(note.startswith("HINT:  ") for note in caught.value.__notes__), caught.value.__notes__
    assert "          ^" in shown


def test_a_session_that_was_built_without_our_jars_reads_much_of_kafka(
    broker: Broker, topic: TopicFactory, tmp_path: Path
) -> None:
    orders = topic("orders")
    produce(broker.bootstrap, orders, [(None, '{"item": "tea"}')] * MANY)
    command = [sys.executable, "-c", BESIDE, broker.bootstrap, orders]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert ended.stdout.splitlines() == [f"[{{'n': {MANY}}}]", "3"], ended.stderr  # and it is still its owner's
