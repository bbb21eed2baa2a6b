"""The engine beside a SparkSession of one's own: a view as a DataFrame, a subscription as an iterator."""

from __future__ import annotations

from tailrace import Engine


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
    assert first.rows.to_pylist() == [{"c0": 1, "c1": 1, "weight": 1}]
    engine.sql("INSERT INTO seen VALUES (1)")
    second = next(changes)
    assert sorted(map(tuple, (row.values() for row in second.rows.to_pylist()))) == [(1, 1, -1), (1, 2, 1)]
    assert second.tick > first.tick
    changes.close()


def test_statements_answer_with_arrow(engine: Engine) -> None:
    answer = engine.sql("SELECT 1 AS one, 'x' AS letter")
    assert answer is not None
    assert answer.to_pylist() == [{"one": 1, "letter": "x"}]
    assert next(engine.session().sql("SHOW TABLES")).columns is not None
