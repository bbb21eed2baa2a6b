"""Rows that need no job.

What is made of a small table row by row is computed by Spark's optimizer, and its plan is those rows.  Where a JSON
document is parsed once for many looks (plan/spark_json.py) the plan is left to be run, but still makes rows of rows,
one by one.  To collect either would be a job, most of which is Spark's way to a task and back; here Spark computes
them in this thread, and they are taken as the Arrow that a job would have brought.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from tempfile import NamedTemporaryFile
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

_ROWS = "LocalTableScan"
_ALL_OF = "Union"
_ROW_BY_ROW = ("Project", "Filter", "WholeStageCodegen")
_GENERATES = "Generate"
_ONE_ROW = "explode(array(tailrace_json_fields("  # of one
_MOST_PARTS = 8
_MOST_STEPS = 12
_TIME_ZONE = "UTC"  # as spark.py says
_NO_LIMIT = 0


def planned(rows: DataFrame) -> pa.Table | None:
    """The rows, if each is made of one that is part of the plan; None if there is more to run.  Runs no job."""
    plan = rows._jdf.queryExecution().executedPlan()
    parts = _parts(plan)
    if parts is None:
        return None
    java, schema = _java(rows.sparkSession._jvm), plan.schema()
    java.sessions.setActiveSession(rows.sparkSession._jsparkSession)  # whose settings some expressions look up
    with NamedTemporaryFile(prefix="planned-", dir=java.directory) as file:
        with closing(java.data_stream(java.file_stream(file.name))) as out:
            for iterator in (each for part in parts for each in _iterators(java, part)):
                batches = java.converters.toBatchWithSchemaIterator(
                    iterator, schema, _NO_LIMIT, _NO_LIMIT, _TIME_ZONE, False, False
                )
                with closing(batches):  # which gives Arrow's memory back, also after a row that cannot be computed
                    java.writer.writeIteratorToStream(batches, out)
        tables = list(tables_in(file.read()))
    if not tables:
        tables = [empty_table(rows.sparkSession, schema)]
    return pa.concat_tables(tables)


def _parts(plan: Any) -> list[Any] | None:
    """The plans that make rows of rows, of which this one is the sum."""
    if plan.nodeName() != _ALL_OF:
        return [plan] if _is_row_by_row(plan) else None
    children = plan.children()
    count = children.size()
    if count > _MOST_PARTS:
        return None
    parts = [children.apply(i) for i in range(count)]
    return parts if all(map(_is_row_by_row, parts)) else None


def _is_row_by_row(plan: Any) -> bool:
    for _ in range(_MOST_STEPS):
        name = plan.nodeName()
        if name == _ROWS:
            return True
        if not plan.subqueries().isEmpty():  # each would be a job, before the first row
            return False
        if name == _GENERATES:
            if not plan.generator().toString().startswith(_ONE_ROW):
                return False
        elif not name.startswith(_ROW_BY_ROW):
            return False
        plan = plan.child()
    return False


def _iterators(java: _Java, part: Any) -> Iterator[Any]:
    """Scala iterators of the rows of a plan."""
    rows = part.execute()
    for partition in rows.partitions():
        yield rows.iterator(partition, java.contexts.empty())


@dataclass(frozen=True, kw_only=True, slots=True)
class _Java:
    """What is asked of the JVM, looked up once.

    Bytes come through a file: an answer of more than 8 kB comes over the gateway's socket in two parts, the second of
    which waits 40 ms for the first to be acknowledged.
    """

    sessions: Any
    contexts: Any
    converters: Any
    writer: Any
    file_stream: Any
    data_stream: Any
    directory: str  # Java's own, which goes with it


@lru_cache(maxsize=1)
def _java(jvm: Any) -> _Java:
    return _Java(
        sessions=SparkSession._get_j_spark_session_class(jvm),
        contexts=getattr(getattr(jvm, "org.apache.spark.TaskContext$"), "MODULE$"),
        converters=getattr(getattr(jvm, "org.apache.spark.sql.execution.arrow.ArrowConverters$"), "MODULE$"),
        writer=getattr(getattr(jvm, "org.apache.spark.api.python.PythonRDD$"), "MODULE$"),
        file_stream=getattr(jvm, "java.io.FileOutputStream"),
        data_stream=getattr(jvm, "java.io.DataOutputStream"),
        directory=jvm.java.lang.System.getProperty("java.io.tmpdir"),
    )


def empty_table(session: SparkSession, schema: Any) -> pa.Table:
    """No row of such a Java schema."""
    return _table(_java(session._jvm).converters.createEmptyArrowBatch(schema, _TIME_ZONE, False, False))


def java_directory(session: SparkSession) -> str:
    """Where Java's files are, which go with it."""
    return _java(session._jvm).directory


def tables_in(written: bytes) -> Iterator[pa.Table]:
    """Each one behind its length."""
    place = 0
    while place < len(written):
        begin = place + 4
        place = begin + int.from_bytes(written[place:begin], "big")
        yield _table(written[begin:place])


def _table(stream: bytes) -> pa.Table:
    return pa.ipc.open_stream(stream).read_all()
