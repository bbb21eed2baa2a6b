"""ALTER TABLE … ADD COLUMN: older rows have NULL in it, and what was made before keeps the columns that it knew."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.errors import DependentObjects, DuplicateColumn, NotSupported, UnknownColumn
from tailrace.ivm.dataflow import traces
from tailrace.testing.broker import Broker
from tailrace.testing.topics import read_committed, settle

BEFORE = """
CREATE TABLE bids (item int, price int);
CREATE VIEW dear AS SELECT * FROM bids WHERE price > 10;
CREATE MATERIALIZED VIEW all_bids AS SELECT * FROM bids;
CREATE MATERIALIZED VIEW pairs AS SELECT * FROM dear UNION ALL SELECT item, price FROM bids;
CREATE MATERIALIZED VIEW top AS SELECT DISTINCT ON (item) * FROM dear ORDER BY item, price DESC;
INSERT INTO bids VALUES (1, 30), (1, 20), (2, 5);
"""
AFTER = """
ALTER TABLE bids ADD COLUMN note text;
INSERT INTO bids VALUES (1, 40, 'new'), (2, 5, NULL);
CREATE MATERIALIZED VIEW noted AS SELECT * FROM bids WHERE note IS NOT NULL;
CREATE MATERIALIZED VIEW mixed AS SELECT d.*, b.note FROM dear AS d JOIN bids AS b USING (item, price);
"""


def rows(engine: Engine, query: str) -> list[tuple[Any, ...]]:
    answer = engine.sql(query)
    assert answer is not None
    return sorted((tuple(row.values()) for row in answer.to_pylist()), key=repr)


def contents(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    names = ("bids", "dear", "all_bids", "pairs", "top", "noted", "mixed")
    return {name: rows(engine, f"SELECT * FROM {name}") for name in names}


def state(engine: Engine) -> dict[str, list[str]]:
    return {id: sorted(trace.id for trace in traces(view.root)) for id, view in engine.cluster.maintained.items()}


def check_after_changes(engine: Engine) -> None:
    """Rows of before and after go, and come."""
    engine.sql("DELETE FROM bids WHERE item = 1 AND price = 30; UPDATE bids SET note = 'five' WHERE price = 5")
    engine.sql("INSERT INTO bids (item, price) VALUES (3, 50)")
    assert contents(engine) == {
        "bids": [(1, 20, None), (1, 40, "new"), (2, 5, "five"), (2, 5, "five"), (3, 50, None)],
        "dear": [(1, 20), (1, 40), (3, 50)],
        "all_bids": [(1, 20), (1, 40), (2, 5), (2, 5), (3, 50)],
        "pairs": sorted([(1, 20), (1, 40), (3, 50), (1, 20), (1, 40), (2, 5), (2, 5), (3, 50)]),
        "top": [(1, 40), (3, 50)],
        "noted": [(1, 40, "new"), (2, 5, "five"), (2, 5, "five")],
        "mixed": [(1, 20, None), (1, 40, "new"), (3, 50, None)],
    }


@pytest.mark.slow
def test_old_rows_have_null_and_old_views_their_columns_now_and_after_restarts(
    spark: SparkSession, tmp_path: Path
) -> None:
    with Engine(spark, tmp_path) as engine:
        engine.sql(BEFORE + AFTER)
        assert rows(engine, "SELECT * FROM bids") == [
            *((1, 20, None), (1, 30, None), (1, 40, "new"), (2, 5, None), (2, 5, None)),
        ]
        before, known = contents(engine), state(engine)
    with Engine(spark, tmp_path) as engine:
        assert contents(engine) == before
        check_after_changes(engine)
        assert state(engine) == known  # what was computed before is taken over, not computed again
        engine.sql("ALTER TABLE bids ADD COLUMN IF NOT EXISTS at timestamptz; ALTER TABLE bids RENAME TO offers")
        engine.sql("INSERT INTO offers VALUES (4, 60, 'x', '2024-07-03 18:43:05Z')")
        assert rows(engine, "SELECT count(*) AS n, count(at) AS m FROM offers") == [(6, 1)]
        after = {name: rows(engine, f"SELECT * FROM {name}") for name in ("offers", "pairs", "noted", "mixed")}
        assert (4, 60, "x") in after["noted"]
    with Engine(spark, tmp_path) as engine:
        assert {name: rows(engine, f"SELECT * FROM {name}") for name in after} == after
        shown = [name for name, *_ in rows(engine, "SHOW COLUMNS FROM offers")]
        assert shown == ["at", "item", "note", "price"]


def test_what_cannot_be_added_is_refused_where_it_stands(spark: SparkSession) -> None:
    with Engine(spark) as engine:
        engine.sql("CREATE TABLE t (a int)")
        with pytest.raises(DuplicateColumn, match='column "a" of relation "t" already exists'):
            engine.sql("ALTER TABLE t ADD COLUMN a text")
        engine.sql("ALTER TABLE t ADD COLUMN IF NOT EXISTS a text; ALTER TABLE IF EXISTS u ADD b int")
        for clause in ("NOT NULL", "DEFAULT 7", "PRIMARY KEY"):
            statement = f"ALTER TABLE t ADD COLUMN b int {clause}"
            with pytest.raises(NotSupported) as caught:
                engine.sql(statement)
            assert caught.value.position == statement.index(clause) + 1
        engine.sql("INSERT INTO t VALUES (1); ALTER TABLE t ADD b int NULL DEFAULT NULL, ADD COLUMN c text")
        with pytest.raises(DuplicateColumn):
            engine.sql("ALTER TABLE t ADD d int, ADD d text")
        engine.sql("INSERT INTO t VALUES (2, 3, 'x')")
        assert rows(engine, "SELECT * FROM t") == [(1, None, None), (2, 3, "x")]


def test_a_column_that_nobody_reads_gets_another_name(spark: SparkSession) -> None:
    with Engine(spark) as engine:
        engine.sql("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 2)")
        engine.sql("ALTER TABLE t RENAME COLUMN a TO k; ALTER TABLE t RENAME b TO v")
        assert rows(engine, "SELECT k, v FROM t") == [(1, 2)]
        engine.sql("CREATE VIEW reading AS SELECT k FROM t")
        for statement, error in (("b TO c", UnknownColumn), ("v TO k", DuplicateColumn), ("v TO w", DependentObjects)):
            with pytest.raises(error):
                engine.sql(f"ALTER TABLE t RENAME COLUMN {statement}")


@pytest.mark.slow
def test_a_sink_goes_on_with_the_columns_it_was_made_with(spark: SparkSession, tmp_path: Path, broker: Broker) -> None:
    old, new = (f"{name}-{uuid.uuid4().hex[:8]}" for name in ("old", "new"))
    sink = "CREATE SINK {} FROM t INTO KAFKA CONNECTION k (TOPIC '{}') KEY (a) FORMAT JSON ENVELOPE UPSERT"
    with Engine(spark, tmp_path) as engine:
        engine.sql(f"CREATE CONNECTION k TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT)")
        engine.sql("CREATE TABLE t (a int PRIMARY KEY)")
        engine.sql(sink.format("narrow", old))
        engine.sql("INSERT INTO t VALUES (1); ALTER TABLE t ADD COLUMN b int; INSERT INTO t VALUES (2, 2)")
        engine.sql(sink.format("wide", new))
        engine.settle()
    with Engine(spark, tmp_path) as engine:
        engine.sql("DELETE FROM t WHERE a = 1; INSERT INTO t VALUES (3, 3)")
        engine.settle()
        assert said(broker, old) == ['{"a":1}', '{"a":2}', '{"a":3}', None]
        assert said(broker, new) == ['{"a":1,"b":null}', '{"a":2,"b":2}', '{"a":3,"b":3}', None]
        engine.sql("ALTER SINK narrow SET FROM t; INSERT INTO t VALUES (4, 4)")
        engine.settle()
        assert '{"a":4,"b":4}' in said(broker, old)


def said(broker: Broker, topic: str) -> list[str | None]:
    settle(broker.bootstrap, topic)
    values = [message.value for message in read_committed(broker.bootstrap, topic)]
    return sorted((None if v is None else v.decode() for v in values), key=lambda text: (text is None, text))
