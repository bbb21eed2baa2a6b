"""Functions of our own in a Spark session, for what Spark's SQL cannot say cheaply.

They are Java, because setting up Spark's JSON parser for a message costs more than reading the message:
measured on messages of 110 bytes, `tailrace_is_json` takes 0.15 µs where `from_json` takes 2.5 µs.  Their
source is beside this file; the compiler that Spark itself carries compiles it once for each Spark context,
and `ADD JAR` takes it to the executors.  Where that is not possible, the same functions are defined in SQL,
and only slower.

| function | gives |
|---|---|
| `tailrace_is_json(binary)` | whether the bytes are one JSON document in UTF-8 and nothing else |
| `tailrace_json_fields(binary, names)` | texts of top-level fields, an array; names (binary) are separated by NUL |
| `tailrace_json_same(binary)` | one text for all spellings of a document |
| `tailrace_json_string(binary)` | a text, given as its bytes, as a JSON string with its quotes |
| `tailrace_try(expression)` | its value, or NULL if computing it fails; in SQL only its value |
| `tailrace_decimal_text(binary, scale)` | the decimal whose value at that scale these bytes are, as text |
| `tailrace_decimal_bytes(decimal, scale, size)` | the value at that scale as one integer of so many bytes, big-endian |
| `tailrace_jsonb…` | operators of jsonb as a tree (JsonTree.java), and path expressions (JsonPath.java) |
| `tailrace_regex…` | PostgreSQL's regular expressions (Regex.java) |
| `tailrace_moment`, `…_clock`, `…_span`, `…_zone`, `…_age` | dates, times and intervals (Times.java) |
| `tailrace_time_text`, `…_number_text`, … | `to_char` and the like (TimeTemplates.java, NumberTemplates.java) |
| `tailrace_float_text` | a float in its fewest digits (Floats.java) |
| `tailrace_range_parts` | the brackets and bounds of a range's text (Ranges.java) |
| others | texts and bytes (Texts.java) |

Of the last seven groups SQL has only what a cast needs: without Java, the others are not there.
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

# Spark's JSON functions stop reading after the first value.  So the text is put into an array before a mark
# of our own: the mark is the second element if, and only if, the text is exactly one value.  To forge that, a
# message would have to contain the mark.
_MARK = "5e1c9d6fb7a24f0c8d3e"
_STRICTLY = "map('allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false')"
_ELEMENTS = f"""from_json(concat('[', CAST(data AS STRING), ',"{_MARK}"]'), 'array<string>', {_STRICTLY})"""
_FIELDS = "from_json(CAST(data AS STRING), 'map<string,string>')"
_ESCAPED = (
    r"""transform(split(CAST(data AS STRING), ''), c -> CASE WHEN c >= ' ' THEN"""
    r""" replace(replace(c, '\\', '\\\\'), '"', '\\"') WHEN c = '' THEN ''"""
    r""" WHEN c = '\n' THEN '\\n' WHEN c = '\r' THEN '\\r' WHEN c = '\t' THEN '\\t'"""
    r""" WHEN c = '\b' THEN '\\b' WHEN c = '\u000c' THEN '\\f'"""
    r""" ELSE concat('\\u00', lower(lpad(hex(ascii(c)), 2, '0'))) END)"""
)
_EXACT = "NOT CAST(data AS STRING) RLIKE '[0-9][0-9.]{37}|[0-9][eE][-+0-9]'"  # a variant keeps all its digits


def _long_sum(number: str, factor: int, carry: str) -> str:
    """number · factor + carry, where a number is an array of its bytes, the lowest first."""
    step = f"b * {factor} + s.carry"
    grown = f"named_struct('carry', ({step}) div 256, 'done', array_append(s.done, CAST(({step}) % 256 AS BIGINT)))"
    start = f"named_struct('carry', CAST({carry} AS BIGINT), 'done', CAST(array() AS ARRAY<BIGINT>))"
    return f"aggregate({number}, {start}, (s, b) -> {grown}, s -> s.done)"


_DIGITS = (
    "split(concat(replace(ltrim('-', value), '.', ''),"
    " repeat('0', scale - length(split_part(value, '.', 2)))), '')"
)
_MAGNITUDE = f"aggregate({_DIGITS}, array_repeat(0L, size), (number, d) -> {_long_sum('number', 10, 'd')})"
_COMPLEMENT = _long_sum(f"transform({_MAGNITUDE}, b -> 255L - b)", 1, "1")
_SIGNED = f"CASE WHEN startswith(value, '-') THEN {_COMPLEMENT} ELSE {_MAGNITUDE} END"
_NEGATIVE = "startswith(hex(data), '8') OR hex(data) RLIKE '^[9A-F]'"
_BYTE = "CAST(conv(substring(hex(data), 2 * i - 1, 2), 16, 10) AS DECIMAL(38,0))"
_UNSCALED = (
    "aggregate(transform(sequence(1, octet_length(data)), i ->"
    f" CASE WHEN {_NEGATIVE} THEN 255 - {_BYTE} ELSE {_BYTE} END),"
    " CAST(0 AS DECIMAL(38,0)), (n, b) -> CAST(try_add(try_multiply(n, 256), b) AS DECIMAL(38,0)),"
    f" n -> CASE WHEN {_NEGATIVE} THEN -1 - n ELSE n END)"
)
_IN_SQL = (
    "tailrace_is_json(data BINARY) RETURNS BOOLEAN RETURN is_valid_utf8(CAST(data AS STRING))"
    f" AND get({_ELEMENTS}, 1) <=> '{_MARK}'",
    "tailrace_json_fields(data BINARY, names BINARY) RETURNS ARRAY<STRING> RETURN CASE WHEN"
    f" tailrace_is_json(data) AND {_FIELDS} IS NOT NULL THEN"
    f" transform(split(CAST(names AS STRING), char(0)), name -> try_element_at({_FIELDS}, name)) END",
    f"""tailrace_json_string(data BINARY) RETURNS STRING RETURN concat('"', array_join({_ESCAPED}, ''), '"')""",
    "tailrace_json_same(data BINARY) RETURNS STRING RETURN coalesce("
    f"CASE WHEN {_EXACT} THEN to_json(try_parse_json(CAST(data AS STRING))) END, CAST(data AS STRING))",
    *(f"tailrace_{name}(data STRING) RETURNS STRING RETURN {name}(data)" for name in ("upper", "lower")),
    "tailrace_try(value DECIMAL(38,0)) RETURNS DECIMAL(38,0) RETURN value",
    "tailrace_decimal_text(data BINARY, scale INT) RETURNS STRING RETURN CASE WHEN octet_length(data) = 0 THEN '0'"
    f" ELSE concat(CAST({_UNSCALED} AS STRING), 'E-', scale) END",
    "tailrace_decimal_bytes(value STRING, scale INT, size INT) RETURNS BINARY RETURN"
    f" unhex(array_join(transform(reverse({_SIGNED}), b -> lpad(hex(b), 2, '0')), ''))",
    "tailrace_float_text(data DOUBLE, real BOOLEAN) RETURNS STRING RETURN"
    " regexp_replace(CASE WHEN real THEN CAST(CAST(data AS float) AS STRING) ELSE CAST(data AS STRING) END,"
    " '[.]0$', '')",
    "tailrace_jsonb(data STRING) RETURNS STRING RETURN to_json(parse_json(data))",
    "tailrace_moment(data STRING, type STRING) RETURNS BIGINT RETURN unix_micros(CAST(data AS TIMESTAMP))",
    "tailrace_clock(data STRING) RETURNS BIGINT RETURN"
    " unix_micros(CAST(concat('1970-01-01 ', trim(data)) AS TIMESTAMP))",
    "tailrace_regex_matches(data STRING, pattern STRING, flags STRING) RETURNS BOOLEAN RETURN"
    " data RLIKE concat(CASE WHEN flags = '' THEN '' ELSE concat('(?', flags, ')') END, pattern)",
)

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


def install_sql(spark: SparkSession) -> None:
    """The same functions in SQL.  They round fractions to a double's digits, take the first of equal names, and tell
    1 and 1.0 apart."""
    for definition in _IN_SQL:
        spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {definition.partition('(')[0]}")
        spark.sql(f"CREATE OR REPLACE TEMPORARY FUNCTION {definition}")


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
