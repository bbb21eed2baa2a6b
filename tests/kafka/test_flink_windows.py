"""Event time in Flink's tables: watermarks by partition, windows that close once, late rows, replay."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from kafka.flink_tables import Rows, options, rows, send
from tailrace.engine.engine import Engine
from tailrace.errors import SqlError
from tailrace.ivm.dataflow import reach
from tailrace.ivm.rules.event_time import EventTimeWindows
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.ticks.loop import Pace
from tailrace.types.core import BEGINNING

NOON = datetime(2024, 7, 3, 12, tzinfo=UTC)
COLUMNS = "(k STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)"
JSON = {"format": "json"}
MINUTE = (
    "SELECT window_start, window_end, k, count(*) AS n, sum(n) AS total FROM {} GROUP BY window_start, window_end, k"
)
EXACTLY_ONCE = {"sink.delivery-guarantee": "exactly-once", "sink.transactional-id-prefix": "windows"}
LATE = "SELECT late_rows, watermark FROM mz_internal.mz_event_time_windows WHERE name = '{}'"
TUMBLE = "TABLE(TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '1' MINUTES))"


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02)) as opened:
        yield opened


def click(second: float, k: str = "a", n: int = 1) -> dict[str, Any]:
    moment = NOON + timedelta(seconds=second)
    return {"k": k, "n": n, "ts": moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]}


def shown(second: float) -> datetime:
    return (NOON + timedelta(seconds=second)).replace(tzinfo=None)


def seen(engine: Engine, table: str, count: int) -> None:
    """Waits until so many rows have been read, and every view has heard of them."""
    deadline = time.monotonic() + 60
    while rows(engine, f"SELECT count(*) FROM {table}") != [(count,)]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    engine.loop.change(dict)


def waiting(engine: Engine, view: str) -> int:
    """How many rows a view keeps because their windows are not passed."""

    def count() -> int:
        roots = [each.root for each in engine.cluster.maintained.values() if each.name.endswith(f".{view}")]
        [windows] = [each for root in roots for each in reach(root) if isinstance(each, EventTimeWindows)]
        kept = windows.open.between(BEGINNING, windows.open.upper)
        found = None if kept.sql is None else engine.views.small.sql(f"SELECT sum(weight) FROM ({kept.sql})").first()
        return 0 if found is None else found[0] or 0

    return engine.loop.do(count)


def test_a_window_is_told_once_when_the_watermark_passes(
    spark: SparkSession, broker: Broker, topic: TopicFactory, tmp_path: Path
) -> None:
    """Also by an engine that was stopped meanwhile, and whose log begins after the rows that the watermark is from."""
    name = topic("clicks")
    with Engine(spark, tmp_path, pace=Pace(interval=0.02)) as engine:
        engine.sql(f"CREATE TABLE clicks {COLUMNS} {options(broker, name, **JSON)}")
        send(broker, name, click(10), click(50, n=2), click(30, "b"))
        engine.sql(f"CREATE MATERIALIZED VIEW per_minute AS {MINUTE.format(TUMBLE.format('clicks'))}")
        assert rows(engine, "SELECT * FROM per_minute") == []
        send(broker, name, click(64.9))  # the watermark is one millisecond short of the window's last
        seen(engine, "clicks", 4)
        assert rows(engine, "SELECT * FROM per_minute") == []
        assert waiting(engine, "per_minute") == 4
        send(broker, name, click(65))
        seen(engine, "clicks", 5)
        first = [(shown(0), shown(60), "a", 2, 3), (shown(0), shown(60), "b", 1, 1)]
        assert rows(engine, "SELECT * FROM per_minute") == first
        assert waiting(engine, "per_minute") == 2
    with Engine(spark, tmp_path, pace=Pace(interval=0.02)) as engine:
        send(broker, name, click(59), click(61, "late, but its window is open"))
        seen(engine, "clicks", 7)
        assert rows(engine, "SELECT * FROM per_minute") == first
        send(broker, name, click(200))
        seen(engine, "clicks", 8)
        second = [(shown(60), shown(120), "a", 2, 2), (shown(60), shown(120), "late, but its window is open", 1, 1)]
        assert rows(engine, "SELECT * FROM per_minute") == sorted([*first, *second], key=repr)
        assert rows(engine, LATE.format("per_minute")) == [(1, shown(195))]
        assert waiting(engine, "per_minute") == 1


def test_partitions_wait_for_the_slowest_unless_it_is_idle(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("parted", partitions=2)
    engine.sql(f"CREATE TABLE parted {COLUMNS} {options(broker, name, **JSON)}")
    idle = options(broker, name, **JSON, **{"scan.watermark.idle-timeout": "300 ms"})
    engine.sql(f"CREATE TABLE patient {COLUMNS} {idle}")
    setting = "SET 'table.exec.source.idle-timeout' = '300 ms'"
    engine.sql(f"{setting}; CREATE TABLE hurried {COLUMNS} {options(broker, name, **JSON)}")
    for table in ("parted", "patient", "hurried"):
        engine.sql(f"CREATE MATERIALIZED VIEW of_{table} AS {MINUTE.format(TUMBLE.format(table))}")

    def begin() -> None:
        send(broker, name, click(10), click(200), partition=0)
        send(broker, name, click(20, "b"), partition=1)

    engine.loop.do(begin)  # in one tick: nobody is idle yet
    first = [(shown(0), shown(60), "a", 1, 1), (shown(0), shown(60), "b", 1, 1)]
    deadline, count = time.monotonic() + 60, 3
    while any(rows(engine, f"SELECT * FROM of_{table}") != first for table in ("patient", "hurried")):
        assert time.monotonic() < deadline
        send(broker, name, click(200), partition=0)
        count += 1
        time.sleep(0.1)
    assert rows(engine, "SELECT * FROM of_parted") == []
    send(broker, name, click(70, "b"), partition=1)
    seen(engine, "parted", count + 1)
    assert rows(engine, "SELECT * FROM of_parted") == first
    assert rows(engine, LATE.format("of_parted")) == [(0, shown(65))]
    assert rows(engine, LATE.format("of_patient")) == [(1, shown(195))]  # it does not go back


def test_windows_may_hop_and_cumulate_and_tables_may_end(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    """Flink's example of bids, in its three ways; the end of a bounded table closes all windows."""
    name = topic("bids")
    times = {"C": (485, 4), "A": (487, 2), "D": (489, 5), "B": (491, 3), "E": (493, 1), "F": (497, 6)}
    send(broker, name, *(click(m * 60, k, n) for k, (m, n) in times.items()))
    ends = options(broker, name, **JSON, **{"scan.bounded.mode": "latest-offset"})
    engine.sql(f"CREATE TABLE bids {COLUMNS} {ends}")

    def totals(window: str) -> Rows:
        query = "SELECT window_start, window_end, sum(n) FROM {} GROUP BY window_start, window_end"
        engine.sql(f"CREATE MATERIALIZED VIEW totals AS {query.format(window)}")
        found = [
            tuple(f"{each:%H:%M}" if isinstance(each, datetime) else each for each in row)
            for row in rows(engine, "SELECT * FROM totals")
        ]
        engine.sql("DROP MATERIALIZED VIEW totals")
        return sorted(found)

    assert totals("TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' MINUTES))") == [
        ("20:00", "20:10", 11),
        ("20:10", "20:20", 10),
    ]
    named = "SLIDE => INTERVAL '5' MINUTES, SIZE => INTERVAL '10' MINUTES"
    assert totals(f"TABLE(HOP(DATA => TABLE bids, TIMECOL => DESCRIPTOR(ts), {named}))") == [
        ("20:00", "20:10", 11),
        ("20:05", "20:15", 15),
        ("20:10", "20:20", 10),
        ("20:15", "20:25", 6),
    ]
    assert totals("CUMULATE(TABLE bids, DESCRIPTOR(ts), INTERVAL '2' MINUTES, INTERVAL '10' MINUTES)") == [
        ("20:00", "20:06", 4),
        ("20:00", "20:08", 6),
        ("20:00", "20:10", 11),
        ("20:10", "20:12", 3),
        ("20:10", "20:14", 4),
        ("20:10", "20:16", 4),
        ("20:10", "20:18", 10),
        ("20:10", "20:20", 10),
    ]


def test_windows_without_a_watermark_are_groups_like_others(engine: Engine) -> None:
    engine.sql("CREATE TABLE plain (ts timestamptz, n int)")
    engine.sql("INSERT INTO plain VALUES ('2024-07-03 12:00:10+00', 1), ('2024-07-03 12:00:50+00', 2), (NULL, 9)")
    query = "SELECT window_start, window_time, sum(n) AS n FROM {} GROUP BY window_start, window_end, window_time"
    engine.sql(f"CREATE MATERIALIZED VIEW grouped AS {query.format(TUMBLE.format('plain'))}")
    last = NOON + timedelta(seconds=59.999)
    assert rows(engine, "SELECT * FROM grouped") == [(shown(0), last, 3)]
    engine.sql("DELETE FROM plain WHERE n = 2")
    assert rows(engine, "SELECT * FROM grouped") == [(shown(0), last, 1)]


def test_sessions_grow_and_meet_and_come_apart(engine: Engine) -> None:
    engine.sql("CREATE TABLE steps (k text, second int)")
    engine.sql("INSERT INTO steps VALUES ('a', 0), ('a', 50), ('a', 170), ('b', 10), ('b', NULL)")
    timed = "(SELECT k, TIMESTAMP '2024-07-03 12:00:00' + second * INTERVAL '1' SECOND AS ts FROM steps)"
    window = f"TABLE(SESSION(TABLE {timed} PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' MINUTES))"
    query = "SELECT k, window_start, window_end, window_time, count(*) AS n FROM {} GROUP BY 1, 2, 3, 4"
    engine.sql(f"CREATE MATERIALIZED VIEW sessions AS {query.format(window)}")

    def found() -> list[tuple[str, float, float, int]]:
        seconds = [(k, [(each - shown(0)).total_seconds() for each in times], n) for k, *times, n in shows()]
        assert all(last == pytest.approx(end - 0.001) for _, (_, end, last), _ in seconds)
        return [(k, start, end, n) for k, (start, end, _), n in sorted(seconds)]

    def shows() -> Rows:
        return rows(engine, "SELECT * FROM sessions")

    assert found() == [("a", 0, 110, 2), ("a", 170, 230, 1), ("b", 10, 70, 1)]
    engine.sql("INSERT INTO steps VALUES ('a', 110)")  # as far from either as a session may be
    assert found() == [("a", 0, 230, 4), ("b", 10, 70, 1)]
    engine.sql("DELETE FROM steps WHERE second IN (50, 10)")
    assert found() == [("a", 0, 60, 1), ("a", 110, 230, 2)]


REFUSED = [
    ("TUMBLE(TABLE plain, DESCRIPTOR(n), INTERVAL '1' MINUTE)", "The window function requires the timecol is a time"),
    ("TUMBLE(TABLE plain, DESCRIPTOR(x), INTERVAL '1' MINUTE)", 'column "x" of DESCRIPTOR does not exist'),
    ("TUMBLE(TABLE plain, DESCRIPTOR(ts), INTERVAL '1' MONTH)", "in months or years not supported"),
    ("TUMBLE(TABLE plain, DESCRIPTOR(ts))", "TUMBLE lacks SIZE"),
    ("HOP(TABLE plain, DESCRIPTOR(ts), INTERVAL '2' MINUTE, INTERVAL '5' MINUTE)", "must be an integral multiple"),
    ("SESSION(TABLE plain PARTITION BY x, DESCRIPTOR(ts), INTERVAL '2' MINUTE)", 'column "x" of PARTITION BY does not'),
    ("SESSION(TABLE plain, DESCRIPTOR(ts), INTERVAL '-2' MINUTE)", "must be a positive number of milliseconds"),
    ("SESSION(TABLE plain, DESCRIPTOR(ts), INTERVAL '1' MINUTE, 5)", "expected right parenthesis"),
    ("TABLE(f(1))", "expected TUMBLE, HOP, CUMULATE or SESSION"),
]


def test_what_is_no_window_is_said(engine: Engine) -> None:
    engine.sql("CREATE TABLE IF NOT EXISTS plain (ts timestamptz, n int)")
    for text, message in REFUSED:
        with pytest.raises(SqlError) as caught:
            engine.sql(f"SELECT * FROM {text}")
        assert message.lower() in caught.value.message.lower(), text


def test_proctime_is_when_the_message_came(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("processed")
    send(broker, name, click(0))
    engine.sql(
        "CREATE TABLE processed (k STRING, pt AS PROCTIME(), told TIMESTAMP_LTZ(3) METADATA FROM 'timestamp')"
        f" {options(broker, name, **JSON)}"
    )
    assert rows(engine, "SELECT k, pt = told FROM processed") == [("a", True)]


Click = tuple[int, int, str]
clicks = st.tuples(st.integers(0, 1), st.integers(0, 40), st.sampled_from("ab"))


LATE_ROWS: list[list[Click]] = [
    [(0, 0, "a"), (1, 0, "a")],
    [(0, 30, "a"), (1, 31, "b")],
    [(0, 1, "a"), (1, 25, "b"), (1, 33, "a")],  # the first is late, and would not be in one step with those before
    [(0, 40, "a"), (1, 29, "b")],
    [(1, 40, "b"), (0, 2, "a")],
]


def test_what_is_emitted_is_a_recompute_of_what_was_not_late(
    spark: SparkSession, broker: Broker, topic: TopicFactory, tmp_path_factory: Any
) -> None:
    check_windows(spark, broker, topic, Path(tmp_path_factory.mktemp("late")), LATE_ROWS)


@pytest.mark.slow
@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=(Phase.explicit, Phase.generate),
)
@given(ticks=st.lists(st.lists(clicks, min_size=1, max_size=6), min_size=3, max_size=6))
def test_whatever_comes_what_is_emitted_is_a_recompute(
    spark: SparkSession, broker: Broker, topic: TopicFactory, tmp_path_factory: Any, ticks: list[list[Click]]
) -> None:
    check_windows(spark, broker, topic, Path(tmp_path_factory.mktemp("any")), ticks)


def check_windows(
    spark: SparkSession, broker: Broker, topic: TopicFactory, directory: Path, ticks: list[list[Click]]
) -> None:
    """Tick by tick, then once more from the log after a restart that finds no checkpoint of the view; and what a job
    has sent by then is each window once."""
    name, sent = topic("any", partitions=2), topic("sent")
    query = MINUTE.format("HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECONDS, INTERVAL '20' SECONDS)")
    with Engine(spark, directory, pace=Pace(interval=0.01, checkpoint=3600)) as engine:
        engine.sql(f"CREATE TABLE t {COLUMNS} {options(broker, name, **JSON)}")
        engine.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
        columns = "(a TIMESTAMP(3), b TIMESTAMP(3), k STRING, n BIGINT, total BIGINT)"
        engine.sql(f"CREATE TABLE told {columns} {options(broker, sent, **JSON, **EXACTLY_ONCE)}")
        engine.sql(f"INSERT INTO told {query}")
        expected = Oracle()
        for count, tick in enumerate(ticks, start=1):
            engine.loop.do(partial(send_all, broker, name, tick))  # between two ticks: all of it is in the next one
            for partition, second, k in tick:
                expected.arrives(partition, second * 3, k)
            seen(engine, "t", sum(map(len, ticks[:count])))
            expected.ends()
            assert rows(engine, "SELECT * FROM v") == expected.rows()
        copy = directory.with_name(f"{directory.name}-killed")
        engine.loop.do(lambda: shutil.copytree(directory, copy))  # what `kill -9` would leave
        late = rows(engine, LATE.format("v"))
    with Engine(spark, copy, pace=Pace(interval=0.01)) as again:
        assert rows(again, "SELECT * FROM v") == expected.rows()
        assert rows(again, LATE.format("v")) == late
        again.settle()
        assert rows(again, "SELECT * FROM told") == expected.rows()


def send_all(broker: Broker, name: str, tick: list[Click]) -> None:
    for partition in (0, 1):
        send(broker, name, *(click(s * 3, k) for p, s, k in tick if p == partition), partition=partition)


class Oracle:
    """Rows are judged by the watermark that was there before them, windows by the one after."""

    def __init__(self) -> None:
        self.passed: float | None = None
        self.greatest: dict[int, float] = {}
        self.kept: list[tuple[int, str]] = []

    def arrives(self, partition: int, second: int, k: str) -> None:
        for start in (second // 10 * 10, second // 10 * 10 - 10):
            if self.passed is None or start + 20 - 0.001 > self.passed:
                self.kept.append((start, k))
        self.greatest[partition] = max(self.greatest.get(partition, second - 5), second - 5)

    def ends(self) -> None:
        if len(self.greatest) == 2:
            self.passed = max(self.passed or -1e9, min(self.greatest.values()))

    def rows(self) -> Rows:
        groups: dict[tuple[int, str], int] = {}
        for start, k in self.kept:
            if self.passed is not None and start + 20 - 0.001 <= self.passed:
                groups[start, k] = groups.get((start, k), 0) + 1
        return sorted(((shown(s), shown(s + 20), k, n, n) for (s, k), n in groups.items()), key=repr)
