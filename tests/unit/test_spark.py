"""The session means the same SQL everywhere."""

import gc
import importlib
import logging
import os
import signal
import subprocess
import sys
import time
import zipimport
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import SparkSession

from tailrace.spark import SQL_SETTINGS, _collector, _compiler, _cores, build_session, configure


def test_the_session_has_our_settings(spark: SparkSession) -> None:
    assert {name: spark.conf.get(name) for name in SQL_SETTINGS} == SQL_SETTINGS


def test_dividing_by_zero_is_an_error_not_a_null(spark: SparkSession) -> None:
    with pytest.raises(ArithmeticException):
        spark.sql("SELECT 1 / 0").collect()


def test_pyspark_does_not_log_what_we_tell(spark: SparkSession) -> None:
    """A view that stands still would have its row in the server's log whenever it is tried."""
    logged: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            logged.append(record.getMessage())

    logger, listener = logging.getLogger("SQLQueryContextLogger"), Listener()
    logger.addHandler(listener)
    try:
        with pytest.raises(ArithmeticException):
            spark.sql("SELECT 1 / 0").collect()
    finally:
        logger.removeHandler(listener)
    assert logged == []


def test_configure_gives_our_settings_to_another_session_only(spark: SparkSession) -> None:
    other = spark.newSession()
    other.conf.set("spark.sql.ansi.enabled", "false")
    third = spark.newSession()
    third.conf.set("spark.sql.ansi.enabled", "false")
    assert configure(other).conf.get("spark.sql.ansi.enabled") == "true"
    assert third.conf.get("spark.sql.ansi.enabled") == "false"


@pytest.mark.parametrize(
    ("memory", "given", "expected"),
    [
        ("4g", "", "-XX:+UseParallelGC"),
        ("8192m", "-Dx=1", "-XX:+UseParallelGC"),
        ("64g", "", ""),
        ("2048m", "-XX:+UseG1GC", ""),
        ("4000000000", "", ""),
    ],
)
def test_a_small_heap_is_not_collected_beside_the_work(memory: str, given: str, expected: str) -> None:
    assert _collector(memory, given) == expected


def test_java_compiles_thoroughly_later_where_the_work_wants_all_of_few_cores() -> None:
    assert "-XX:Tier4InvocationThreshold=50000" in _compiler("local[*]", cores=2)
    assert _compiler("local[*]", cores=16) == ""
    assert _compiler("spark://10.0.0.1:7077", cores=2) == ""


def test_cores_are_those_a_container_may_use(tmp_path: Path) -> None:
    quota = tmp_path / "cpu.max"
    everything = _cores(quota)
    quota.write_text("max 100000\n")
    assert _cores(quota) == everything
    quota.write_text("100000 100000\n")
    assert _cores(quota) == 1
    quota.write_text("50000 100000\n")
    assert _cores(quota) == 1
    quota.write_text("100000000 100000\n")
    assert _cores(quota) == everything


def test_a_python_task_searches_neither_archives_nor_what_was_imported(spark: SparkSession) -> None:
    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        read: list[str] = []
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(zipimport, "_read_directory", read.append)
            importlib.invalidate_caches()  # as Spark does before every task
        yield pa.record_batch({"read": [len(read)], "frozen": [gc.get_freeze_count()]})

    [found] = spark.range(0, 1, 1, 1).mapInArrow(look, "read long, frozen long").collect()
    assert found.read == 0
    assert found.frozen > 100_000


def test_a_second_build_shares_the_context(spark: SparkSession) -> None:
    assert build_session().sparkContext is spark.sparkContext


def test_kafka_and_avro_are_there(spark: SparkSession) -> None:
    source = (
        spark.read.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:1").option("subscribe", "t")
    )
    assert source.load().columns[:2] == ["key", "value"]
    assert spark.sql("SELECT schema_of_avro('\"int\"')").columns


def test_python_workers_run(spark: SparkSession) -> None:
    rows = spark.range(3).mapInArrow(lambda batches: batches, "id long").collect()
    assert sorted(row.id for row in rows) == [0, 1, 2]


PARENT = """
import time
from tailrace.spark import build_session
session = build_session("local[1]", "1g")
session.range(3).write.parquet(session.conf.get("spark.sql.warehouse.dir") + "/rows")
jvm = session.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
print(jvm, session.conf.get("spark.local.dir"), flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("also_the_jvm", [False, True])
def test_a_killed_parent_leaves_neither_jvm_nor_scratch_directory(also_the_jvm: bool) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        jvm, scratch = parent.stdout.readline().split()
        parent.kill()
        if also_the_jvm:
            os.kill(int(jvm), signal.SIGKILL)
    deadline = time.monotonic() + 60
    while psutil.pid_exists(int(jvm)) or Path(scratch).exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_spark_writes_by_itself_is_in_one_scratch_directory(spark: SparkSession) -> None:
    scratch = Path(spark.conf.get("spark.local.dir") or "")
    warehouse = spark.conf.get("spark.sql.warehouse.dir") or ""
    assert str(scratch) in warehouse
    assert not Path("spark-warehouse").exists()
