"""ALTER … RENAME TO: whatever mentions an object goes on, now and after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.errors import DependentObjects, DuplicateObject, SqlError, UnknownObject

VIEWS = """
CREATE TABLE t (k int, v int);
CREATE TABLE "Other T" (k int, w int);
CREATE MATERIALIZED VIEW qualified AS SELECT t.k, t.v FROM t WHERE t.v > 1;
CREATE MATERIALIZED VIEW aliased AS SELECT x.k FROM public.t AS x JOIN "Other T" o ON o.k = x.k;
CREATE MATERIALIZED VIEW shadowed AS WITH t AS (SELECT 7 AS k) SELECT k FROM t;
CREATE MATERIALIZED VIEW twice AS
  SELECT k FROM t /* not this t */ UNION ALL SELECT k FROM materialize.public.t WHERE k IN (SELECT k FROM t);
CREATE VIEW plain AS SELECT 't' AS name, sum(v) AS v FROM "t";
CREATE MATERIALIZED VIEW above AS SELECT name, v FROM plain;
INSERT INTO t VALUES (1, 1), (2, 2);
INSERT INTO "Other T" VALUES (2, 9);
"""
NAMES = ("qualified", "aliased", "shadowed", "twice", "plain", "above")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def engine(spark: SparkSession, data: Path) -> Iterator[Engine]:
    with Engine(spark, data_dir=data) as engine:
        engine.sql(VIEWS)
        yield engine


def contents(engine: Engine) -> dict[str, list[str]]:
    answers = {name: engine.sql(f"SELECT * FROM {name}") for name in NAMES}
    return {name: sorted(map(str, rows.to_pylist())) for name, rows in answers.items() if rows is not None}


def test_everything_that_mentions_a_table_goes_on_under_its_new_name(
    engine: Engine, spark: SparkSession, data: Path
) -> None:
    before = contents(engine)
    engine.sql("""ALTER TABLE t RENAME TO "T two"; ALTER TABLE "Other T" RENAME TO other""")
    with pytest.raises(UnknownObject):
        engine.sql("SELECT * FROM t")
    assert contents(engine) == before
    engine.sql("""INSERT INTO "T two" VALUES (3, 3); INSERT INTO other VALUES (3, 3)""")
    after = contents(engine)
    assert after["aliased"] == ["{'k': 2}", "{'k': 3}"]
    assert after["above"] == ["{'name': 't', 'v': 6}"]
    engine.close()
    with Engine(spark, data_dir=data) as again:
        assert contents(again) == after
        again.sql("""INSERT INTO "T two" VALUES (4, 4)""")
        assert contents(again)["qualified"] != after["qualified"]


def test_a_view_under_a_view_can_be_renamed(engine: Engine, spark: SparkSession, data: Path) -> None:
    before = contents(engine)["above"]
    engine.sql("ALTER VIEW plain RENAME TO simple")
    engine.close()
    with Engine(spark, data_dir=data) as again:
        answer = again.sql("SELECT * FROM above")
        assert answer is not None
        assert sorted(map(str, answer.to_pylist())) == before
        again.sql("DROP VIEW simple CASCADE")
        with pytest.raises(UnknownObject):
            again.sql("SELECT * FROM above")


def test_a_secret_and_a_connection_keep_their_users(spark: SparkSession, data: Path) -> None:
    with Engine(spark, data_dir=data) as engine:
        engine.sql("""
            CREATE SECRET word AS 'hidden';
            CREATE CONNECTION k TO KAFKA (BROKER 'nobody:1', SASL MECHANISMS 'PLAIN', SASL USERNAME 'me',
              SASL PASSWORD SECRET word) WITH (VALIDATE = false);
            ALTER SECRET word RENAME TO password;
            ALTER CONNECTION k RENAME TO kafka;
        """)
    with Engine(spark, data_dir=data) as again:
        answer = again.sql("SHOW CREATE CONNECTION kafka")
        assert answer is not None
        assert "SECRET materialize.public.password" in answer.to_pylist()[0]["create_sql"]
        assert again.storage.secret(again.catalog.resolve(("password",)).id).reveal() == "hidden"


def test_what_cannot_be_renamed_says_why(engine: Engine) -> None:
    engine.sql("CREATE VIEW far AS SELECT public.t.v FROM t")
    with pytest.raises(DependentObjects, match=r'cannot rename table "t": view "far" would break'):
        engine.sql("ALTER TABLE t RENAME TO u")
    engine.sql("SELECT * FROM far; DROP VIEW far")
    with pytest.raises(DuplicateObject, match=r'materialized view "materialize.public.aliased" already exists'):
        engine.sql("ALTER TABLE t RENAME TO aliased")
    with pytest.raises(UnknownObject, match="unknown catalog item 'nobody'"):
        engine.sql("ALTER TABLE nobody RENAME TO somebody")
    engine.sql("ALTER TABLE IF EXISTS nobody RENAME TO somebody")
    with pytest.raises(SqlError, match="is a table not a view"):
        engine.sql("ALTER VIEW t RENAME TO u")


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("table", "RENAME TO other"),
        ("materialized view", "SET (RETAIN HISTORY = FOR '1 hour')"),
        ("connection", "SET (BROKER 'localhost:9092')"),
        ("sink", "SET FROM t"),
    ],
)
def test_what_need_not_be_there_is_skipped_with_a_notice(engine: Engine, kind: str, change: str) -> None:
    session = engine.session()
    statement = f"ALTER {kind.upper()} {{}}nosuch {change}"
    session.execute(session.prepare(statement.format("IF EXISTS ")), [])
    assert [notice.message for notice in session.notices] == [f'{kind} "nosuch" does not exist, skipping']
    with pytest.raises(UnknownObject):
        session.execute(session.prepare(statement.format("")), [])
