"""Functions of our own in a Spark session, for what Spark's SQL cannot say cheaply.

They are Java, because setting up Spark's JSON parser for a message costs more than reading the message:
measured on messages of 110 bytes, `tailrace_is_json` takes 0.15 µs where `from_json` takes 2.5 µs.  Their
source is beside this file; the compiler that Spark itself carries compiles it once for each Spark context,
and `ADD JAR` takes it to the executors.

| function | gives |
|---|---|
| `tailrace_is_json(binary)` | whether the bytes are one JSON document in UTF-8 and nothing else |
| `tailrace_json_fields(binary, names)` | texts of top-level fields, an array; names (binary) are separated by NUL |
| `tailrace_json_same(binary)` | one text for all spellings of a document |
| `tailrace_json_string(binary)` | a text, given as its bytes, as a JSON string with its quotes |
| `tailrace_try(expression)` | its value, or NULL if computing it fails |
| `tailrace_decimal_text(binary, scale)` | the decimal whose value at that scale these bytes are, as text |
| `tailrace_decimal_bytes(decimal, scale, size)` | the value at that scale as one integer of so many bytes, big-endian |
| `tailrace_jsonb…` | operators of jsonb as a tree (JsonTree.java), and path expressions (JsonPath.java) |
| `tailrace_regex…` | PostgreSQL's regular expressions (Regex.java) |
| `tailrace_moment`, `…_clock`, `…_span`, `…_zone`, `…_age` | dates, times and intervals (Times.java) |
| `tailrace_time_text`, `…_number_text`, … | `to_char` and the like (TimeTemplates.java, NumberTemplates.java) |
| `tailrace_float_text` | a float in its fewest digits (Floats.java) |
| `tailrace_range_parts` | the brackets and bounds of a range's text (Ranges.java) |
| others | texts and bytes (Texts.java) |
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
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructType,
)

from tailrace.errors import SqlError

log = logging.getLogger(__name__)

# A class may use the ones before it.
_SOURCES = (
    "JsonGrammar", "JsonFields", "JsonString", "JsonSame", "DecimalBytes", "DecimalText", "Failure", "JsonTree",
    "Regex", "JsonPath", "Times", "TimeTemplates", "NumberTemplates", "Floats", "Texts", "Ranges",
)  # fmt: skip

_STRING, _BOOLEAN, _INTEGER, _LONG = StringType(), BooleanType(), IntegerType(), LongType()
_STRINGS = ArrayType(_STRING)
_INTERVAL = StructType().add("months", _INTEGER).add("days", _INTEGER).add("micros", _LONG)

_FUNCTIONS: dict[str, tuple[str, DataType]] = {
    "tailrace_is_json": ("JsonGrammar", _BOOLEAN),
    "tailrace_json_fields": ("JsonFields", _STRINGS),
    "tailrace_json_string": ("JsonString", _STRING),
    "tailrace_json_same": ("JsonSame", _STRING),
    "tailrace_decimal_bytes": ("DecimalBytes", BinaryType()),
    "tailrace_decimal_text": ("DecimalText", _STRING),
    "tailrace_jsonb": ("JsonTree$Canonical", _STRING),
    "tailrace_jsonb_pretty": ("JsonTree$Pretty", _STRING),
    "tailrace_jsonb_length": ("JsonTree$Length", _INTEGER),
    "tailrace_jsonb_without_nulls": ("JsonTree$WithoutNulls", _STRING),
    "tailrace_jsonb_contains": ("JsonTree$Contains", _BOOLEAN),
    "tailrace_jsonb_compare": ("JsonTree$Compare", _INTEGER),
    "tailrace_jsonb_has_keys": ("JsonTree$HasKeys", _BOOLEAN),
    "tailrace_jsonb_concat": ("JsonTree$Concat", _STRING),
    "tailrace_jsonb_without": ("JsonTree$Without", _STRING),
    "tailrace_jsonb_without_place": ("JsonTree$WithoutPlace", _STRING),
    "tailrace_jsonb_at": ("JsonTree$At", _STRING),
    "tailrace_jsonb_steps": ("JsonTree$Steps", _STRING),
    "tailrace_jsonb_element": ("JsonTree$Element", _STRING),
    "tailrace_jsonb_change": ("JsonTree$Change", _STRING),
    "tailrace_jsonb_path_query": ("JsonPath$Query", _STRINGS),
    "tailrace_jsonb_path_exists": ("JsonPath$Exists", _BOOLEAN),
    "tailrace_jsonb_path_match": ("JsonPath$Match", _BOOLEAN),
    "tailrace_regex_matches": ("Regex$Matches", _BOOLEAN),
    "tailrace_regex_similar": ("Regex$Similar", _BOOLEAN),
    "tailrace_regex_replace": ("Regex$Replace", _STRING),
    "tailrace_regex_all": ("Regex$All", ArrayType(_STRINGS)),
    "tailrace_regex_split": ("Regex$Split", _STRINGS),
    "tailrace_regex_count": ("Regex$Count", _INTEGER),
    "tailrace_regex_part": ("Regex$Part", _STRING),
    "tailrace_regex_place": ("Regex$Place", _INTEGER),
    "tailrace_moment": ("Times$Moment", _LONG),
    "tailrace_clock": ("Times$Clock", _LONG),
    "tailrace_span": ("Times$Span", _INTERVAL),
    "tailrace_zone": ("Times$Zone", _STRING),
    "tailrace_age": ("Times$Age", _INTERVAL),
    "tailrace_time_text": ("TimeTemplates$Moment", _STRING),
    "tailrace_span_text": ("TimeTemplates$Span", _STRING),
    "tailrace_time_read": ("TimeTemplates$Read", _LONG),
    "tailrace_number_text": ("NumberTemplates$Print", _STRING),
    "tailrace_number_read": ("NumberTemplates$Read", _STRING),
    "tailrace_float_text": ("Floats", _STRING),
    "tailrace_quote_identifier": ("Texts$QuoteIdentifier", _STRING),
    "tailrace_quote_literal": ("Texts$QuoteLiteral", _STRING),
    "tailrace_upper": ("Texts$Upper", _STRING),
    "tailrace_lower": ("Texts$Lower", _STRING),
    "tailrace_capitals": ("Texts$Capitals", _STRING),
    "tailrace_format": ("Texts$Format", _STRING),
    "tailrace_elements": ("Texts$Elements", _STRINGS),
    "tailrace_range_parts": ("Ranges", _STRINGS),
    "tailrace_decode": ("Texts$Decode", BinaryType()),
    "tailrace_encode": ("Texts$Encode", _STRING),
    "tailrace_convert": ("Texts$Convert", _STRING),
    "tailrace_normalized": ("Texts$Normalized", _STRING),
}
_TRY = "Attempt"
_BESIDE = "KeptPlan"  # no function; it uses what is Spark's own, and may be otherwise in another Spark

_lock = threading.Lock()
_loaders: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()  # by Spark context
_done: weakref.WeakSet[SparkSession] = weakref.WeakSet()


def install(spark: SparkSession) -> None:
    """Gives the session our functions.  The first time it compiles, later it costs nothing.  Runs no job."""
    with _lock:
        if spark in _done:
            return
        try:
            _install(spark)
        except (Py4JError, PySparkException, AttributeError) as error:  # the last: a session with its JVM elsewhere
            raise SqlError(
                f"this Spark session cannot be given Tailrace's functions: {error}",
                hint="Use a SparkSession of Spark 4.0 with a JVM of its own; one of Spark Connect has none.",
                sqlstate="55000",
            ) from error
        _done.add(spark)


def _install(spark: SparkSession) -> None:
    context = spark.sparkContext
    if context not in _loaders:
        _loaders[context] = _compiled(spark)
    jvm: Any = context._jvm
    for function, (class_name, returns) in _FUNCTIONS.items():
        instance = _loaders[context].loadClass(class_name).newInstance()
        java_type = jvm.org.apache.spark.sql.types.DataType.fromJson(returns.json())
        spark._jsparkSession.udf().register(function, instance, java_type)
    builder = _loaders[context].loadClass(_TRY).newInstance()
    functions = spark._jsparkSession.sessionState().functionRegistry()
    functions.createOrReplaceTempFunction("tailrace_try", builder, "built-in")


def instance(spark: SparkSession, class_name: str) -> Any:
    """A new object of one of our classes, which is no function; Py4JError if there is none."""
    loader = _loaders.get(spark.sparkContext)
    if loader is None:
        raise Py4JError(f"{class_name} has not been compiled")
    return loader.loadClass(class_name).newInstance()


def _compiled(spark: SparkSession) -> Any:
    """A Java class loader with our classes; their jar is on its way to the executors."""
    jvm: Any = spark.sparkContext._jvm
    loader = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
    # Ours goes even after a kill -9.
    scratch = Path(spark.sparkContext.getConf().get("spark.local.dir") or "/nowhere")
    folder = tempfile.mkdtemp(prefix="tailrace-functions-", dir=scratch if scratch.is_dir() else None)
    jvm.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(jvm.java.io.File(folder))
    jar = Path(folder, "tailrace-functions.jar")
    with zipfile.ZipFile(jar, "w") as archive:
        for name in (*_SOURCES, _TRY):
            compiler = _compile(jvm, name, loader)
            loader = compiler.getClassLoader()
            for compiled, code in compiler.getBytecodes().items():
                archive.writestr(f"{compiled}.class", bytes(code))
    spark.sql(f"ADD JAR '{jar}'")
    try:
        return _compile(jvm, _BESIDE, loader).getClassLoader()
    except Py4JError as error:
        log.warning("plans are not kept from tick to tick error=%s", error)
        return loader


def _compile(jvm: Any, name: str, parent: Any) -> Any:
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(parent)
    compiler.cook(Path(__file__).with_name(f"{name}.java").read_text())
    return compiler
