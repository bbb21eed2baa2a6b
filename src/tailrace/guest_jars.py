"""The jars for Kafka and Avro in a Spark session that somebody else started without them.

Spark looks for a data source in the class loader that `spark-submit`, and so PySpark, started its JVM with.  That one
can be added to at any time.  Where there is none, as in a JVM that was started in another way, the session has to be
built with the jars, and the error says how.
"""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from tailrace.errors import SqlError
from tailrace.jars import spark_jars

_NEEDED = ("org.apache.spark.sql.kafka010.KafkaSourceProvider", "org.apache.spark.sql.avro.CatalystDataToAvro")
_OPEN = "org.apache.spark.util.MutableURLClassLoader"


def provide(session: SparkSession) -> None:
    """Returns when the session can read Kafka and Avro.  Fetches jars if need be; runs no job."""
    context = session.sparkContext
    jvm: Any = context._jvm
    found = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
    if all(_knows(found, name) for name in _NEEDED):
        return
    jars = [str(jar) for jar in spark_jars()]
    loader = _open_loader(found)
    if loader is None:
        raise SqlError(
            "this Spark session has no jars for Kafka and Avro, and takes none while it runs",
            hint=f'Build it with .config("spark.jars", "{",".join(jars)}").',
            sqlstate="55000",
        )
    for jar in jars:
        loader.addURL(jvm.java.io.File(jar).toURI().toURL())
        context._jsc.addJar(jar)  # for executors


def _knows(loader: Any, name: str) -> bool:
    try:
        loader.loadClass(name)
    except Py4JJavaError:
        return False
    return True


def _open_loader(loader: Any) -> Any:
    """The one that all threads of the JVM share: others that can be added to are of one thread or session."""
    while loader is not None and loader.getClass().getName() != _OPEN:
        loader = loader.getParent()
    return loader
