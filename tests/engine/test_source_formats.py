"""CREATE SOURCE: REGEX, and what becomes of values that cannot be decoded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka.flink_tables import rows
from tailrace.engine.engine import Engine
from tailrace.errors import SqlError
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.topics import produce
from tailrace.ticks.loop import Pace


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: Broker) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02)) as opened:
        opened.sql(f"CREATE CONNECTION k TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT)")
        yield opened


def test_the_groups_of_a_pattern_are_columns(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("lines")
    lines = ["GET /tea 200", "POST /tea", "nothing", "é GET /(x) 404 …"]
    produce(broker.bootstrap, name, [(None, line) for line in lines])
    pattern = r"(?P<method>[A-Z[:digit:](]+) \/(?:\((?P<odd_one>x)\)|(?P<page>\w+))(?: (\d+))?"
    engine.sql(f"CREATE SOURCE lines FROM KAFKA CONNECTION k (TOPIC '{name}') FORMAT REGEX '{pattern}'")
    found = rows(engine, "SELECT method, odd_one, page, column4 FROM lines")
    assert found == [("GET", "x", None, "404"), ("GET", None, "tea", "200"), ("POST", None, "tea", None)]
    reason = "Decode error: Regex: the pattern does not match (original text: nothing)"
    assert rows(engine, "SELECT \"offset\", error FROM lines_dead_letters") == [(2, reason)]
    engine.sql(f"CREATE SOURCE bare FROM KAFKA CONNECTION k (TOPIC '{name}')")
    engine.sql("CREATE TABLE pages (page) FROM SOURCE bare FORMAT REGEX '/(\\w+)'")
    assert rows(engine, "SELECT page FROM pages") == [("tea",), ("tea",)]


@pytest.mark.parametrize(
    ("format", "message"),
    [
        ("REGEX «'no groups'", "the pattern of FORMAT REGEX has no groups"),
        ("REGEX «'(?P<open>.'", "invalid regular expression: unclosed group"),
        ("REGEX «'(a)[b'", "invalid regular expression: brackets .. not balanced"),
        ("CSV WITH «HEADER (a, b)", "CSV WITH HEADER in Kafka sources not supported"),
        ("PROTOBUF «MESSAGE 'm' USING SCHEMA 'x'", "PROTOBUF format in sources not yet supported"),
    ],
)
def test_what_is_wrong_with_a_format_is_said_where_it_stands(
    engine: Engine, topic: TopicFactory, format: str, message: str
) -> None:
    text = f"CREATE SOURCE wrong FROM KAFKA CONNECTION k (TOPIC '{topic('wrong')}') FORMAT {format}"
    with pytest.raises(SqlError, match=message) as caught:
        engine.sql(text.replace("«", ""))
    assert caught.value.position == text.index("«") + 1


def test_progress_is_a_relation(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("followed", partitions=2)
    produce(broker.bootstrap, name, [(None, "x", {}, 0)])
    engine.sql(f"CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC '{name}') FORMAT TEXT EXPOSE PROGRESS AS s_progress")
    assert rows(engine, "SELECT partition::text, \"offset\" FROM s_progress") == [("[0,0]", 1)]
    produce(broker.bootstrap, name, [(None, "x", {}, p) for p in (0, 1)])
    engine.settle()
    assert rows(engine, "SELECT partition::text, \"offset\" FROM s_progress") == [("[0,0]", 2), ("[1,1]", 1)]
    with pytest.raises(SqlError, match="EXPOSE PROGRESS AS not yet supported here"):
        engine.sql(f"CREATE SOURCE bytes FROM KAFKA CONNECTION k (TOPIC '{name}') EXPOSE PROGRESS AS p")


@pytest.mark.slow
def test_progress_shows_the_same_tick_also_after_a_restart(
    spark: SparkSession, broker: Broker, topic: TopicFactory, tmp_path: Path
) -> None:
    name = topic("followed", partitions=3)
    produce(broker.bootstrap, name, [(None, "x", {}, p) for p in (0, 0, 1)])
    source = f"FROM KAFKA CONNECTION k (TOPIC '{name}', START OFFSET (1)) FORMAT TEXT EXPOSE PROGRESS AS far"
    far, both = 'SELECT partition::text, "offset" FROM far', "SELECT n, read FROM counted, summed"
    with Engine(spark, tmp_path, pace=Pace(interval=0.02)) as engine:
        engine.sql(f"CREATE CONNECTION k TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT)")
        engine.sql(f"CREATE SOURCE followed {source}")
        engine.sql("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM followed")
        engine.sql('CREATE MATERIALIZED VIEW summed AS SELECT sum("offset") AS read FROM far')
        assert rows(engine, far) == [("[0,0]", 2), ("[1,1]", 1)]
        assert rows(engine, both) == [(2, 3)]
    produce(broker.bootstrap, name, [(None, "x", {}, p) for p in (0, 2)])
    with Engine(spark, tmp_path, pace=Pace(interval=0.02)) as engine:
        while (found := rows(engine, both)) != [(4, 5)]:
            assert found == [(2, 3)]
            engine.settle()
        assert rows(engine, far) == [("[0,0]", 3), ("[1,1]", 1), ("[2,2]", 1)]
        engine.sql("DROP SOURCE followed CASCADE")
        assert rows(engine, "SELECT name FROM mz_sources") == []


def test_errors_inline_are_rows_until_the_key_has_another_value(
    engine: Engine, broker: Broker, topic: TopicFactory
) -> None:
    name = topic("inline")
    produce(broker.bootstrap, name, [("a", "1,x"), ("b", "2"), ("c", "3,y,z"), ("d", "4,w")])
    inline = "ENVELOPE UPSERT (VALUE DECODING ERRORS = (INLINE AS wrong))"
    source = f"FROM KAFKA CONNECTION k (TOPIC '{name}') KEY FORMAT TEXT VALUE FORMAT CSV WITH 2 COLUMNS"
    engine.sql(f"CREATE SOURCE inline {source} INCLUDE PARTITION {inline}")
    assert '(INLINE AS "wrong")' in rows(engine, "SHOW CREATE SOURCE inline")[0][1].replace("AS wrong", 'AS "wrong"')
    engine.sql('CREATE MATERIALIZED VIEW broken AS SELECT key, (wrong)."description" AS why FROM inline')
    query = "SELECT key, why, column1, column2, partition FROM inline JOIN broken USING (key)"
    fields = "Decode error: CSV error at record number 1: expected 2 columns, got {}. (original text: {})"
    assert rows(engine, query) == [
        ("a", None, "1", "x", 0),
        ("b", fields.format(1, "2"), None, None, 0),
        ("c", fields.format(3, "3,y,z"), None, None, 0),
        ("d", None, "4", "w", 0),
    ]
    produce(broker.bootstrap, name, [("a", "5"), ("b", "2,x"), ("c", None)])
    engine.settle()
    assert rows(engine, query) == [
        ("a", fields.format(1, "5"), None, None, 0),
        ("b", None, "2", "x", 0),
        ("d", None, "4", "w", 0),
    ]
    assert rows(engine, "SELECT * FROM inline_dead_letters") == []
