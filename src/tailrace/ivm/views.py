"""Temporary views: the named leaves of the Spark SQL texts that Z-sets are made of.

They are Spark's *global* temporary views, because one text is planned by one of three sessions: `small` plans for
a handful of rows (one partition, no adaptive execution: each stage it saves is a job saved), `files` for tasks that
write whole columns to files, `large` for everything else.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from tailrace.ivm.planned import planned
from tailrace.spark import configure
from tailrace.types.core import Schema
from tailrace.types.spark import ddl

_numbers = itertools.count(1)
T = TypeVar("T")

# Rows that are part of a plan are planned one by one, and go to their task, if they need one (planned.py), as so many
# Java objects: of 20,000 that was more than half of a job's time.  So larger tables go to a task as the Arrow they are,
# and to one task, as one batch.  Spark does not know how large they are, and takes them to be of the last setting's
# size: small enough to be sent to every task of a join.
_SMALL = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.execution.arrow.localRelationThreshold": "256KB",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000000",
    "spark.sql.defaultSizeInBytes": "1MB",
}

# Spark measures a batch for Python after every row, by which two thirds of the time on the way there are spent, unless
# batches have no limit in bytes.  Then they must have few rows: of a megabyte each they still fit Arrow's 2 GB.
_FILES = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
}


class TooMuch(Exception):
    """What was thought to be few rows is more than Spark brings to the driver: say, one row that joined millions.

    To be caught by whoever guessed, who then leaves the rows where they are.
    """


def few(rows: DataFrame) -> pa.Table:
    """Rows that are thought to be few, on the driver; or TooMuch.  Runs a Spark job, unless they are there already."""
    here = planned(rows)
    return collected(rows) if here is None else here


def collected(rows: DataFrame) -> pa.Table:
    """As `few`, of rows that are not part of their plan.  Runs a Spark job."""
    try:
        return rows.toArrow()
    except (PySparkException, Py4JError) as error:
        if "spark.driver.maxResultSize" in str(error):
            raise TooMuch from None
        raise


@lru_cache(maxsize=1000)
def _struct(schema: str) -> StructType:
    parsed = StructType.fromDDL(schema)  # asks the JVM
    assert isinstance(parsed, StructType)
    return parsed


def arrow_schema(schema: str) -> pa.Schema:
    """The Arrow schema of Spark DDL, every field nullable."""
    return to_arrow_schema(_struct(schema))


def keep_in(views: Views) -> Callable[[str, Schema], str | None]:
    """For plan/recursion.py: the rows of each step are taken to the driver, and stay until the scratch ends."""

    def keep(text: str, schema: Schema) -> str | None:
        rows = views.small.sql(text).toArrow()
        columns = ", ".join(f"c{i}" for i in range(len(schema)))
        return f"SELECT {columns} FROM {views.add_arrow(rows, ddl(schema))}" if rows.num_rows else None

    return keep


@dataclass(slots=True, eq=False)
class _Scratch:
    """`users`: who may still plan texts over its views."""

    names: list[str] = field(default_factory=list)
    memory: dict[Hashable, Any] = field(default_factory=dict)
    users: int = 1


class _Local(threading.local):
    scratch: _Scratch | None = None


class Views:
    """Names for DataFrames and Arrow tables.  Runs no job.

    Names are never used twice in a process, so a text that still mentions an old one fails instead of reading
    something else.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.large = spark
        self.small, self.files = _session(spark, _SMALL), _session(spark, _FILES)
        self._local = _Local()
        self._lock = threading.Lock()

    def add(self, rows: DataFrame) -> str:
        name = f"tr_{next(_numbers)}"
        rows.createOrReplaceGlobalTempView(name)
        if self._local.scratch is not None:
            self._local.scratch.names.append(name)
        return f"global_temp.{name}"

    def add_arrow(self, table: pa.Table, schema: str) -> str:
        """A small table, held by the driver, and read by one task.  `schema` is Spark DDL."""
        return self.add(self.small.createDataFrame(table.combine_chunks(), schema=_struct(schema)))

    def drop(self, name: str) -> None:
        self.large.catalog.dropGlobalTempView(name.removeprefix("global_temp."))

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """Views added inside are dropped at the end, or when the last one who keeps them lets go."""
        outer, mine = self._local.scratch, _Scratch()
        self._local.scratch = mine
        try:
            yield
        finally:
            self._local.scratch = outer
            self._let_go(mine)

    def keep_scratch(self) -> Callable[[], None]:
        """The views of this thread's scratch stay until what is returned is called, by whatever thread."""
        kept = self._local.scratch
        if kept is None:
            return lambda: None
        with self._lock:
            kept.users += 1
        return lambda: self._let_go(kept)

    def _let_go(self, scratch: _Scratch) -> None:
        with self._lock:
            scratch.users -= 1
            is_last = scratch.users == 0
        for name in scratch.names if is_last else ():
            self.drop(name)

    @property
    def in_scratch(self) -> bool:
        """Views that this thread adds will be dropped at the end."""
        return self._local.scratch is not None

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made once in a scratch: for texts over views that go with it."""
        if self._local.scratch is None:
            return make()
        memory = self._local.scratch.memory
        if key not in memory:
            memory[key] = make()
        found: T = memory[key]
        return found

    @contextmanager
    def lasting(self) -> Iterator[None]:
        """Views added inside outlive the scratch they are made in."""
        outer, self._local.scratch = self._local.scratch, None
        try:
            yield
        finally:
            self._local.scratch = outer


def _session(spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    session = configure(spark.newSession())
    for name, value in settings.items():
        session.conf.set(name, value)
    return session
