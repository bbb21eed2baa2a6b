"""Temporary views: the named leaves of the Spark SQL texts that Z-sets are made of.

An Arrow table becomes a view when Spark is first asked to plan a text that names it; a plan that is kept (kept.py)
takes the table as it is.  Views are Spark's *global* ones, because one text is planned by one of three sessions:
`small` plans for a handful of rows (one partition, no adaptive execution: each stage it saves is a job saved), `files`
for tasks that write whole columns to files, `large` for everything else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tailrace.ivm.kept import KeptPlans
from tailrace.ivm.planned import planned
from tailrace.ivm.tables import NAME, ArrowTable, new_name, struct
from tailrace.ivm.work import Work
from tailrace.spark import configure
from tailrace.types.core import Schema
from tailrace.types.spark import ddl

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

# What is kept must hold for any rows: none are part of the plan, and Spark does not know how many there are.  It will
# be one task: nothing is worth sending ahead, sharing between tasks, or thinning out before it is sent.
_TEMPLATE = {
    **_SMALL,
    "spark.sql.execution.arrow.localRelationThreshold": "0",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.exchange.reuse": "false",
    "spark.sql.optimizer.windowGroupLimitThreshold": "-1",
}

# Spark measures a batch for Python after every row, by which two thirds of the time on the way there are spent, unless
# batches have no limit in bytes.  Then they must have few rows: of a megabyte each they still fit Arrow's 2 GB.
_FILES = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
}


_MOST_ASKED = 200  # texts of clients


class TooMuch(Exception):
    """What was thought to be few rows is more than Spark brings to the driver: say, one row that joined millions.

    To be caught by whoever guessed, who then leaves the rows where they are.
    """


class Planner(SparkSession):
    """A session of ours, whose texts may name Arrow tables that Spark does not know yet."""

    def __init__(self, context: SparkContext, java: Any, views: Views) -> None:
        super().__init__(context, java)
        self._views = views

    def sql(self, sqlQuery: str, *args: Any, **kwargs: Any) -> DataFrame:
        self._views.make(sqlQuery)
        return super().sql(sqlQuery, *args, **kwargs)

    def kept(self, text: str, work: Work | None) -> pa.Table | None:
        """The rows of a text whose plan is kept.  Runs no job."""
        return self._views.kept(text, work)


def few(session: SparkSession, text: str, work: Work | None = None) -> pa.Table:
    """Rows that are thought to be few, on the driver; or TooMuch.

    Runs no Spark job if their plan is kept, or if they are part of it; else one.
    """
    found = session.kept(text, work) if isinstance(session, Planner) else None
    if found is not None:
        return found
    started = time.monotonic()
    rows = session.sql(text)
    rows._jdf.queryExecution().executedPlan()  # planned here, once; what follows only runs it
    if work is not None:
        work.planning += time.monotonic() - started
    found = planned(rows)
    if found is not None:
        return found
    if work is not None:
        work.jobs += 1
    return collected(rows)


def collected(rows: DataFrame) -> pa.Table:
    """As `few`, of rows that are not part of their plan.  Runs a Spark job."""
    try:
        return rows.toArrow()
    except (PySparkException, Py4JError) as error:
        if "spark.driver.maxResultSize" in str(error):
            raise TooMuch from None
        raise


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
    """Names for DataFrames and Arrow tables.  Runs no job."""

    def __init__(self, spark: SparkSession) -> None:
        self.large = Planner(spark.sparkContext, spark._jsparkSession, self)
        self.small, self.files = self._session(_SMALL), self._session(_FILES)
        template = self._session(_TEMPLATE)
        self._kept, self._asked = KeptPlans(template), KeptPlans(template, _MOST_ASKED)
        self._tables: dict[str, ArrowTable] = {}
        self._unknown: set[str] = set()  # of these Spark has no view yet
        self._local = _Local()
        self._lock = threading.Lock()
        self._making = threading.Lock()

    def _session(self, settings: Mapping[str, str]) -> Planner:
        java = self.large._jsparkSession.newSession()
        session = configure(Planner(self.large.sparkContext, java, self))
        for name, value in settings.items():
            session.conf.set(name, value)
        assert isinstance(session, Planner)
        return session

    def add(self, rows: DataFrame) -> str:
        name = new_name()
        rows.createOrReplaceGlobalTempView(name)
        return self._noted(name)

    def add_arrow(self, table: pa.Table, schema: str) -> str:
        """A small table, held by the driver, and read by one task.  `schema` is Spark DDL."""
        name = self._noted(new_name())
        self._tables[name] = ArrowTable(table.combine_chunks(), schema)
        self._unknown.add(name)
        return name

    def _noted(self, name: str) -> str:
        if self._local.scratch is not None:
            self._local.scratch.names.append(name)
        return f"global_temp.{name}"

    def make(self, text: str) -> None:
        """Spark is to know every table that the text names."""
        for name in self._unknown.intersection(NAME.findall(text)):
            with self._making:
                known = self._tables.get(name) if name in self._unknown else None
                if known is not None:
                    rows = self.small.createDataFrame(known.table, schema=struct(known.schema))
                    rows.createOrReplaceGlobalTempView(name.removeprefix("global_temp."))
                    self._unknown.discard(name)

    def kept(self, text: str, work: Work | None = None) -> pa.Table | None:
        """The rows of a text whose plan is kept.  Runs no job."""
        return self._kept.rows(text, self._tables, work)

    def asked(self, text: str) -> pa.Table | None:
        """As `kept`, of what people ask: whatever that is, the ticks' own plans stay."""
        return self._asked.rows(text, self._tables)

    def drop(self, name: str) -> None:
        bare = name.removeprefix("global_temp.")
        name = f"global_temp.{bare}"
        is_known = name not in self._unknown
        self._tables.pop(name, None)
        self._unknown.discard(name)
        if is_known:
            self.large.catalog.dropGlobalTempView(bare)

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

