"""Plans that are kept.

A steady stream asks the same of other rows, tick after tick, and most of what a small tick cost was Spark parsing,
analysing, optimizing and planning it anew.  So of a text that makes rows of rows one by one, the code that Spark has
generated is kept, and asked again with the rows of the Arrow tables that the text names: 2 ms instead of 50.

A text is kept the second time it is seen, so that one with something of its tick in it never is.  What it says of
tables is their place in it, and the types of their columns.
"""

from __future__ import annotations

import re
import threading
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

from tailrace.ivm.planned import empty_table, java_directory, set_active, tables_in
from tailrace.ivm.tables import NAME, ArrowTable, arrow_schema, struct
from tailrace.jvm.functions import instance

_MOST_BYTES = 4 << 20  # more is a task's work
_MOST_TEXTS = 2000
_UNION = "Union"
_PLACE = "\0{}\0"  # of a table in a text; no text has such characters of its own
# Which Spark replaces by what they are when it plans.
_MOMENTS = r"\b(current_\w+|curdate|now|today|tomorrow|yesterday|localtimestamp|unix_timestamp)\b"
_OF_ITS_TIME = re.compile(_MOMENTS, re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """One of several whose rows are the answer: `code` (KeptPlan.java), asked of the table of that place."""

    code: Any
    place: int


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """`empty`: what it is when no part has a row."""

    parts: tuple[_Part, ...]
    empty: pa.Table | None = None


_NOT_KEPT = _Plan(parts=())


class KeptPlans:
    """`session` plans texts over tables of which nothing is known but their columns."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, _Plan | None] = OrderedDict()  # None: seen once
        self._directory = java_directory(session)

    def rows(self, text: str, tables: Mapping[str, ArrowTable]) -> pa.Table | None:
        """The rows of the text, if what makes them is kept.  Runs no job."""
        names = list(dict.fromkeys(NAME.findall(text)))
        given = [held for held in map(tables.get, names) if held is not None]
        if not names or len(given) < len(names) or any(each.table.nbytes > _MOST_BYTES for each in given):
            return None
        text = NAME.sub(lambda found: _PLACE.format(names.index(found[0])), text)
        plan = self._plan(text, [each.schema for each in given])
        return self._asked(plan, given) if plan.parts else None

    def _plan(self, text: str, schemas: Sequence[str]) -> _Plan:
        key = sha256("\0".join([text, *schemas]).encode()).digest()
        with self._lock:
            is_new, found = key not in self._known, self._known.get(key)
            self._known[key] = found
            self._known.move_to_end(key)
            if len(self._known) > _MOST_TEXTS:
                self._known.popitem(last=False)
        if is_new:
            return _NOT_KEPT
        if found is None:
            found = self._known[key] = self._kept(text, schemas)
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
            execution = self._session.sql(text)._jdf.queryExecution()
            if not execution.analyzed().deterministic():
                return _NOT_KEPT
            return self._plan_of(execution.executedPlan(), sources)
        except (PySparkException, Py4JError):  # which the text itself will tell
            return _NOT_KEPT
        finally:
            for name in names:
                self._session.catalog.dropGlobalTempView(name)

    def _plan_of(self, plan: Any, sources: Sequence[int]) -> _Plan:
        children = plan.children() if plan.nodeName() == _UNION else None
        plans = [plan] if children is None else [children.apply(i) for i in range(children.size())]
        schema = plan.schema()
        parts = []
        for each in plans:
            code = instance(self._session, "KeptPlan")
            source = code.keep(each, schema)
            if source not in sources:
                return _NOT_KEPT
            parts.append(_Part(code=code, place=sources.index(source)))
        return _Plan(parts=tuple(parts), empty=empty_table(self._session, schema))

    def _asked(self, plan: _Plan, given: Sequence[ArrowTable]) -> pa.Table:
        set_active(self._session)
        with ExitStack() as files:
            sent: dict[int, str] = {}
            for place in {part.place for part in plan.parts}:
                file = files.enter_context(NamedTemporaryFile(prefix="kept-", dir=self._directory))
                table = given[place].for_spark
                with pa.ipc.new_stream(file, table.schema) as stream:
                    stream.write_table(table)
                file.flush()
                sent[place] = file.name
            answer = files.enter_context(NamedTemporaryFile(prefix="kept-", dir=self._directory))
            for part in plan.parts:
                part.code.run(sent[part.place], answer.name)
            tables = list(tables_in(answer.read()))
        return pa.concat_tables(tables) if tables else plan.empty
