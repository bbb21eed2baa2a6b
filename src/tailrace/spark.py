"""The Spark session Tailrace runs on: its settings, its jars, and a JVM that ends with this process.

`build_session` starts Spark for `tailrace serve`, the demo and the tests.  `configure` gives the same meaning
of SQL to a session somebody else started.  Settings that change what a query *means* are in `SQL_SETTINGS`,
and in no other place: a view must give the same rows wherever it runs.

If an archive of the classes that Spark loads is there (class_archive.py), the JVM starts with it, in half the time.
"""

import hashlib
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from tailrace.guest_jars import provide
from tailrace.jars import spark_jars
from tailrace.java import java_home
from tailrace.jvm.functions import install
from tailrace.shipping import ship

SQL_SETTINGS: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",  # an overflow or a bad cast is an error, never a silent NULL
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",  # the binder has folded names already
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",  # digits are kept; too many is an error
    "spark.sql.variant.allowDuplicateKeys": "true",  # of equal keys in a jsonb the last one counts
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",  # not kafka: its V2 reader is quicker
    "spark.sql.shuffle.partitions": "4",  # a tick is small; large steps raise it themselves
}

JVM_OPTIONS = "spark.driver.extraJavaOptions"
_SMALL_HEAP_GB = 8
_LONGEST_PAUSE = "1d"
"""A machine may stand still just when we are about to fetch rows from the JVM.  After 15 seconds, Spark's own limit, it
gives up the connection without telling whoever waits for its end (`toArrow`), who then waits for ever."""
_FEW_CORES = 4
_CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # "200000 100000": two cores' time; "max 100000": all there is
_THOROUGHLY_AFTER = {  # ten times what Java's own are
    "InvocationThreshold": 50_000,
    "MinInvocationThreshold": 6_000,
    "CompileThreshold": 150_000,
    "BackEdgeThreshold": 400_000,
}
_ARCHIVE = "2"  # counts how often what is archived has changed
_LOG4J = Path(__file__).with_name("log4j2.properties")
_PYSPARK_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # of errors that we tell ourselves


def build_session(
    master: str = "local[*]",
    driver_memory: str = "4g",
    app_name: str = "tailrace",
    extra: Mapping[str, str] | None = None,
) -> SparkSession:
    """A new Spark session with our jars and settings; those in `extra` win, JVM options there add to ours.

    Starts a JVM, which takes some seconds, and ends with this process however that dies.  One Spark context
    lives in a process: if there is one already, its session is returned with the SQL settings applied and the
    rest as it was.
    """
    running = SparkContext._active_spark_context
    if running is not None:
        return configure(SparkSession(running))
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault(
        "SPARK_LAUNCHER_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    )  # it lives briefly
    ours = _static_settings(master, driver_memory, app_name, _scratch_directory())
    settings = {**ours, **SQL_SETTINGS, **(extra or {})}
    given = (extra or {}).get(JVM_OPTIONS, "")
    chosen = (_collector(driver_memory, given), _compiler(master, _cores()))
    settings[JVM_OPTIONS] = " ".join(filter(None, (ours[JVM_OPTIONS], *chosen, given)))
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    session = SparkSession(SparkContext(conf=conf, gateway=_start_jvm(conf)))
    install(session)
    ship(session.sparkContext)
    for name in _PYSPARK_LOGGERS:
        PySparkLogger.getLogger(name).disabled = True
    return session


def configure(session: SparkSession) -> SparkSession:
    """The session with our settings, functions and jars; beside a user's own: `configure(spark.newSession())`."""
    for name, value in SQL_SETTINGS.items():
        session.conf.set(name, value)
    install(session)
    provide(session)
    ship(session.sparkContext)
    return session


def _static_settings(master: str, driver_memory: str, app_name: str, scratch: Path) -> dict[str, str]:
    jars = [str(jar) for jar in spark_jars()]
    settings = {
        "spark.master": master,
        "spark.app.name": app_name,
        "spark.driver.memory": driver_memory,
        JVM_OPTIONS: " ".join(_jvm_options(scratch)),
        "spark.driver.extraClassPath": os.pathsep.join(jars),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.codegen.cache.maxEntries": "1000",  # of plans that are kept (ivm/kept.py) beside those that are not
        "spark.python.authenticate.socketTimeout": _LONGEST_PAUSE,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",  # a pool for each cluster, so that a slow view holds up no other
    }
    if master.startswith("local"):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        settings |= {"spark.python.daemon.module": "tailrace.python_daemon"}
        settings |= {"spark.shuffle.compress": "false"}  # it goes through memory, not over a network
    else:
        settings |= {"spark.jars": ",".join(jars)}  # for the executors
    return settings


def _jvm_options(scratch: Path) -> list[str]:
    options = [f"-Dlog4j2.configurationFile=file:{_LOG4J}", f"-Djava.io.tmpdir={scratch}"]
    options += ["-Xlog:disable", "-Xlog:all=error:stderr"]  # nothing about an archive that does not fit
    archive = class_archive()
    return [*options, f"-XX:SharedArchiveFile={archive}"] if archive.exists() else options


def _collector(driver_memory: str, given: str) -> str:
    """Java's own choice collects beside the work, to keep pauses of large heaps short.  A small heap has short pauses
    anyway, and where the work wants all cores, that costs a twentieth of them."""
    size = re.fullmatch(r"(\d+)([mg])b?", driver_memory.strip().lower())
    is_small = size is not None and int(size[1]) <= _SMALL_HEAP_GB * (1 if size[2] == "g" else 1024)
    return "-XX:+UseParallelGC" if is_small and not re.search(r"-XX:\+Use\w+GC\b", given) else ""


def _compiler(master: str, cores: int) -> str:
    """Java compiles twice: quickly what is called at all often, and thoroughly what is called 5,000 times.

    Where there are few cores the second takes them from the work, a third of them in the first minute; so it is left
    for ten times as often.  What a catch-up or a steady stream runs gets there all the same.  Options that are given
    come later, and win.
    """
    if not master.startswith("local") or cores > _FEW_CORES:
        return ""
    return " ".join(f"-XX:Tier4{name}={often}" for name, often in _THOROUGHLY_AFTER.items())


def _cores(quota: Path = _CPU_QUOTA) -> int:
    """The cores that are ours: in a container that may be fewer than the machine has, as Java sees them too."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    given = re.match(r"(\d+) (\d+)", quota.read_text()) if quota.is_file() else None
    return min(cores, max(1, math.ceil(int(given[1]) / int(given[2])))) if given else cores


def _start_jvm(conf: SparkConf) -> object:
    """Spark's JVM.

    It reads its standard input, a pipe from us, and exits when that closes: also after a kill -9.  It has a process
    group of its own: a signal for ours, as from a terminal or a service manager, is for us to act on while it works.
    """
    reading_end, writing_end = os.pipe()
    threading.Thread(target=_forward_errors, args=(reading_end,), daemon=True).start()
    try:
        options = {"stderr": writing_end, "process_group": 0}
        return launch_gateway(conf, options)  # type: ignore[no-untyped-call]
    finally:
        os.close(writing_end)


def _forward_errors(reading_end: int) -> None:
    """The JVM's standard error is ours, but for the note it prints at every start."""
    with open(reading_end, "rb") as lines:
        for line in lines:
            if b"Using incubator modules" not in line:
                os.write(2, line)


def _scratch_directory() -> Path:
    """A directory for what Spark leaves lying about, removed after our end, however we and the JVM end.

    The guard is a shell in a session of its own that reads a pipe from us.  It removes the directory until
    the JVM, which outlives us by a moment, makes it no more.
    """
    directory = tempfile.mkdtemp(prefix="tailrace-spark-")
    script = 'cat; n=0; while [ $n -lt 20 ]; do rm -rf "$0"; sleep 1; n=$((n+1)); done'
    guard = subprocess.Popen(["sh", "-c", script, directory], stdin=subprocess.PIPE, start_new_session=True)
    _guards.append(guard)
    return Path(directory)


_guards: list[subprocess.Popen[bytes]] = []  # held, so that their pipes stay open


def class_archive() -> Path:
    """Where the archive for this Java and this PySpark is, if it has been made: it fits no other."""
    inputs = [_ARCHIVE, java_home(), *(f"{jar} {jar.stat().st_mtime_ns}" for jar in spark_jars()), pyspark.__file__]
    fingerprint = hashlib.sha256("\n".join(map(str, inputs)).encode()).hexdigest()[:12]
    return Path(sys.prefix) / "share" / "tailrace" / f"spark-{fingerprint}.jsa"
