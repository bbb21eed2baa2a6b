"""Everything that was said survives the process: objects, rows, state, and the order of ids."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.errors import ObjectInUse, SqlError, Unavailable, UnknownObject
from tailrace.sinks.kafka import KafkaSink
from tailrace.testing.broker import Broker

SCRIPT = """
CREATE SECRET password AS 'hunter2';
CREATE TABLE bids (item int, price int DEFAULT 7);
CREATE VIEW dear AS SELECT * FROM bids WHERE price > 10;
CREATE MATERIALIZED VIEW totals AS SELECT item, sum(price) AS total FROM dear GROUP BY item;
INSERT INTO bids VALUES (1, 30), (1, 20), (2, 5);
INSERT INTO bids (item) VALUES (3);
"""


def totals(engine: Engine) -> list[tuple[int, int]]:
    rows = engine.sql("SELECT item, total FROM totals ORDER BY item")
    assert rows is not None
    return [(row["item"], row["total"]) for row in rows.to_pylist()]


def test_a_new_process_goes_on_where_the_last_one_stopped(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark, tmp_path) as engine:
        engine.sql(SCRIPT)
        assert totals(engine) == [(1, 50)]
    with Engine(spark, tmp_path) as engine:
        assert totals(engine) == [(1, 50)]
        engine.sql("DELETE FROM bids WHERE price = 20; INSERT INTO bids VALUES (2, 40)")
        assert totals(engine) == [(1, 30), (2, 40)]
        answer = engine.sql("SELECT price FROM bids WHERE item = 3")
        assert answer is not None
        assert answer.to_pylist() == [{"price": 7}]


def test_a_dropped_id_is_not_given_again(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark, tmp_path) as engine:
        engine.sql("CREATE TABLE a (x int); DROP TABLE a")
    with Engine(spark, tmp_path) as engine:
        engine.sql("CREATE TABLE b (x int)")
        assert engine.catalog.resolve(("b",)).id == "u2"
        with pytest.raises(UnknownObject):
            engine.sql("SELECT * FROM a")


def test_a_second_engine_cannot_open_the_same_directory(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark, tmp_path), pytest.raises(ObjectInUse, match="is in use"):
        Engine(spark, tmp_path)


def test_closing_twice_leaves_the_directory_to_whoever_opened_it_meanwhile(
    spark: SparkSession, tmp_path: Path
) -> None:
    first = Engine(spark, tmp_path)
    first.close()
    with Engine(spark, tmp_path) as second:
        first.close()
        with pytest.raises(ObjectInUse):
            Engine(spark, tmp_path)
        second.sql("CREATE TABLE a (x int)")


def test_secrets_are_nowhere_to_be_seen(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark, tmp_path) as engine:
        engine.sql(SCRIPT)
        shown = str(engine.sql("SHOW SECRETS")) + str(engine.sql("SELECT * FROM mz_secrets"))
        assert "password" in shown
        assert "hunter2" not in shown + repr(engine.catalog)
        with pytest.raises(SqlError) as caught:
            engine.sql("CREATE SECRET password AS 'hunter3'")
        assert "hunter" not in str(caught.value)


def test_the_history_of_statuses_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    def history(engine: Engine) -> list[tuple[str, str | None]]:
        rows = engine.sql("SELECT status, error FROM mz_internal.mz_status_history ORDER BY occurred_at")
        assert rows is not None
        return [(row["status"], row["error"]) for row in rows.to_pylist()]

    with Engine(spark, tmp_path) as engine:
        engine.sql("CREATE TABLE bids (price int)")
        engine.sql("CREATE MATERIALIZED VIEW shares AS SELECT sum(100 / price) AS share FROM bids")
        engine.sql("INSERT INTO bids VALUES (0)")
        engine.settle()
        before = history(engine)
        assert [status for status, _ in before] == ["starting", "running", "stalled"]
        assert "division by zero" in str(before[-1][1])
    with Engine(spark, tmp_path) as engine:
        engine.sql("DELETE FROM bids")
        engine.settle()
        after = history(engine)
        assert after[:3] == before
        assert after[3] == ("starting", None)
        assert after[-1] == ("running", None)


def test_what_a_restart_writes_is_told_when_it_is_done_though_no_input_comes(
    spark: SparkSession, tmp_path: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is begun while ticks are replayed, when there is no loop yet to be woken."""
    prepared, may_answer = KafkaSink.prepared, threading.Event()

    def fails(*_: Any) -> Any:
        raise Unavailable("not now")

    def answers_later(sink: KafkaSink, *change: Any) -> Any:
        rest = prepared(sink, *change)
        assert rest is not None
        return lambda: rest() if may_answer.wait(60) else None

    monkeypatch.setattr(KafkaSink, "prepared", fails)
    with Engine(spark, tmp_path) as engine:
        engine.sql(
            "CREATE TABLE bids (item int NOT NULL, PRIMARY KEY (item));"
            f"CREATE CONNECTION near TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT);"
            "CREATE SINK out FROM bids INTO KAFKA CONNECTION near (TOPIC 'after_a_restart')"
            " KEY (item) FORMAT JSON ENVELOPE UPSERT; INSERT INTO bids VALUES (1)"
        )
    monkeypatch.setattr(KafkaSink, "prepared", answers_later)
    with Engine(spark, tmp_path) as engine:
        sink = engine.cluster.deliveries[engine.catalog.resolve(("out",)).id]
        last = engine.log.last
        assert sink.is_under_way
        assert sink.frontier < last
        may_answer.set()
        deadline = time.monotonic() + 30
        while sink.frontier < last:
            assert time.monotonic() < deadline, "nobody looked"
            time.sleep(0.05)
