"""Functions of our own in a Spark session, for what Spark's SQL cannot say cheaply.

`tailrace_is_json(binary)` is Java, because setting up Spark's JSON parser costs more than reading a message:
0.15 µs against 2.5 µs.  Its source is beside this file; the compiler that Spark itself carries compiles it
once for each Spark context, and `ADD JAR` takes it to the executors.  Where that is not possible, the same
function is defined in SQL, and only slower.
"""

from __future__ import annotations

import logging
import tempfile
import threading
import weakref
import zipfile
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import BooleanType

from tailrace.formats.decode_contract import as_text

log = logging.getLogger(__name__)

_CLASS = "JsonGrammar"
_SOURCE = Path(__file__).with_name(f"{_CLASS}.java")

_MARK = "5e1c9d6fb7a24f0c8d3e"
_STRICTLY = "map('allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false')"

_lock = threading.Lock()
_loaders: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()  # by Spark context
_done: weakref.WeakSet[SparkSession] = weakref.WeakSet()


def install(spark: SparkSession) -> None:
    """Gives the session our functions.  The first time it compiles, later it costs nothing.  Runs no job."""
    with _lock:
        if spark in _done:
            return
        try:
            install_java(spark)
        except (Py4JError, PySparkException, AttributeError) as error:
            log.warning("java functions not installed error=%s", error)
            install_sql(spark)
        _done.add(spark)


def install_java(spark: SparkSession) -> None:
    """The functions in Java."""
    context = spark.sparkContext
    if context not in _loaders:
        _loaders[context] = _compiled(spark)
    function = _loaders[context].loadClass(_CLASS).newInstance()
    jvm: Any = context._jvm
    returns = jvm.org.apache.spark.sql.types.DataType.fromJson(BooleanType().json())
    spark._jsparkSession.udf().register("tailrace_is_json", function, returns)


def install_sql(spark: SparkSession) -> None:
    """The same functions in SQL.

    Spark's JSON functions stop reading after the first value.  So the text is put into an array before a mark
    of our own: the mark is the second element if, and only if, the text is exactly one value.  To forge that,
    a message would have to contain the mark.
    """
    elements = f"""from_json(concat('[', {as_text("data")}, ',"{_MARK}"]'), 'array<string>', {_STRICTLY})"""
    spark.sql(
        "CREATE OR REPLACE TEMPORARY FUNCTION tailrace_is_json(data BINARY) RETURNS BOOLEAN"
        f" RETURN get({elements}, 1) <=> '{_MARK}'"
    )


def _compiled(spark: SparkSession) -> Any:
    """A Java class loader with our class; the jar is on its way to the executors."""
    jvm: Any = spark.sparkContext._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
    compiler.cook(_SOURCE.read_text())
    folder = Path(tempfile.mkdtemp(prefix="tailrace-functions-", dir=_scratch(spark)))
    jar = folder / "tailrace-functions.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for name, code in compiler.getBytecodes().items():
            archive.writestr(f"{name}.class", bytes(code))
    spark.sql(f"ADD JAR '{jar}'")
    return compiler.getClassLoader()


def _scratch(spark: SparkSession) -> str | None:
    """Where Spark keeps what goes with it, if that is on this machine's disk."""
    folder = spark.conf.get("spark.local.dir", None)
    return folder if folder is not None and Path(folder).is_dir() else None
