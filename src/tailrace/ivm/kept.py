"""Plans that are kept.

A steady stream asks the same of other rows, tick after tick, and most of what a small tick cost was Spark parsing,
analysing, optimizing and planning it anew, and then taking it to a task and back.  So a plan is kept as one task, with
the code that Spark has generated for it, and run in the calling thread with the rows of the Arrow tables that the text
names: some milliseconds instead of 50 to 300.

A text is kept the second time it is seen, so that one with something of its tick in it never is.  What it says of
tables is their place in it, and the types of their columns.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from tempfile import NamedTemporaryFile
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tailrace.ivm.planned import empty_table, java_directory, tables_in
from tailrace.ivm.tables import NAME, ArrowTable, arrow_schema, new_name, struct
from tailrace.ivm.work import Work
from tailrace.jvm.functions import instance

_MOST_BYTES = 4 << 20  # more is a task's work
_MOST_MADE = 32 << 20
MOST_TEXTS = 2000
_LEFT_TO_JOBS = 100
# As Trace.between writes them, with nothing beside: a WHERE behind it, or an EXCEPT before it, is of one of them alone.
_RUN = rf"([\w, ]+) FROM {NAME.pattern}"
_RUNS = re.compile(rf"(?:^|(?<=\())SELECT (?!DISTINCT\b){_RUN}(?: UNION ALL SELECT \1 FROM {NAME.pattern})+(?=\)|$)")
_PLACE = "\0{}\0"  # of a table in a text; no text has such characters of its own
# Which Spark replaces by what they are when it plans.
_MOMENTS = r"\b(current_\w+|curdate|now|today|tomorrow|yesterday|localtimestamp|unix_timestamp)\b"
_OF_ITS_TIME = re.compile(_MOMENTS, re.IGNORECASE)


@dataclass(kw_only=True, slots=True)
class _Plan:
    """`code` (KeptPlan.java), asked of the tables in the order of their places; `empty`: what it is without a row.

    `too_much`: so many bytes of tables have made more than the driver should hold; the next `left` times that there are
    as many, they are left to a job without being tried.
    """

    code: Any
    empty: pa.Table | None = None
    too_much: int = 0
    left: int = 0


_NOT_KEPT = _Plan(code=None)


class KeptPlans:
    """`session` plans texts over tables of which nothing is known but their columns.  Of `most` texts it knows."""

    def __init__(self, session: SparkSession, most: int = MOST_TEXTS) -> None:
        self._session = session
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, _Plan | None] = OrderedDict()  # None: seen once
        self._directory = java_directory(session)

    def rows(self, text: str, tables: Mapping[str, ArrowTable], work: Work | None = None) -> pa.Table | None:
        """The rows of the text, if what makes them is kept.  Runs no job; planning it, once, is part of `work`."""
        text, merged = _as_one(text, tables)
        names = list(dict.fromkeys(NAME.findall(text)))
        given = [held for name in names if (held := merged.get(name) or tables.get(name)) is not None]
        if not names or len(given) < len(names) or any(each.table.nbytes > _MOST_BYTES for each in given):
            return None
        text = NAME.sub(lambda found: _PLACE.format(names.index(found[0])), text)
        plan = self._plan(text, [each.schema for each in given], work)
        if plan.code is None:
            return None
        size = sum(each.table.nbytes for each in given)
        if plan.left and size >= plan.too_much:
            plan.left -= 1
            return None
        found = self._asked(plan, given)
        if found is None:
            plan.too_much, plan.left = size, _LEFT_TO_JOBS
        return found

    def _plan(self, text: str, schemas: Sequence[str], work: Work | None) -> _Plan:
        key = sha256("\0".join([text, *schemas]).encode()).digest()
        with self._lock:
            is_new, found = key not in self._known, self._known.get(key)
            self._known[key] = found
            self._known.move_to_end(key)
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        if is_new:
            return _NOT_KEPT
        if found is None:
            started = time.monotonic()
            found = self._known[key] = self._kept(text, schemas)
            if work is not None:
                work.planning += time.monotonic() - started
        return found

    def _kept(self, text: str, schemas: Sequence[str]) -> _Plan:
        if _OF_ITS_TIME.search(text):
            return _NOT_KEPT
        names, sources = [], []
        try:
            for place, schema in enumerate(schemas):
                columns = arrow_schema(schema)
                row = pa.Table.from_arrays([pa.nulls(1, field.type) for field in columns], schema=columns)
                frame = self._session.createDataFrame(row, schema=struct(schema))
                names.append(f"kept_{threading.get_ident()}_{place}")
                frame.createOrReplaceGlobalTempView(names[-1])
                sources.append(frame._jdf.queryExecution().analyzed().rdd().id())
                text = text.replace(_PLACE.format(place), f"global_temp.{names[-1]}")
            return self._plan_of(self._session.sql(text)._jdf.queryExecution().executedPlan(), sources)
        except (PySparkException, Py4JError):  # which the text itself will tell
            return _NOT_KEPT
        finally:
            for name in names:
                self._session.catalog.dropGlobalTempView(name)

    def _plan_of(self, plan: Any, sources: list[int]) -> _Plan:
        code = instance(self._session, "KeptPlan")
        if not code.keep(plan, sources):
            return _NOT_KEPT
        return _Plan(code=code, empty=empty_table(self._session, plan.schema()))

    def _asked(self, plan: _Plan, given: Sequence[ArrowTable]) -> pa.Table | None:
        """None if there is more of it than the driver should hold."""
        with ExitStack() as files:
            sent: list[str] = []
            for each in given:
                file = files.enter_context(NamedTemporaryFile(prefix="kept-", dir=self._directory))
                table = each.for_spark
                with pa.ipc.new_stream(file, table.schema) as stream:
                    stream.write_table(table)
                file.flush()
                sent.append(file.name)
            answer = files.enter_context(NamedTemporaryFile(prefix="kept-", dir=self._directory))
            if not plan.code.run(sent, answer.name, _MOST_MADE):
                return None
            tables = list(tables_in(answer.read()))
        return pa.concat_tables(tables) if tables else plan.empty


def _as_one(text: str, tables: Mapping[str, ArrowTable]) -> tuple[str, dict[str, ArrowTable]]:
    """The text with the runs of a trace as one table, and those tables: however many runs there are by now, the text is
    the same."""
    merged: dict[str, ArrowTable] = {}
    texts: dict[str, str] = {}  # of the same runs, the same

    def merge(runs: re.Match[str]) -> str:
        if runs[0] in texts:
            return texts[runs[0]]
        held = [tables.get(name) for name in NAME.findall(runs[0])]
        known = [each for each in held if each is not None]
        if len(known) < len(held) or len({each.schema for each in known}) > 1:
            return runs[0]
        name = f"global_temp.{new_name()}"
        merged[name] = ArrowTable(pa.concat_tables(each.table for each in known), known[0].schema)
        return texts.setdefault(runs[0], f"SELECT {runs[1]} FROM {name}")

    return _RUNS.sub(merge, text), merged
