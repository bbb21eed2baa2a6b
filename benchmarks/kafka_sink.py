"""How fast a large snapshot gets into Kafka, exactly once, beside Spark's own writer and Flink's exactly-once sink.

`python -m benchmarks sink [--rows N] [--formats json,avro] [--rounds N]`: keyed rows, upserts, in JSON and in Avro
with a registry's ids.  Ours and Spark's writer (at least once, no registry: the same bytes with a fixed id) read
the same Parquet files with the same Spark; Flink makes its rows out of nothing, which is the least it could do.
Each system writes a small snapshot first, which nobody measures; then they take turns, and their medians are told.
Each topic is read by an independent `read_committed` reader.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame, SparkSession

from benchmarks import environment
from benchmarks.kafka import create_topic
from benchmarks.settings import BOOTSTRAP, JVM_HEAP, PACKAGE, PARALLELISM
from benchmarks.targets import NAMES, SCHEMA, rows_of, seconds_of
from tailrace.formats.avro_schema import Naming
from tailrace.formats.encode_avro import AvroEncoder
from tailrace.formats.encode_contract import Encoder
from tailrace.formats.encoders import encoder
from tailrace.formats.registry import RegistryConnection, Subject
from tailrace.ivm.zset import ZSet
from tailrace.kafka.connection import KafkaConnection
from tailrace.sinks.kafka import KafkaSink
from tailrace.sinks.kafka_definition import KafkaSinkDefinition
from tailrace.spark import build_session
from tailrace.testing.registry import Registry
from tailrace.types.core import Tick

_WARM = 100_000
_FLINK_COLUMNS = "k INT, item STRING, amount BIGINT, `at` TIMESTAMP(3)"


@dataclass(frozen=True, slots=True)
class Bench:
    """One format, all systems.  Each method writes `rows` rows to `topic` and says how long it took."""

    spark: SparkSession
    registry: Registry
    format: str

    def ours(self, topic: str, rows: int) -> float:
        definition = KafkaSinkDefinition(
            id=topic,
            name=topic,
            connection=_connection(topic),
            region="b",
            topic=topic,
            schema=SCHEMA,
            key=(0,),
            key_format=self._encoder(topic, "key"),
            value_format=self._encoder(topic, "value"),
            envelope="upsert",
        )
        sink = KafkaSink(definition, self.spark)
        sink.progress()
        sql = f"SELECT *, 1L AS weight FROM global_temp.snapshot_rows WHERE c0 < {rows}"
        snapshot = ZSet(arity=len(SCHEMA), sql=sql, rows=rows, positive=True)
        try:
            return seconds_of(lambda: sink.write(Tick(1), snapshot))
        finally:
            sink.close()

    def spark_plain(self, topic: str, rows: int) -> float:
        source = self.spark.sql(f"SELECT {NAMES} FROM global_temp.snapshot_rows WHERE c0 < {rows}")
        if self.format == "json":
            messages = source.selectExpr("to_json(struct(k)) AS key", "to_json(struct(*)) AS value")
        else:
            frame = "concat(X'0000000001', {})"
            key, value = frame.format("to_avro(struct(k))"), frame.format("to_avro(struct(*))")
            messages = source.selectExpr(f"{key} AS key", f"{value} AS value")
        options = {"kafka.bootstrap.servers": BOOTSTRAP, "kafka.compression.type": "lz4", "topic": topic}
        return seconds_of(lambda: messages.write.format("kafka").options(**options).mode("append").save())

    def flink(self, topic: str, rows: int, warm_topic: str) -> float:
        """From the moment the job runs to its end, which is after its last commit."""
        with tempfile.TemporaryDirectory() as folder:
            job = {
                "config": self._flink_config(Path(folder)),
                "first": [*self._flink_tables("warm", warm_topic, _WARM), _insert("warm")],
                "statements": [*self._flink_tables("timed", topic, rows), _insert("timed")],
            }
            spec = Path(folder) / "job.json"
            spec.write_text(json.dumps(job))
            command = [str(environment.FLINK_PYTHON), str(PACKAGE / "jobs" / "flink_job.py"), str(spec)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            began = ended = 0.0
            with process:
                for line in process.stdout or ():
                    began = time.monotonic() if "@bench job_running" in line else began
                    ended = time.monotonic() if "@bench job_ended" in line else ended
            return ended - began

    def count(self, topic: str) -> tuple[int, int]:
        """Committed messages, and keys."""
        options = {"kafka.bootstrap.servers": BOOTSTRAP, "subscribe": topic, "kafka.isolation.level": "read_committed"}
        read: DataFrame = self.spark.read.format("kafka").options(**options).load()
        row = read.selectExpr("count(*)", "count(DISTINCT key)").collect()[0]
        return int(row[0]), int(row[1])

    def _encoder(self, topic: str, side: str) -> Encoder:
        if self.format == "json":
            return encoder("json")
        connection = RegistryConnection(name="csr", url=self.registry.url)
        return AvroEncoder(naming=Naming(fullname="row"), subject=Subject(connection=connection, name=f"{topic}-{side}"))

    def _flink_config(self, folder: Path) -> dict[str, str]:
        return {
            "parallelism.default": str(PARALLELISM),
            "pipeline.jars": ";".join(jar.as_uri() for jar in sorted(environment.FLINK_JARS.glob("*.jar"))),
            "execution.checkpointing.interval": "1 s",
            "execution.checkpointing.storage": "filesystem",
            "execution.checkpointing.dir": (folder / "checkpoints").as_uri(),
            "io.tmp.dirs": str(folder),
        }

    def _flink_tables(self, name: str, topic: str, rows: int) -> list[str]:
        numbers = {
            "connector": "datagen",
            "number-of-rows": str(rows),
            "rows-per-second": "100000000",  # otherwise ten thousand
            "fields.id.kind": "sequence",
            "fields.id.start": "0",
            "fields.id.end": str(rows - 1),
        }
        sink = {
            "connector": "upsert-kafka",
            "topic": topic,
            "properties.bootstrap.servers": BOOTSTRAP,
            "properties.compression.type": "lz4",
            "properties.transaction.timeout.ms": "600000",
            "sink.delivery-guarantee": "exactly-once",
            "sink.transactional-id-prefix": topic,
        }
        for side in ("key", "value"):
            sink[f"{side}.format"] = "json" if self.format == "json" else "avro-confluent"
            if self.format == "avro":
                sink[f"{side}.avro-confluent.url"] = self.registry.url
                sink[f"{side}.avro-confluent.subject"] = f"{topic}-{side}"
        return [
            f"CREATE TEMPORARY TABLE {name}_ids (id INT) WITH ({_options(numbers)})",
            f"CREATE TEMPORARY TABLE {name} ({_FLINK_COLUMNS}, PRIMARY KEY (k) NOT ENFORCED) WITH ({_options(sink)})",
        ]


def _insert(name: str) -> str:
    at = "TIMESTAMPADD(SECOND, id, TIMESTAMP '2024-01-01 00:00:00')"
    item = "CONCAT('item-', CAST(MOD(id, 1000) AS STRING))"
    return f"INSERT INTO {name} SELECT id, {item}, CAST(id AS BIGINT) * 7, {at} FROM {name}_ids"


def _options(options: dict[str, str]) -> str:
    return ", ".join(f"'{name}' = '{value}'" for name, value in options.items())


def _connection(fresh: str) -> KafkaConnection:
    return KafkaConnection(
        id=fresh,
        name="kafka",
        brokers=(BOOTSTRAP,),
        security_protocol="PLAINTEXT",
        progress_topic=f"progress-{fresh}",
    )


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks sink", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--formats", default="json,avro")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args(argv)
    spark = build_session(f"local[{PARALLELISM}]", JVM_HEAP)
    right = True
    with tempfile.TemporaryDirectory() as folder, Registry() as registry:
        rows_of(spark, args.rows).write.parquet(f"{folder}/rows")
        spark.read.parquet(f"{folder}/rows").createOrReplaceGlobalTempView("snapshot_rows")
        for format in args.formats.split(","):
            right &= _measure(Bench(spark, registry, format), args.rows, args.rounds)
    spark.stop()
    return 0 if right else 1


def _measure(bench: Bench, rows: int, rounds: int) -> bool:
    """All systems in turns, each as often; prints the medians."""
    bench.ours(_topic(), _WARM)
    bench.spark_plain(_topic(), _WARM)
    systems: dict[str, Callable[[str], float]] = {
        "ours, exactly once": lambda topic: bench.ours(topic, rows),
        "Spark's writer, at least once": lambda topic: bench.spark_plain(topic, rows),
    }
    if environment.flink_is_there():
        systems["Flink, exactly once"] = lambda topic: bench.flink(topic, rows, _topic())
    took: dict[str, list[float]] = {system: [] for system in systems}
    wrong: list[str] = []
    for _ in range(rounds):
        for system, write in systems.items():
            topic = _topic()
            took[system].append(write(topic))
            found = bench.count(topic)
            if found != (rows, rows):
                wrong.append(f"{bench.format} {system} WRONG: {found[0]:,} messages, {found[1]:,} keys")
    ours = median(took["ours, exactly once"])
    for system, spent in took.items():
        each = " ".join(f"{rows / seconds:,.0f}" for seconds in spent)
        ratio = f"ours over it {median(spent) / ours:.2f}"
        print(f"{bench.format:<5} {system:<30} {rows / median(spent):>9,.0f} rows/s ({each}), {ratio}", flush=True)
    print("\n".join(wrong) or f"{bench.format:<5} every topic held each key once", flush=True)
    return not wrong


def _topic() -> str:
    name = f"bench-sink-{uuid.uuid4().hex[:8]}"
    create_topic(name)
    return name
