"""Flink itself as the judge: it reads what we write, and we read what it writes.  Left out where it is not there."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from benchmarks import environment
from pyspark.sql import SparkSession

from kafka.flink_tables import options, rows, send
from tailrace.engine.engine import Engine
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.registry import Registry
from tailrace.ticks.loop import Pace

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not environment.flink_is_there(), reason="Flink is not there: python -m benchmarks setup"),
]
JOB = Path(__file__).with_name("flink_judge_job.py")
COLUMNS = "id BIGINT, name STRING, price DECIMAL(10, 2), `at` TIMESTAMP(3), ok BOOLEAN, tags ARRAY<STRING>"
KEYED = f"({COLUMNS}, PRIMARY KEY (id) NOT ENFORCED)"
UPSERT = {"connector": "upsert-kafka", "key.format": "json", "value.format": "json"}
TEXTS = "id, name, price::text, at::text, ok"
EXPECTED = [
    (1, "it's té", "12.25", "2024-07-03 18:43:05.312", True),
    (3, "new", "-0.01", "1969-12-31 23:59:59.999", False),
]


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02)) as opened:
        yield opened


def judged(broker: Broker, folder: Path, definitions: list[str], queries: dict[str, str], inserts: list[str]) -> str:
    """What Flink prints."""
    jars = ";".join(jar.as_uri() for jar in sorted(environment.FLINK_JARS.glob("*.jar")))
    config = {"parallelism.default": "1", "pipeline.jars": jars, "io.tmp.dirs": str(folder)}
    spec = folder / "job.json"
    spec.write_text(
        json.dumps({"config": config, "definitions": definitions, "queries": queries, "inserts": inserts})
    )
    done = subprocess.run(
        [str(environment.FLINK_PYTHON), str(JOB), str(spec)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def net(printed: str) -> dict[str, Counter[tuple[str, ...]]]:
    """The rows that are left of each query's changes."""
    left: dict[str, Counter[tuple[str, ...]]] = {}
    for line in printed.splitlines():
        if line.startswith("["):
            name, kind, row = json.loads(line)
            left.setdefault(name, Counter())[tuple(row)] += -1 if kind in ("DELETE", "UPDATE_BEFORE") else 1
    return {name: +rows for name, rows in left.items()}


def test_flink_reads_ours_and_we_read_flinks(
    engine: Engine, broker: Broker, topic: TopicFactory, tmp_path: Path
) -> None:
    changes, last, theirs, their_last = (topic(name) for name in ("changes", "last", "theirs", "their_last"))
    debezium = {"format": "debezium-json"}
    engine.sql(f"CREATE TABLE changes ({COLUMNS}) {options(broker, changes, **debezium)}")
    engine.sql(f"CREATE TABLE last {KEYED} {options(broker, last, **UPSERT)}")
    typed = "id bigint, name text, price numeric(38,2), at timestamp(3), ok boolean, tags text list"
    engine.sql(f"CREATE TABLE stock ({typed})")
    engine.sql("INSERT INTO changes SELECT * FROM stock")
    engine.sql("INSERT INTO last SELECT * FROM stock")
    at = "TIMESTAMP '2024-07-03 18:43:05.312'"
    engine.sql(f"INSERT INTO stock VALUES (1, 'old', 1, {at}, NULL, NULL), (2, 'gone', 2, NULL, true, LIST['a'])")
    engine.sql("UPDATE stock SET name = 'it''s té', price = 12.25, ok = true, tags = LIST['a', 'b'] WHERE id = 1")
    engine.sql("DELETE FROM stock WHERE id = 2")
    engine.sql("INSERT INTO stock VALUES (3, 'new', -0.01, TIMESTAMP '1969-12-31 23:59:59.999', false, NULL)")
    assert rows(engine, f"SELECT {TEXTS} FROM stock") == EXPECTED
    for table in ("changes", "last"):
        deadline = time.monotonic() + 60
        while rows(engine, f"SELECT {TEXTS} FROM {table}") != EXPECTED:
            assert time.monotonic() < deadline
            time.sleep(0.1)

    ends = {"scan.bounded.mode": "latest-offset", "properties.isolation.level": "read_committed"}
    printed = judged(
        broker,
        tmp_path,
        [
            f"CREATE TABLE changes ({COLUMNS}) {options(broker, changes, **debezium, **ends)}",
            f"CREATE TABLE `last` {KEYED} {options(broker, last, **UPSERT, **ends)}",
            f"CREATE TABLE theirs ({COLUMNS}) {options(broker, theirs, **debezium)}",
            f"CREATE TABLE their_last {KEYED} {options(broker, their_last, **UPSERT)}",
        ],
        {
            name: f"SELECT id, name, CAST(price AS STRING), CAST(`at` AS STRING), ok FROM `{name}`"
            for name in ("changes", "last")
        },
        ["INSERT INTO theirs SELECT * FROM changes", "INSERT INTO their_last SELECT * FROM `last`"],
    )
    expected = Counter({tuple(str(each) for each in row): 1 for row in EXPECTED})
    assert net(printed) == {"changes": expected, "last": expected}

    engine.sql(f"CREATE TABLE theirs ({COLUMNS}) {options(broker, theirs, **debezium)}")
    engine.sql(f"CREATE TABLE their_last {KEYED} {options(broker, their_last, **UPSERT)}")
    tags = rows(engine, "SELECT id, tags FROM stock")
    for table in ("theirs", "their_last"):
        assert rows(engine, f"SELECT {TEXTS} FROM {table}") == EXPECTED
        assert rows(engine, f"SELECT id, tags FROM {table}") == tags


AVRO = {"connector": "upsert-kafka", "key.format": "avro", "value.format": "avro"}
PER_REGION = "(region STRING, pv BIGINT, uv BIGINT, PRIMARY KEY (region) NOT ENFORCED)"
CLICKS = "(k STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)"
WINDOWS = {
    "tumble": "TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTES)",
    "hop": "HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '20' SECONDS, INTERVAL '1' MINUTES)",
    "cumulate": "CUMULATE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '20' SECONDS, INTERVAL '1' MINUTES)",
    "shifted": "TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTES, INTERVAL '7' SECONDS)",
    "together": "SESSION(TABLE clicks PARTITION BY k, DESCRIPTOR(ts), INTERVAL '14' SECONDS)",  # each just in time
    "apart": "SESSION(TABLE clicks PARTITION BY k, DESCRIPTOR(ts), INTERVAL '13' SECONDS)",
}
WINDOWED = (
    "SELECT window_start, window_end, window_time, k, COUNT(*) AS rows_of, SUM(n) AS total FROM TABLE({})"
    " GROUP BY window_start, window_end, window_time, k"
)


def test_flink_has_the_same_windows_and_the_same_avro(
    engine: Engine, broker: Broker, registry: Registry, topic: TopicFactory, tmp_path: Path
) -> None:
    """The windows of a table that ends; upsert tables in bare Avro, and in Avro with a registry, both ways."""
    clicks = topic("clicks")
    moments = [(datetime(2024, 7, 3, 12) + timedelta(seconds=7 * i)).isoformat(" ") for i in range(40)]  # noqa: DTZ001
    send(broker, clicks, *({"k": "ab"[i % 2], "n": i, "ts": ts} for i, ts in enumerate(moments)))
    ends = {"scan.bounded.mode": "latest-offset"}
    ours = f"CREATE TABLE clicks {CLICKS} {options(broker, clicks, format='json', **ends)}"
    engine.sql(ours)
    url = {f"{side}.avro-confluent.url": registry.url for side in ("key", "value")}
    framed = AVRO | {"key.format": "avro-confluent", "value.format": "avro-confluent"} | url
    formats = {"bare": AVRO, "framed": framed}
    engine.sql("CREATE TABLE regions (region text NOT NULL, pv bigint, uv bigint, PRIMARY KEY (region))")
    definitions, inserts = [ours], []
    for name, more in formats.items():
        mine, theirs = topic(name), topic(f"their_{name}")
        engine.sql(f"CREATE TABLE {name} {PER_REGION} {options(broker, mine, **more)}")
        engine.sql(f"INSERT INTO {name} SELECT * FROM regions")
        definitions.append(f"CREATE TABLE {name} {PER_REGION} {options(broker, mine, **more, **ends)}")
        definitions.append(f"CREATE TABLE their_{name} {PER_REGION} {options(broker, theirs, **more)}")
        engine.sql(f"CREATE TABLE their_{name} {PER_REGION} {options(broker, theirs, **more)}")
        inserts.append(f"INSERT INTO their_{name} SELECT * FROM {name}")
    engine.sql("INSERT INTO regions VALUES ('eu', 1, NULL), ('us', 3, 4), ('é', 0, -1)")
    engine.sql("UPDATE regions SET uv = 2 WHERE region = 'eu'; DELETE FROM regions WHERE region = 'us'")
    expected = [("eu", 1, 2), ("é", 0, -1)]
    deadline = time.monotonic() + 60
    while any(rows(engine, f"SELECT * FROM {name}") != expected for name in formats):
        assert time.monotonic() < deadline
        time.sleep(0.1)

    queries = {name: WINDOWED.format(window) for name, window in WINDOWS.items()}
    found = net(judged(broker, tmp_path, definitions, queries | {n: f"SELECT * FROM {n}" for n in formats}, inserts))
    for name, query in queries.items():
        engine.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        assert found[name] == Counter(tuple(map(str, row)) for row in rows(engine, f"SELECT * FROM {name}")), name
    for name in formats:
        assert found[name] == Counter(tuple(map(str, row)) for row in expected)
        assert rows(engine, f"SELECT * FROM their_{name}") == expected
