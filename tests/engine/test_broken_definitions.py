"""What a new version cannot make again stands still alone and can be dropped; under a version that can, it goes on,
and its sinks miss and repeat nothing."""

from __future__ import annotations

import json
import re
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tailrace.catalog.database import FILE
from tailrace.engine.engine import Engine
from tailrace.errors import DependentObjects, SqlError
from tailrace.testing.broker import Broker
from tailrace.testing.topics import read_committed, settle
from tailrace.ticks.loop import Pace

PACE = Pace(checkpoint=0)
KNOWN, UNKNOWN = "sum(", "sum_of_another_version("


def opened(spark: SparkSession, directory: Path) -> Engine:
    return Engine(spark, directory, pace=PACE)


def rewritten(directory: Path, old: str, new: str) -> None:
    """What is stored, as if another version had made it."""
    with closing(sqlite3.connect(directory / FILE)) as catalog, catalog:
        catalog.execute("UPDATE items SET create_sql = replace(create_sql, ?, ?)", (old, new))


def asked(engine: Engine, query: str) -> list[tuple[Any, ...]]:
    found = engine.sql(query)
    assert found is not None
    return [tuple(row.values()) for row in found.to_pylist()]


def insert(engine: Engine, *rows: tuple[int, int]) -> None:
    """Each row at a tick of its own."""
    for row in rows:
        engine.sql(f"INSERT INTO bids VALUES {row}")
    engine.settle()


def pipeline(engine: Engine, broker: Broker, topic: str) -> None:
    engine.sql(
        "CREATE TABLE bids (item int NOT NULL, price int NOT NULL);"
        "CREATE MATERIALIZED VIEW totals AS SELECT item, sum(price) AS total FROM bids GROUP BY item;"
        "CREATE VIEW dear AS SELECT * FROM totals WHERE total > 10;"
        "CREATE MATERIALIZED VIEW dearest AS SELECT max(total) AS total FROM dear;"
        "CREATE INDEX by_item ON totals (item);"
        "CREATE MATERIALIZED VIEW counts AS SELECT count(*) AS n FROM bids;"
        f"CREATE CONNECTION near TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT);"
        f"CREATE SINK totals_out FROM totals INTO KAFKA CONNECTION near (TOPIC '{topic}')"
        " KEY (item) FORMAT JSON ENVELOPE UPSERT"
    )


@pytest.fixture
def topic() -> str:
    return f"topic-{uuid.uuid4().hex[:8]}"


def told(broker: Broker, topic: str) -> dict[int, list[int]]:
    """The totals of each item, in the order in which they were told."""
    settle(broker.bootstrap, topic)
    found: dict[int, list[int]] = {}
    for message in read_committed(broker.bootstrap, topic):
        assert message.value is not None
        row = json.loads(message.value)
        found.setdefault(row["item"], []).append(int(row["total"]))
    return found


@pytest.mark.parametrize("forgetful", [False, True])
def test_it_goes_on_under_a_version_that_can_make_it(
    spark: SparkSession, tmp_path: Path, broker: Broker, topic: str, forgetful: bool
) -> None:
    with opened(spark, tmp_path) as engine:
        pipeline(engine, broker, topic)
        insert(engine, (1, 30), (2, 5))
    rewritten(tmp_path, KNOWN, UNKNOWN)
    for row in ((1, 1), (1, 2), (2, 7)):
        with opened(spark, tmp_path) as engine:
            if forgetful:  # as if nothing stood still: a checkpoint is written, and ticks are forgotten
                engine.loop.do(lambda: setattr(engine.cluster, "broken", frozenset()))
            insert(engine, row)
            assert asked(engine, "SELECT n FROM counts")[0][0] >= 3
    rewritten(tmp_path, UNKNOWN, KNOWN)
    with opened(spark, tmp_path) as engine:
        engine.settle()
        if not forgetful:
            assert asked(engine, "SELECT * FROM totals ORDER BY item") == [(1, 33), (2, 12)]
            assert asked(engine, "SELECT * FROM dearest") == [(33,)]
            insert(engine, (1, 1))
    expected = {1: [30, 31, 33, 34], 2: [5, 12]}
    assert (told(broker, topic) == expected) is not forgetful


def test_everything_else_goes_on_and_says_what_stands_still(
    spark: SparkSession, tmp_path: Path, broker: Broker, topic: str
) -> None:
    with opened(spark, tmp_path) as engine:
        pipeline(engine, broker, topic)
        insert(engine, (1, 30), (2, 5))
    rewritten(tmp_path, KNOWN, UNKNOWN)
    with opened(spark, tmp_path) as engine:
        insert(engine, (2, 7))
        assert asked(engine, "SELECT n FROM counts") == [(3,)]
        for statement in (
            "SELECT * FROM totals",
            "SELECT * FROM dear",
            "SUBSCRIBE dearest",
            "CREATE VIEW more AS SELECT total FROM totals",
            "CREATE SINK more FROM totals INTO KAFKA CONNECTION near (TOPIC 'more') FORMAT JSON ENVELOPE DEBEZIUM",
            "ALTER SINK totals_out SET FROM counts",
            "EXPLAIN MATERIALIZED VIEW totals",
            "CREATE INDEX more ON totals (item)",
        ):
            with pytest.raises(SqlError, match="cannot be made again") as refused:
                engine.sql(statement)
            assert (refused.value.sqlstate, "DROP it" in str(refused.value.hint)) == ("55000", True), statement
        [(status, error)] = asked(engine, "SELECT status, error FROM mz_internal.mz_sink_statuses")
        assert (status, UNKNOWN.strip("(") in error) == ("stalled", True)
        assert asked(engine, "SELECT name FROM mz_catalog.mz_materialized_views ORDER BY 1") == [
            ("counts",),
            ("dearest",),
            ("totals",),
        ]
        for question in (
            "SHOW OBJECTS",
            "SHOW SINKS",
            "SHOW INDEXES",
            "SHOW COLUMNS FROM totals",
            "SHOW CREATE MATERIALIZED VIEW totals",
            "SELECT * FROM mz_catalog.mz_sinks",
            "SELECT * FROM mz_catalog.mz_kafka_sinks",
            "SELECT * FROM mz_internal.mz_hydration_statuses",
            "SELECT * FROM mz_internal.mz_object_dependencies",
            "SELECT * FROM mz_internal.mz_frontiers",
            "SELECT * FROM mz_catalog.mz_index_columns",
            "SELECT * FROM pg_catalog.pg_class",
            "SELECT * FROM pg_catalog.pg_attribute",
            "SELECT * FROM pg_catalog.pg_index",
            "SELECT * FROM pg_catalog.pg_views",
            "SELECT * FROM information_schema.columns",
        ):
            engine.sql(question)
        for needed in ("TABLE bids", "CONNECTION near", "MATERIALIZED VIEW totals"):
            with pytest.raises(DependentObjects):
                engine.sql(f"DROP {needed}")
        with pytest.raises(DependentObjects, match=r"cannot rename .* cannot be made again"):
            engine.sql("ALTER TABLE bids RENAME TO offers")
        engine.sql("COMMENT ON MATERIALIZED VIEW totals IS 'of another version'")
        engine.sql("ALTER MATERIALIZED VIEW counts RENAME TO how_many")

        kept = engine.log.first
        engine.sql("DROP MATERIALIZED VIEW totals CASCADE")
        assert asked(engine, "SELECT name FROM mz_catalog.mz_materialized_views") == [("how_many",)]
        engine.sql("CREATE MATERIALIZED VIEW totals AS SELECT item, sum(price) AS total FROM bids GROUP BY item")
        assert asked(engine, "SELECT * FROM totals ORDER BY item") == [(1, 30), (2, 12)]
        engine.settle()
        assert engine.log.first > kept  # ticks are forgotten again
    with opened(spark, tmp_path) as engine:
        assert asked(engine, "SELECT * FROM totals ORDER BY item") == [(1, 30), (2, 12)]


@pytest.mark.parametrize(
    ("known", "unknown", "named"),
    [
        ("bigint", "int_of_another_version", 'table "materialize.public.bids"'),  # too much rests on it
        ("VIEW", "VIEW OF ANOTHER VERSION", 'view "materialize.public.dear"'),  # what it rests on is not known
    ],
)
def test_what_cannot_stand_still_alone_is_named_and_nothing_is_lost(
    spark: SparkSession, tmp_path: Path, known: str, unknown: str, named: str
) -> None:
    with opened(spark, tmp_path) as engine:
        engine.sql("CREATE TABLE bids (item int, price bigint); INSERT INTO bids VALUES (1, 30)")
        engine.sql("CREATE VIEW dear AS SELECT * FROM bids WHERE price > 10")
    rewritten(tmp_path, known, unknown)
    for _ in range(2):  # whoever could not open it has let go of it
        with pytest.raises(SqlError, match=f"^{re.escape(named)} cannot be made again") as refused:
            opened(spark, tmp_path)
        assert refused.value.hint is not None
    rewritten(tmp_path, unknown, known)
    with opened(spark, tmp_path) as engine:
        assert asked(engine, "SELECT * FROM bids") == [(1, 30)]
