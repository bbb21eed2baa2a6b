"""What a sink has written, read by Iceberg's own library for Spark, which shares no code with what wrote it.

It runs in a Spark of its own: the library must be there when Spark starts.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from typing import Any

from pyspark.sql import SparkSession

from tailrace.jars import iceberg_spark_jar
from tailrace.java import java_home
from tailrace.sinks.iceberg import IcebergSink
from tailrace.sinks.iceberg_connection import IcebergConnection
from tailrace.sinks.iceberg_definition import Partition
from tailrace.testing.iceberg_rest import IcebergRest
from tailrace.types.core import Tick
from targets.iceberg_tables import definition_of, rows_of
from targets.postgres_sink_of import numbers, zset

_READER = """
import json, sys
from pyspark.sql import SparkSession

jar, url, *queries = sys.argv[1:]
catalog = "spark.sql.catalog.lake"
settings = {
    "spark.driver.extraClassPath": jar,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    catalog: "org.apache.iceberg.spark.SparkCatalog",
    f"{catalog}.type": "rest",
    f"{catalog}.uri": url,
}
builder = SparkSession.builder.master("local[1]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
print(json.dumps([[list(row) for row in spark.sql(query).collect()] for query in queries]))
"""


def read(rest: IcebergRest, *queries: str) -> list[list[list[Any]]]:
    """The rows of each query, over the catalog `lake`."""
    environment = {**os.environ, "JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", _READER, str(iceberg_spark_jar()), rest.url, *queries]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    answers: list[list[list[Any]]] = json.loads(ended.stdout.splitlines()[-1])
    return answers


def test_iceberg_for_spark_reads_the_same_rows(spark: SparkSession, iceberg_rest: IcebergRest) -> None:
    iceberg_rest.catalog.create_namespace_if_not_exists("n")
    by = (Partition(transform="bucket[3]", column="k"),)
    connection = IcebergConnection(name="lake", catalog_type="rest", url=iceberg_rest.url)
    sink, ticks = definition_of(connection, partition_by=by), itertools.count(1)
    writer = IcebergSink(sink, spark, small_rows=1000, upkeep_after=6)
    writer.progress()
    writer.write(Tick(next(ticks)), numbers(3000))
    for n in range(8):  # with a compaction on the way
        writer.write(Tick(next(ticks)), zset((n, f"v{n}", -1), (n, f"w{n}", 1), (10 + n, f"v{10 + n}", -1)))
    table = f"lake.n.{sink.table}"
    rows, deletes, frontiers, one = read(
        iceberg_rest,
        f"SELECT k, v FROM {table} ORDER BY k",
        f"SELECT DISTINCT content FROM {table}.delete_files",
        f"SELECT summary['mz-frontier'] FROM {table}.snapshots ORDER BY committed_at DESC LIMIT 1",
        f"SELECT v FROM {table} WHERE k = 7",
    )
    expected = [(i, f"w{i}" if i < 8 else f"v{i}") for i in range(3000) if not 10 <= i < 18]
    assert rows_of(iceberg_rest.catalog, sink.table) == expected
    assert [tuple(row) for row in rows] == expected
    assert deletes == [[1]]  # positions, no equality
    assert frontiers == [["[10]"]]
    assert one == [["w7"]]  # found by bounds and buckets that Spark believes
