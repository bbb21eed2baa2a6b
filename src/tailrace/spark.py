"""The Spark session Tailrace runs on: its settings, its jars, and a JVM that ends with this process.

`build_session` starts Spark for `tailrace serve`, the demo and the tests.  `configure` gives the same meaning
of SQL to a session somebody else started.  Settings that change what a query *means* are in `SQL_SETTINGS`,
and in no other place: a view must give the same rows wherever it runs.
"""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from tailrace.jars import spark_jars
from tailrace.java import java_home

SQL_SETTINGS: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",  # an overflow or a bad cast is an error, never a silent NULL
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",  # the binder has folded names already
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",  # digits after the point are kept; too many is an error
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.shuffle.partitions": "4",  # a tick is small; large steps raise it themselves
}

_LOG4J = Path(__file__).with_name("log4j2.properties")


def build_session(
    master: str = "local[*]",
    driver_memory: str = "4g",
    app_name: str = "tailrace",
    extra: Mapping[str, str] | None = None,
) -> SparkSession:
    """A new Spark session with our jars and settings; `extra` settings win over ours.

    Starts a JVM, which takes some seconds, and ends with this process however that dies.  One Spark context
    lives in a process: if there is one already, its session is returned with the SQL settings applied and the
    rest as it was.
    """
    running = SparkContext._active_spark_context
    if running is not None:
        return configure(SparkSession(running))
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    scratch = Path(tempfile.mkdtemp(prefix="tailrace-spark-"))
    settings = {**_static_settings(master, driver_memory, app_name, scratch), **SQL_SETTINGS, **(extra or {})}
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    context = SparkContext(conf=conf, gateway=_start_jvm(conf))
    _remove_with_jvm(context, scratch)
    return SparkSession(context)


def configure(session: SparkSession) -> SparkSession:
    """The session with the SQL settings applied; beside a user's own: `configure(spark.newSession())`."""
    for name, value in SQL_SETTINGS.items():
        session.conf.set(name, value)
    return session


def _static_settings(master: str, driver_memory: str, app_name: str, scratch: Path) -> dict[str, str]:
    settings = {
        "spark.master": master,
        "spark.app.name": app_name,
        "spark.driver.memory": driver_memory,
        "spark.driver.extraJavaOptions": _jvm_options(scratch),
        "spark.jars": ",".join(str(jar) for jar in spark_jars()),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",  # a pool for each cluster, so that a slow view holds up no other
    }
    if master.startswith("local"):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings


def _jvm_options(scratch: Path) -> str:
    return f"-Dlog4j2.configurationFile=file:{_LOG4J} -Djava.io.tmpdir={scratch}"


def _start_jvm(conf: SparkConf) -> object:
    """Spark's JVM.

    It reads its standard input, a pipe from us, and exits when that closes: also after a kill -9.
    """
    gateway = launch_gateway(conf, {"stderr": subprocess.PIPE})  # type: ignore[no-untyped-call]
    forwarder = threading.Thread(target=_forward_errors, args=(gateway.proc.stderr,), daemon=True)
    forwarder.start()
    return gateway


def _forward_errors(lines: IO[bytes]) -> None:
    """The JVM's standard error is ours, but for the note it prints at every start."""
    for line in lines:
        if b"Using incubator modules" not in line:
            os.write(2, line)


def _remove_with_jvm(context: SparkContext, directory: Path) -> None:
    """Let the JVM remove `directory` when it exits: it outlives us by a moment, even when we are killed."""
    jvm = context._jvm
    assert jvm is not None
    jvm.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(jvm.java.io.File(str(directory)))
