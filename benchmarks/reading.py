"""Catch-up reading: a topic of JSON and one of Avro into sums, ours beside Spark's own batch read of the same topic.

`python -m benchmarks reading [--messages N] [--repeat N]` measures both in this process, in turns, after one round that does
not count.  Ours is a Flink table and a materialized view over it, from CREATE until the view is filled, with everything
that a tick does; Spark's is `read.format("kafka")` and `from_json` or `from_avro`.  The aim is 0.8 of Spark's speed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator

import fastavro
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from benchmarks import kafka
from benchmarks.settings import BOOTSTRAP, JVM_HEAP, PARALLELISM, SEED
from benchmarks.workloads.contract import Message
from benchmarks.workloads.pageviews import pageviews
from tailrace.engine.engine import Engine
from tailrace.formats.registry import RegistryConnection, Subject, publish
from tailrace.spark import build_session
from tailrace.testing.registry import Registry
from tailrace.ticks.loop import Pace

AIM = 0.8
MESSAGES = 2_000_000

_COLUMNS = "view_id BIGINT, user_id BIGINT, page_id BIGINT, viewtime STRING, user_region STRING"
_SUMS = "count(*), sum(view_id), sum(user_id), sum(page_id), sum(length(viewtime)), sum(length(user_region))"
_SCHEMA = {
    "type": "record",
    "name": "record",
    "namespace": "org.apache.flink.avro.generated",
    "fields": [
        {"name": name, "type": ["null", type], "default": None}
        for name, type in (
            ("view_id", "long"),
            ("user_id", "long"),
            ("page_id", "long"),
            ("viewtime", "string"),
            ("user_region", "string"),
        )
    ],
}
_numbers = itertools.count(1)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks reading", description=__doc__)
    parser.add_argument("--messages", type=int, default=MESSAGES)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args(argv)
    spark = build_session(f"local[{PARALLELISM}]", JVM_HEAP)
    with Registry() as registry:
        schema_id = publish(
            Subject(connection=RegistryConnection(name="bench", url=registry.url), name="reading-value"),
            json.dumps(_SCHEMA),
        )
        frame = b"\0" + schema_id.to_bytes(4, "big")
        topics = {"json": _loaded(args.messages, lambda each: each), "avro": _loaded(args.messages, _framed(frame))}
        met = [_compared(spark, registry, format, topic, args) for format, topic in topics.items()]
    return 0 if all(met) else 1


def _compared(spark: SparkSession, registry: Registry, format: str, topic: str, args: argparse.Namespace) -> bool:
    seconds: dict[str, list[float]] = {"ours": [], "spark": []}
    for round in range(args.repeat + 1):
        answers = {}
        for system, read in (
            ("ours", lambda: _ours(spark, registry, format, topic)),
            ("spark", lambda: _plain(spark, format, topic)),
        ):
            answers[system], took = read()
            if round:
                seconds[system].append(took)
        if answers["ours"] != answers["spark"]:
            print(f"{format}: WRONG, ours {answers['ours']}, Spark's {answers['spark']}")
            return False
    ours, spark_own = (args.messages / statistics.median(seconds[system]) for system in ("ours", "spark"))
    ratio = ours / spark_own
    print(f"{format}: ours {ours:,.0f} messages/s, Spark {spark_own:,.0f}, ratio {ratio:.2f} (aim {AIM})", flush=True)
    return ratio >= AIM


def _ours(spark: SparkSession, registry: Registry, format: str, topic: str) -> tuple[tuple[int, ...], float]:
    """The sums, and how long they took: an engine's own start and stop are not reading."""
    more = {"json": "'format' = 'json'", "avro": f"'format' = 'avro-confluent', 'avro-confluent.url' = '{registry.url}'"}
    with Engine(spark, pace=Pace(interval=0.02)) as engine:
        started = time.monotonic()
        engine.sql(
            f"CREATE TABLE views ({_COLUMNS}) WITH ('connector' = 'kafka', 'topic' = '{topic}',"
            f" 'properties.bootstrap.servers' = '{BOOTSTRAP}', 'scan.startup.mode' = 'earliest-offset',"
            f" 'scan.bounded.mode' = 'latest-offset', {more[format]})"
        )
        named = ", ".join(f"{each} AS s{i}" for i, each in enumerate(_SUMS.split(", ")))
        engine.sql(f"CREATE MATERIALIZED VIEW sums AS SELECT {named} FROM views")
        source = engine.catalog.resolve(("views",)).id
        while not engine.cluster.sources[source].is_done(engine.log.position(source, engine.cluster.done)):
            time.sleep(0.005)
        found = engine.sql("SELECT * FROM sums")
        took = time.monotonic() - started
        assert found is not None
        return tuple(int(each) for each in found.to_pylist()[0].values()), took


def _plain(spark: SparkSession, format: str, topic: str) -> tuple[tuple[int, ...], float]:
    started = time.monotonic()
    rows = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", BOOTSTRAP)
        .option("kafka.isolation.level", "read_committed")
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("endingOffsets", "latest")
        .load()
    )
    if format == "json":
        row = F.from_json(F.col("value").cast("string"), _COLUMNS)
    else:
        row = from_avro(F.expr("substring(value, 6)"), json.dumps(_SCHEMA))
    parts = [F.expr(each) for each in _SUMS.split(", ")]
    [found] = rows.select(row.alias("row")).select("row.*").agg(*parts).collect()
    return tuple(int(each) for each in found), time.monotonic() - started


def _loaded(count: int, encode: Callable[[bytes], bytes]) -> str:
    topic = f"bench-reading-{next(_numbers)}"
    kafka.create_topic(topic)
    kafka.load({"pageviews": topic}, _encoded(count, encode))
    return topic


def _encoded(count: int, encode: Callable[[bytes], bytes]) -> Iterator[Message]:
    for role, partition, key, value in pageviews(SEED, count):
        yield role, partition, key, encode(value)


def _framed(frame: bytes) -> Callable[[bytes], bytes]:
    from io import BytesIO

    schema = fastavro.parse_schema(_SCHEMA)

    def encode(value: bytes) -> bytes:
        out = BytesIO()
        fastavro.schemaless_writer(out, schema, json.loads(value))
        return frame + out.getvalue()

    return encode
