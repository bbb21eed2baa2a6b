"""How fast rows get into each target, beside the plain writer that somebody with Spark would use.

`python -m benchmarks targets [--rows N] [--changes N] [--ticks N] [--rounds N] [--only postgres,…]` starts the servers,
writes a snapshot of N rows and then ticks of changes with our sinks, exactly once, and the same rows with plain writers.
Both read the same Parquet files with the same Spark.  A plain writer that only appends is given a tick's new rows and
leaves the old ones where they are; one that upserts ends with the same table as ours, if nothing fails on the way.  At
the end the target's rows are counted.  Ratios above 1 mean that ours is faster.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Protocol

import pyarrow as pa
import redis
from pyarrow import fs
from pyiceberg.catalog import Catalog
from pyspark.sql import DataFrame, SparkSession

from benchmarks.settings import JVM_HEAP, PARALLELISM
from tailrace.formats import parquet_columns
from tailrace.ivm.views import Views
from tailrace.ivm.zset import ZSet
from tailrace.jars import iceberg_spark_jar, jdbc_driver
from tailrace.secret import Secret
from tailrace.sinks.contract import Sink
from tailrace.sinks.iceberg import IcebergSink
from tailrace.sinks.iceberg_connection import IcebergConnection
from tailrace.sinks.iceberg_definition import IcebergSinkDefinition
from tailrace.sinks.postgres import PostgresSink
from tailrace.sinks.postgres_connection import PostgresConnection
from tailrace.sinks.postgres_definition import PostgresSinkDefinition
from tailrace.sinks.redis import RedisSink
from tailrace.sinks.redis_connection import RedisConnection
from tailrace.sinks.redis_definition import RedisSinkDefinition
from tailrace.sinks.s3_connection import S3Connection
from tailrace.sinks.s3_export import Export, new_id
from tailrace.sinks.s3_files import ParquetFiles
from tailrace.spark import build_session
from tailrace.testing import postgres as pg
from tailrace.testing import redis as rd
from tailrace.testing import s3
from tailrace.testing.iceberg_rest import IcebergRest
from tailrace.types.core import BIGINT, INTEGER, TEXT, Column, Tick, Timestamp

SCHEMA = (
    Column("k", INTEGER, False),
    Column("item", TEXT, True),
    Column("amount", BIGINT, True),
    Column("at", Timestamp(), True),
)
NAMES = ", ".join(f"c{i} AS {column.name}" for i, column in enumerate(SCHEMA))
_ROW = (
    "CAST({id} AS int) AS c0, concat('item-', {id} % 1000) AS c1, {id} * 7 + {version} AS c2,"
    " timestamp_ntz'2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, CAST({id} AS int)) AS c3"
)
_DDL = "c0 int, c1 string, c2 bigint, c3 timestamp_ntz"

_WARM = 500_000  # rows that nobody measures: workers start, and the JVM compiles what it finds itself repeating


class Target(Protocol):
    """Ours and plain writers into the same server."""

    name: str

    def ours(self, name: str) -> Sink: ...

    def append(self, rows: DataFrame, name: str) -> None:
        """Adds rows, whatever is there."""

    def upsert(self, rows: DataFrame, name: str) -> None:
        """Puts rows in the place of those with the same key, where `append` has put a snapshot."""

    def count(self, name: str) -> int:
        """Rows that ours has there."""


class PostgresTarget:
    name = "postgres"

    def __init__(self, spark: SparkSession, views: Views, running: ExitStack) -> None:
        self._spark = spark
        self._views = views
        self._server = running.enter_context(pg.Postgres())

    def ours(self, name: str) -> Sink:
        connection = PostgresConnection(
            name="pg",
            host="127.0.0.1",
            port=self._server.port,
            database="postgres",
            user=Secret("postgres"),
            password=Secret(pg.PASSWORD),
        )
        definition = PostgresSinkDefinition(
            id=name, name=name, connection=connection, region="b", table=("public", name), schema=SCHEMA, key=(0,), proven=True
        )
        return PostgresSink(definition, self._spark, small=self._views.small)

    def append(self, rows: DataFrame, name: str) -> None:
        """A snapshot goes to a table with the same primary key, changes to one without."""
        self._create(name, key="PRIMARY KEY" if name.endswith("snapshot") else "")
        self._save(rows, name, mode="append")

    def upsert(self, rows: DataFrame, name: str) -> None:
        """By a table beside, as there is no other way with JDBC."""
        self._create(f"{name}_stage", key="")
        self._save(rows, f"{name}_stage", mode="overwrite")
        with self._server.connect() as session:
            assign = ", ".join(f"{column.name} = excluded.{column.name}" for column in SCHEMA[1:])
            session.execute(f"INSERT INTO {name} SELECT * FROM {name}_stage ON CONFLICT (k) DO UPDATE SET {assign}")

    def _create(self, name: str, *, key: str) -> None:
        with self._server.connect() as session:
            columns = f'"k" int {key}, item text, amount bigint, at timestamp'
            session.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")

    def _save(self, rows: DataFrame, name: str, *, mode: str) -> None:
        options = {
            "url": f"jdbc:postgresql://127.0.0.1:{self._server.port}/postgres?reWriteBatchedInserts=true",
            "driver": "org.postgresql.Driver",
            "user": "postgres",
            "password": pg.PASSWORD,
            "dbtable": name,
            "batchsize": "10000",
            "truncate": "true",
        }
        rows.write.format("jdbc").options(**options).mode(mode).save()

    def count(self, name: str) -> int:
        with self._server.connect() as session:
            found = session.execute(f"SELECT count(*) FROM {name}").fetchone()
        assert found is not None
        return int(found[0])


class RedisTarget:
    """The plain writer: SETs in pipelines of a thousand, from Spark's tasks.  Appending and upserting are the same."""

    name = "redis"

    def __init__(self, spark: SparkSession, views: Views, running: ExitStack) -> None:
        self._spark = spark
        self._views = views
        self._server = running.enter_context(rd.Redis())

    def ours(self, name: str) -> Sink:
        connection = RedisConnection(name="r", host="127.0.0.1", port=self._server.port, password=Secret(rd.PASSWORD))
        definition = RedisSinkDefinition(
            id=name, name=name, connection=connection, region="b", schema=SCHEMA, template=((f"{name}:", 0),), proven=True
        )
        return RedisSink(definition, self._spark, small=self._views.small)

    def append(self, rows: DataFrame, name: str) -> None:
        port, password = self._server.port, rd.PASSWORD

        def send(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with redis.Redis(port=port, password=password) as client:
                for batch in batches:
                    keys, values = batch.column(0).to_pylist(), batch.column(1).to_pylist()
                    for start in range(0, len(keys), 1000):
                        pipeline = client.pipeline(transaction=False)
                        for key, value in zip(keys[start : start + 1000], values[start : start + 1000], strict=True):
                            pipeline.set(f"{name}:{key}", value)
                        pipeline.execute()
            yield pa.record_batch({"n": pa.array([0])})

        rows.selectExpr("k", "to_json(struct(*)) AS value").mapInArrow(send, "n bigint").collect()

    upsert = append

    def count(self, name: str) -> int:
        with self._server.connect() as client:
            return sum(1 for _ in client.scan_iter(f"{name}:*", count=10_000))


class IcebergTarget:
    """The plain writer: Iceberg's own for Spark, appending, or merging by position deletes as ours does."""

    name = "iceberg"

    def __init__(self, spark: SparkSession, views: Views, running: ExitStack) -> None:
        self._spark = spark
        self._views = views
        self._server = running.enter_context(IcebergRest())
        self._catalog: Catalog = self._server.catalog
        self._catalog.create_namespace("n")
        settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "rest", ".uri": self._server.url}
        for session in (spark, views.small):
            for name, value in settings.items():
                session.conf.set(f"spark.sql.catalog.lake{name}", value)

    def ours(self, name: str) -> Sink:
        connection = IcebergConnection(name="lake", catalog_type="rest", url=self._server.url)
        definition = IcebergSinkDefinition(
            id=name, name=name, connection=connection, namespace="n", table=name, schema=SCHEMA, key=(0,)
        )
        return IcebergSink(definition, self._views.files, small=self._views.small)

    def append(self, rows: DataFrame, name: str) -> None:
        columns = "k int, item string, amount bigint, at timestamp_ntz"
        properties = "'format-version' = '2', 'write.merge.mode' = 'merge-on-read'"
        text = f"CREATE TABLE IF NOT EXISTS lake.n.{name} ({columns}) USING iceberg TBLPROPERTIES ({properties})"
        rows.sparkSession.sql(text)
        rows.writeTo(f"lake.n.{name}").append()

    def upsert(self, rows: DataFrame, name: str) -> None:
        rows.createOrReplaceTempView("came")
        rows.sparkSession.sql(
            f"MERGE INTO lake.n.{name} t USING came s ON t.k = s.k"
            " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    def count(self, name: str) -> int:
        return self._catalog.load_table(f"n.{name}").scan().count()


TARGETS: dict[str, Callable[[SparkSession, Views, ExitStack], Target]] = {
    "postgres": PostgresTarget,
    "redis": RedisTarget,
    "iceberg": IcebergTarget,
}
"""Sinks.  COPY TO S3 is measured apart: it has no ticks."""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks targets", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--changes", type=int, default=10_000, help="of each tick")
    parser.add_argument("--ticks", type=int, default=20)
    parser.add_argument("--warm-ticks", type=int, default=20, help="of fewer changes, that nobody measures")
    parser.add_argument("--rounds", type=int, default=3, help="of everything; medians are told")
    parser.add_argument("--only", default=",".join((*TARGETS, "s3")))
    args = parser.parse_args(argv)
    extra = {"spark.driver.extraClassPath": os.pathsep.join(map(str, (jdbc_driver(), iceberg_spark_jar())))}
    spark = build_session(f"local[{PARALLELISM}]", JVM_HEAP, extra=extra)
    views, only = Views(spark), args.only.split(",")
    right = True
    with tempfile.TemporaryDirectory() as folder:
        rows_of(spark, args.rows).write.parquet(f"{folder}/rows")
        spark.read.parquet(f"{folder}/rows").createOrReplaceGlobalTempView("snapshot_rows")
        print(f"{args.rows:,} rows, then {args.ticks} ticks of {args.changes:,} changed rows", flush=True)
        for name in (name for name in TARGETS if name in only):
            with ExitStack() as running:
                right &= _measure(TARGETS[name](spark, views, running), views, args)
        if "s3" in only:
            right &= _measure_s3(views, args.rows, args.rounds, Path(folder))
    spark.stop()
    return 0 if right else 1


def rows_of(spark: SparkSession, count: int) -> DataFrame:
    return spark.sql(f"SELECT {_ROW.format(id='id', version=0)} FROM range({count})")


def _measure(target: Target, views: Views, args: argparse.Namespace) -> bool:
    few = min(args.changes, 1000)
    _write(target, views, "warm", Work(rows=min(args.rows, _WARM), changes=few, ticks=args.warm_ticks))
    work = Work(rows=args.rows, changes=args.changes, ticks=args.ticks)
    rounds = [_write(target, views, f"bench{number}", work) for number in range(args.rounds)]
    _say(target.name, "snapshot", args.rows, _medians([snapshot for snapshot, _ in rounds]))
    _say(target.name, "changes", args.ticks * args.changes, _medians([changes for _, changes in rounds]))
    found = [target.count(f"bench{number}_ours") for number in range(args.rounds)]
    if set(found) != {args.rows}:
        print(f"{target.name}: WRONG, {found} rows")
    return set(found) == {args.rows}


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    rows: int
    changes: int
    ticks: int


Seconds = dict[str, float]  # by who wrote; ours is "ours"


def _medians(rounds: Sequence[Seconds]) -> Seconds:
    return {who: median(each[who] for each in rounds) for who in rounds[0]}


def _write(target: Target, views: Views, name: str, work: Work) -> tuple[Seconds, Seconds]:
    """The snapshot, and all changes."""
    sink = target.ours(f"{name}_ours")
    sink.progress()
    rows = f"SELECT * FROM global_temp.snapshot_rows WHERE c0 < {work.rows}"
    delta = ZSet(arity=len(SCHEMA), sql=f"SELECT *, 1L AS weight FROM ({rows})", rows=work.rows, positive=True)
    plain = views.large.sql(f"SELECT {NAMES} FROM ({rows})")
    snapshot = {
        "ours": seconds_of(lambda: sink.write(Tick(1), delta)),
        "append": seconds_of(lambda: target.append(plain, f"{name}_snapshot")),
    }
    changes = dict.fromkeys(("ours", "append", "upsert"), 0.0)
    for tick in range(work.ticks):
        first = (tick * work.changes) % max(work.rows - work.changes, 1)
        old, new = (_changed(views, first, work.changes, version) for version in (0, 1))
        run = f"SELECT * FROM {_run(views, old, new)}"
        delta = ZSet(arity=len(SCHEMA), sql=run, rows=2 * work.changes, is_settled=True)
        changes["ours"] += seconds_of(lambda delta=delta, tick=tick: sink.write(Tick(tick + 2), delta))
        came = views.small.sql(f"SELECT {NAMES} FROM {views.add_arrow(new, _DDL)}")
        changes["append"] += seconds_of(lambda came=came: target.append(came, f"{name}_changes"))
        changes["upsert"] += seconds_of(lambda came=came: target.upsert(came, f"{name}_snapshot"))
    sink.close()
    return snapshot, changes


def _changed(views: Views, first: int, count: int, version: int) -> pa.Table:
    text = _ROW.format(id="id", version=version)
    return views.large.sql(f"SELECT {text} FROM range({first}, {first + count})").toArrow()


def _run(views: Views, old: pa.Table, new: pa.Table) -> str:
    """A small tick as a view's trace has it: on the driver, the rows that left and those that came."""
    weighted = [rows.append_column("weight", pa.array([sign] * len(rows))) for sign, rows in ((-1, old), (1, new))]
    return views.add_arrow(pa.concat_tables(weighted), f"{_DDL}, weight bigint")


def _measure_s3(views: Views, rows: int, rounds: int, folder: Path) -> bool:
    """COPY TO a bucket beside df.write.parquet to a folder, which is then uploaded, or left there."""
    with s3.S3() as server:
        server.make_bucket("bench")
        connection = S3Connection(
            name="b",
            endpoint=server.endpoint,
            region="us",
            access_key_id=Secret(s3.ACCESS_KEY),
            secret_access_key=Secret(s3.SECRET_KEY),
        )
        text = parquet_columns.select(SCHEMA, [f"c{i}" for i in range(len(SCHEMA))])

        def ours(name: str, source: str) -> None:
            export = Export(
                id=new_id("b"),
                mark="b",
                connection=connection,
                directory=f"bench/{name}",
                format=ParquetFiles(parquet_columns.arrow_schema(SCHEMA)),
                largest=256 << 20,
            )
            export.run(views.files.sql(f"SELECT {text} FROM {source}"), DataFrame.toArrow)

        def to_folder(name: str, source: str) -> None:
            views.large.sql(f"SELECT {NAMES} FROM {source}").write.parquet(f"{folder}/{name}")

        def uploaded(name: str, source: str) -> None:
            to_folder(name, source)
            system = connection.file_system()
            fs.copy_files(f"{folder}/{name}", f"bench/{name}", destination_filesystem=system)

        def all_of(source: str, mark: str) -> Seconds:
            took = {}
            for write in (ours, to_folder, uploaded):
                name = f"{write.__name__}-{mark}"
                took[write.__name__] = seconds_of(lambda write=write, name=name: write(name, source))
            return took

        all_of(f"(SELECT * FROM global_temp.snapshot_rows LIMIT {_WARM})", "warm")
        seconds = _medians([all_of("global_temp.snapshot_rows", f"all{number}") for number in range(rounds)])
        _say("s3", "snapshot", rows, seconds)
        paths = [str(path) for key, path in server.objects("bench").items() if "ours-all0/" in key]
        return bool(views.large.read.parquet(*paths).count() == rows)


def seconds_of(work: Callable[[], object]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def _say(target: str, what: str, rows: int, seconds: Seconds) -> None:
    rates = ", ".join(
        f"{name} {rows / spent:,.0f} rows/s" + ("" if name == "ours" else f" (ratio {spent / seconds['ours']:.2f})")
        for name, spent in seconds.items()
    )
    print(f"{target:<9} {what:<9} {rates}", flush=True)
