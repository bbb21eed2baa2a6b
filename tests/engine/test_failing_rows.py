"""A row that a view cannot take stops that view, what reads it and their sinks, and nothing else.

When the row is gone or mended they go on by themselves, and their topics miss nothing and repeat nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tailrace.console.queries import status as console
from tailrace.engine.engine import Engine
from tailrace.errors import DataError, SqlError
from tailrace.state import compaction
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.topics import read_committed, settle
from tailrace.ticks.loop import Pace

_SECONDS = 60.0

VIEWS = """
CREATE CONNECTION kafka TO KAFKA
  (BROKER '{bootstrap}', SECURITY PROTOCOL PLAINTEXT, PROGRESS TOPIC '{shares}-progress');
CREATE TABLE t (k int NOT NULL, v text);
CREATE MATERIALIZED VIEW shares AS SELECT k, sum(100 / v::int) AS share FROM t GROUP BY k;
CREATE MATERIALIZED VIEW large AS SELECT k FROM shares WHERE share > 10;
CREATE MATERIALIZED VIEW counted AS SELECT k, count(*) AS n FROM t GROUP BY k;
CREATE SINK shares_out FROM shares
  INTO KAFKA CONNECTION kafka (TOPIC '{shares}') KEY (k) FORMAT JSON ENVELOPE UPSERT;
CREATE SINK counted_out FROM counted
  INTO KAFKA CONNECTION kafka (TOPIC '{counted}') KEY (k) FORMAT JSON ENVELOPE UPSERT;
"""


class Pipeline:
    """The views and sinks above, opened on a directory that outlives an engine."""

    def __init__(self, spark: SparkSession, folder: Path, broker: Broker, shares: str, counted: str) -> None:
        self._spark, self._folder, self._bootstrap = spark, folder, broker.bootstrap
        self.topics = {"shares": shares, "counted": counted}
        self.engine = self._opened()
        self.engine.sql(VIEWS.format(bootstrap=broker.bootstrap, shares=shares, counted=counted))

    def _opened(self) -> Engine:
        return Engine(self._spark, self._folder, pace=Pace(interval=0.02))

    def restart(self) -> None:
        self.engine.close()
        self.engine = self._opened()

    def sql(self, text: str) -> list[tuple[object, ...]]:
        answer = self.engine.sql(text)
        return [] if answer is None else [tuple(row.values()) for row in answer.to_pylist()]

    def status(self, name: str) -> tuple[str, str | None]:
        item = self.engine.catalog.resolve((name,))
        status = self.engine.statuses.of(item.id)
        return status.status, status.error

    def told(self, view: str) -> list[tuple[int, int | None, str]]:
        """Key, value and tick of each message."""
        messages = read_committed(self._bootstrap, self.topics[view])
        return [
            (
                json.loads(each.key or b"null")["k"],
                None if each.value is None else next(v for k, v in json.loads(each.value).items() if k != "k"),
                str(each.headers["materialize-timestamp"]),
            )
            for each in messages
        ]

    def last_tick(self, view: str) -> dict[int, int | None]:
        """What the last tick in the topic said; a key said twice in it would be an error."""
        messages = self.told(view)
        last = [(key, value) for key, value, tick in messages if tick == messages[-1][2]]
        assert len(dict(last)) == len(last)
        return dict(last)

    def settle(self) -> None:
        for topic in self.topics.values():
            settle(self._bootstrap, topic)


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.fixture
def pipeline(spark: SparkSession, broker: Broker, topic: TopicFactory, tmp_path: Path) -> Iterator[Pipeline]:
    opened = Pipeline(spark, tmp_path, broker, topic("shares"), topic("counted"))
    yield opened
    opened.engine.close()


@pytest.mark.parametrize(
    ("bad", "sqlstate", "error"),
    [("0", "22012", "division by zero"), ("x", "22P02", 'invalid input syntax for type integer: "x"')],
)
@pytest.mark.parametrize("mend", ["DELETE FROM t WHERE k = 2", "UPDATE t SET v = '50' WHERE k = 2"])
def test_only_what_reads_the_row_stops_and_it_heals(
    pipeline: Pipeline, bad: str, sqlstate: str, error: str, mend: str
) -> None:
    pipeline.sql("INSERT INTO t VALUES (1, '4')")
    until(lambda: len(pipeline.told("shares")) == 1, "the first share")
    pipeline.sql(f"INSERT INTO t VALUES (2, '{bad}'), (3, '5')")
    for name in ("shares", "large", "shares_out"):
        until(lambda name=name: pipeline.status(name) == ("stalled", error), f"{name} to stall")  # type: ignore[misc]
    for query in ("SELECT * FROM shares", "SELECT count(*) FROM large"):
        with pytest.raises(DataError) as caught:
            pipeline.sql(query)
        assert (caught.value.sqlstate, caught.value.message) == (sqlstate, error)
        assert "a query that no such row breaks" in str(caught.value.hint)
        assert 'shares" stands still' in str(caught.value.detail) or 'large" stands still' in str(caught.value.detail)
    [shown] = [sink for sink in console(pipeline.engine)["sinks"] if sink["name"] == "shares_out"]
    assert shown["hint"] == caught.value.hint
    pipeline.sql("UPDATE t SET v = '5' WHERE k = 1; INSERT INTO t VALUES (4, '10'), (4, '20')")
    assert pipeline.sql("SELECT k, n FROM counted ORDER BY k") == [(1, 1), (2, 1), (3, 1), (4, 2)]
    until(lambda: (4, 2) in [message[:2] for message in pipeline.told("counted")], "the count that goes on")
    assert [message[:2] for message in pipeline.told("shares")] == [(1, 25)]

    pipeline.sql(mend)
    mended = {} if mend.startswith("DELETE") else {2: 2}
    assert dict(pipeline.sql("SELECT k, share FROM shares")) == {1: 20, 3: 20, 4: 15} | mended
    until(lambda: len(pipeline.told("shares")) > 1, "the shares that were held up")
    pipeline.settle()
    assert pipeline.last_tick("shares") == {1: 20, 3: 20, 4: 15} | mended
    assert len(pipeline.told("shares")) == 1 + len(pipeline.last_tick("shares"))
    assert [pipeline.status(name)[0] for name in ("shares", "large", "shares_out")] == ["running"] * 3


def test_a_restart_while_it_stands_still_changes_nothing(pipeline: Pipeline) -> None:
    pipeline.sql("INSERT INTO t VALUES (1, '4')")
    until(lambda: len(pipeline.told("shares")) == 1, "the first share")
    pipeline.sql("INSERT INTO t VALUES (2, '0'), (3, '5')")
    until(lambda: pipeline.status("shares_out")[0] == "stalled", "the sink to stall")
    pipeline.restart()
    until(lambda: pipeline.status("shares_out")[0] == "stalled", "the sink to stall again")
    assert pipeline.sql("SELECT count(*) FROM counted") == [(3,)]
    pipeline.sql("DELETE FROM t WHERE v = '0'")
    until(lambda: len(pipeline.told("shares")) > 1, "the share that was held up")
    pipeline.settle()
    assert [message[:2] for message in pipeline.told("shares")] == [(1, 25), (3, 20)]


def test_a_view_stops_though_only_its_sink_computes_the_row(pipeline: Pipeline, topic: TopicFactory) -> None:
    """The division is above the view's state: nothing but the sink ever divides."""
    pipeline.topics["ratios"] = topic("ratios")
    pipeline.sql(f"""
        CREATE MATERIALIZED VIEW ratios AS SELECT k, 100 / sum(v::int) AS ratio FROM t GROUP BY k;
        CREATE SINK ratios_out FROM ratios
          INTO KAFKA CONNECTION kafka (TOPIC '{pipeline.topics["ratios"]}') KEY (k) FORMAT JSON ENVELOPE UPSERT;
        INSERT INTO t VALUES (1, '4')""")
    until(lambda: len(pipeline.told("ratios")) == 1, "the first ratio")
    pipeline.sql("INSERT INTO t VALUES (2, '0'), (3, '5')")
    for _ in range(2):
        for name in ("ratios_out", "ratios"):
            until(lambda name=name: pipeline.status(name) == ("stalled", "division by zero"), name)  # type: ignore[misc]
        with pytest.raises(DataError, match="division by zero") as caught:
            pipeline.sql("SELECT * FROM ratios WHERE k = 1")
        assert 'ratios" stands still' in str(caught.value.detail)
        assert pipeline.sql("SELECT count(*) FROM counted") == [(3,)]
        pipeline.restart()
    pipeline.sql("UPDATE t SET v = '50' WHERE v = '0'")
    assert dict(pipeline.sql("SELECT k, ratio FROM ratios")) == {1: 25, 2: 2, 3: 20}
    until(lambda: len(pipeline.told("ratios")) > 1, "the ratios that were held up")
    pipeline.settle()
    assert sorted(message[:2] for message in pipeline.told("ratios")) == [(1, 25), (2, 2), (3, 20)]
    assert pipeline.last_tick("ratios") == {2: 2, 3: 20}
    assert [pipeline.status(name)[0] for name in ("ratios", "ratios_out")] == ["running"] * 2


def test_many_rows_of_a_new_view_are_computed_once_by_the_sink_that_is_made_next(
    pipeline: Pipeline, topic: TopicFactory
) -> None:
    pipeline.sql("INSERT INTO t SELECT generate_series(1, 20001), '7'")
    view = "CREATE MATERIALIZED VIEW parts AS SELECT k, 7 / v::int AS part FROM t;"
    sink = f"""CREATE SINK parts_out FROM parts INTO KAFKA CONNECTION kafka (TOPIC '{topic()}')
                 KEY (k) NOT ENFORCED FORMAT JSON ENVELOPE UPSERT"""
    pipeline.sql(view + sink)
    pipeline.engine.settle()
    parts = pipeline.engine.catalog.resolve(("parts",)).id
    assert [cost for cost in pipeline.engine.cluster.costs if cost.object == parts and cost.jobs] == []


def test_many_rows_of_a_new_view_that_nobody_reads_are_computed_a_little_later(pipeline: Pipeline) -> None:
    pipeline.sql("INSERT INTO t SELECT generate_series(1, 20001), '7'")
    pipeline.engine.settle()  # so that no sink's answer makes a tick
    pipeline.sql("CREATE MATERIALIZED VIEW parts AS SELECT k, 7 / (k - 20001) AS part FROM t")
    until(lambda: pipeline.status("parts") == ("stalled", "division by zero"), "what is wrong with the last row")


def test_what_is_not_determined_by_the_input_is_refused(pipeline: Pipeline) -> None:
    pipeline.sql("CREATE VIEW momentary AS SELECT k, now() AS at FROM t")
    for query in ("SELECT now()", "SELECT random(), k FROM t", "SELECT k FROM t WHERE gen_random_uuid() IS NOT NULL",
                  "SELECT * FROM momentary", "SELECT count(*) FROM t WHERE current_date > '2024-01-01'"):  # fmt: skip
        with pytest.raises(SqlError, match="cannot materialize call to") as caught:
            pipeline.sql(f"CREATE MATERIALIZED VIEW refused AS {query}")
        assert caught.value.sqlstate == "42P17"
        assert caught.value.hint is not None
    sink = "INTO KAFKA CONNECTION kafka (TOPIC 'never') KEY (k) NOT ENFORCED FORMAT JSON ENVELOPE UPSERT"
    with pytest.raises(SqlError, match="view momentary cannot be exported as a sink") as caught:
        pipeline.sql(f"CREATE SINK refused FROM momentary {sink}")
    assert (caught.value.sqlstate, caught.value.hint) == ("42809", "Create a materialized view of it.")


@pytest.mark.parametrize(
    ("query", "sqlstate", "hint"),
    [
        ("SELECT kk FROM t", "42703", '"k"'),
        ("SELECT uper(v) FROM t", "42883", '"upper"'),
        ("SELECT summ(k) FROM t", "42883", '"sum"'),
        ("SELECT row_numbr() OVER () FROM t", "42883", '"row_number"'),
        ("SELECT k::integr FROM t", "42704", '"integer"'),
        ("SELECT * FROM shars", "42P01", '"shares"'),
        ("SELECT lower(k) FROM t", "42883", "explicit type casts"),
        ("CREATE TABLE other (x txt)", "42704", '"text"'),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(pipeline: Pipeline, query: str, sqlstate: str, hint: str) -> None:
    with pytest.raises(SqlError) as caught:
        pipeline.sql(query)
    assert caught.value.sqlstate == sqlstate
    assert hint in str(caught.value.hint)
    assert caught.value.position is not None


def test_what_came_since_a_view_was_well_is_kept_apart(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its state goes on while the view stands still; merging the ticks in between would lose what it owes."""
    monkeypatch.setattr(compaction, "_MAX_SMALL_RUNS", 2)
    with Engine(spark, tmp_path, pace=Pace(interval=3600)) as engine:
        engine.sql("CREATE TABLE t (k int, v int)")
        engine.sql("CREATE MATERIALIZED VIEW ratios AS SELECT k, 100 / sum(v) AS ratio FROM t GROUP BY k")
        for k, v in ((1, 4), (2, 0), (3, 5), (4, 10), (5, 20), (6, 25)):
            engine.sql(f"INSERT INTO t VALUES ({k}, {v})")
            engine.settle()
        view = engine.catalog.resolve(("ratios",)).id
        assert engine.statuses.of(view).error == "division by zero"
        engine.sql("DELETE FROM t WHERE v = 0")
        found = engine.sql("SELECT k, ratio FROM ratios ORDER BY k")
        assert found is not None
        assert found.to_pydict() == {"k": [1, 3, 4, 5, 6], "ratio": [25, 20, 10, 5, 4]}
