"""Where traces live: makes runs out of queries, keeps them in the data directory, gives their space back.

The only place where the change of a tick becomes rows.  A query expected to be small is collected as Arrow, which is
one Spark job and stays on the driver; a large one is written as Parquet by the executors.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.ivm.planned import planned
from tailrace.ivm.tables import arrow_schema
from tailrace.ivm.views import TooMuch, Views, few
from tailrace.ivm.work import Work
from tailrace.state.consolidate import can_consolidate, consolidate
from tailrace.state.layout import Layout
from tailrace.state.lookup import Lookups
from tailrace.state.matching import Matching
from tailrace.state.run import COMPRESSION, Run, ViewName, count_rows, remove, write_table
from tailrace.state.trace import Trace
from tailrace.testing.crash import crash_point
from tailrace.types.core import BEGINNING, Tick

SMALL_ROWS = 20_000
"""Up to here a change stays on the driver."""
_MOST_HERE = 5  # times as much, if it is there already


class _Apart(threading.local):
    work: Work | None = None
    paths: set[str] | None = None


@dataclass(kw_only=True, slots=True)
class Store:
    """All traces of one engine under `directory`."""

    views: Views
    directory: Path
    small_rows: int = SMALL_ROWS
    traces: dict[str, Trace] = field(default_factory=dict)
    owner: str = ""  # of the traces that are being opened
    total: Work = field(default_factory=Work)  # of ticks
    upkeep: Work = field(default_factory=Work)  # beside them
    merging: bool = False  # files that no trace names yet are being written
    _retired: list[Run] = field(default_factory=list)
    _readers: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _apart: _Apart = field(default_factory=_Apart)
    _unnamed: list[set[str]] = field(default_factory=list)
    lookups: Lookups = field(init=False)

    def __post_init__(self) -> None:
        self.lookups = Lookups(self.directory / "lookup")

    def trace(self, id: str, layout: Layout) -> Trace:
        """The trace of this id, new or as the last checkpoint left it.  Each owner has traces of its own."""
        id = f"{id}-{self.owner}" if self.owner else id
        trace = self.traces.setdefault(id, Trace(id=id, layout=layout))
        trace.owner = self.owner
        return trace

    @contextmanager
    def owned_by(self, owner: str) -> Iterator[None]:
        """Traces that are opened inside are this owner's.  For the tick loop's thread."""
        outer, self.owner = self.owner, owner
        try:
            yield
        finally:
            self.owner = outer

    @property
    def work(self) -> Work:
        """Of ticks; in a thread that works apart, its own part of it."""
        return self._apart.work or self.total

    @contextmanager
    def apart(self) -> Iterator[None]:
        """For a thread beside the tick loop's: what it does inside is counted apart, and files that it has written are
        not taken for somebody's leavings before their trace names them."""
        work, paths = Work(), set[str]()
        with self._lock:
            self._unnamed.append(paths)
        self._apart.work, self._apart.paths = work, paths
        try:
            yield
        finally:
            self._apart.work = self._apart.paths = None
            with self._lock:
                self._unnamed = [other for other in self._unnamed if other is not paths]
                self.total.jobs += work.jobs
                self.total.rows += work.rows
                self.total.planning += work.planning

    def unnamed(self) -> set[str]:
        """Files that threads apart have written or write now."""
        with self._lock:
            return {name for paths in self._unnamed for name in tuple(paths)}

    def drop(self, id: str) -> None:
        trace = self.traces.pop(id, None)
        if trace is not None:
            self.retire(trace.runs)

    def materialize(
        self,
        sql: str,
        layout: Layout,
        lo: Tick,
        hi: Tick,
        rows: int,
        *,
        consolidated: bool = True,
        positive: bool = False,
    ) -> Run | None:
        """Runs one Spark job, or none if planning does it; a second one if the guess `rows` was far too low for the
        driver.  The result as a run, or None if there is no row.

        Rows that are not `consolidated` yet will be: few of them here, which saves Spark a shuffle.  `positive`: no
        row takes another one away.
        """
        small = rows <= self.small_rows
        here = not consolidated and small and can_consolidate(layout)
        if not consolidated and not here:
            sql = layout.consolidated(sql)
        if small:
            try:
                run = self._small(sql, layout, lo, hi, consolidated=not here)
            except TooMuch:
                sql = layout.consolidated(sql) if here else sql
                self.work.jobs += 1
                run = self._large(sql, layout, lo, hi, self.work)
        else:
            self.work.jobs += 1
            run = self._large(sql, layout, lo, hi, self.work)
        return None if run is None else replace(run, is_settled=not consolidated, positive=positive)

    def few(self, sql: str) -> pa.Table:
        """Rows thought to be few, on the driver; or TooMuch.  Runs a Spark job, or none if planning does it."""
        return few(self.views.small, sql, self.work)

    def attempt(self, sql: str, rows: int) -> None:
        """Computes every column of every row and keeps nothing.  Raises what one of them raises.  Runs a Spark job, or
        none if planning does it."""
        is_small = rows <= self.small_rows
        if is_small and self.views.kept(sql, self.work) is not None:
            return
        computed = (self.views.small if is_small else self.views.large).sql(sql)
        if is_small and planned(computed) is not None:
            return
        self.work.jobs += 1
        computed.write.format("noop").mode("overwrite").save()

    def merged(self, sql: str, layout: Layout, lo: Tick, hi: Tick) -> Run | None:
        """Runs one Spark job, in a thread beside the ticks: it is no part of what they cost."""
        self.upkeep.jobs += 1
        return self._large(sql, layout, lo, hi, self.upkeep)

    def run_of(self, table: pa.Table, layout: Layout, lo: Tick, hi: Tick) -> Run | None:
        """A run of rows that are on the driver already.  No job."""
        if table.num_rows == 0:
            return None
        table = table.cast(arrow_schema(layout.ddl))  # Spark says what cannot be NULL; runs must be alike to be merged
        name = ViewName(lambda: self._add_lasting(lambda: self.views.add_arrow(table, layout.ddl)))
        return Run(lo=lo, hi=hi, rows=table.num_rows, name=name, table=table)

    def settled_run(self, table: pa.Table, layout: Layout, lo: Tick, hi: Tick) -> Run | None:
        """A run of rows that are on the driver and may cancel each other.  Many of them do not stay there: Spark would
        copy them into its heap whenever it reads them.  No job."""
        settles = can_consolidate(layout)
        run = self.run_of(consolidate(table, layout) if settles else table, layout, lo, hi)
        if run is None:
            return None
        run = replace(run, is_settled=settles)
        return run if run.rows <= _MOST_HERE * self.small_rows else self.spill(run, layout)

    def _add_lasting(self, add: Callable[[], str]) -> str:
        with self.views.lasting():
            return add()

    def matching(self, trace: Trace, t: Tick, touched: Sequence[Run]) -> Matching:
        """The content of `trace` at `t` under the hashes of the runs `touched`.  No job."""
        key = ("matching", trace.id, t, tuple(run.id for run in touched))
        return self.views.remember(key, lambda: Matching.find(self.views, self.lookups, trace, t, touched))

    def due(self, trace: Trace, lo: Tick, hi: Tick) -> list[Matching]:
        """What a trace by time says of (lo, hi]: that of older ticks which is due only now; then that of these ticks
        which is due already.  No job."""

        def find(runs: list[Run], after: Tick) -> Matching:
            key = ("due", trace.id, tuple(run.id for run in runs), after, hi)
            return self.views.remember(
                key, lambda: Matching.between(self.views, self.lookups, trace, runs, after, hi)
            )

        return [
            find(trace.runs_between(BEGINNING, lo), lo),
            find(trace.runs_between(lo, hi), Tick(BEGINNING - 1)),
        ]

    def within(self, trace: Trace, t: Tick, after: int, until: int) -> Matching:
        """The rows at `t` of a trace whose key is a time, with after < time ≤ until.  No job."""
        runs = trace.runs_between(BEGINNING, t)
        return Matching.between(self.views, self.lookups, trace, runs, Tick(after), Tick(until))

    def first_due(self, trace: Trace, t: Tick) -> Tick | None:
        """The first time after `t` that a trace by time knows of.  A run without an index may have one at once."""
        schema = arrow_schema(trace.layout.ddl)
        found: list[int] = []
        for run in trace.runs:
            index = self.lookups.of(run, schema)
            first = t + 1 if index is None else index.first_after(t)
            found += [] if first is None else [first]
        return Tick(min(found)) if found else None

    @contextmanager
    def staged(self, sql: str, layout: Layout, rows: int) -> Iterator[Run | None]:
        """Runs a Spark job, or none: for a while, rows that a text needs more than once and that cost much."""
        run = self.materialize(sql, layout, BEGINNING, BEGINNING, rows)
        try:
            yield run
        finally:
            if run is not None:
                self._drop_views([run])
                if run.path is not None:
                    remove(run.path)

    def _small(self, sql: str, layout: Layout, lo: Tick, hi: Tick, *, consolidated: bool) -> Run | None:
        table = self.few(sql)
        if not consolidated:
            table = consolidate(table, layout)
        self.work.rows += table.num_rows
        return self.run_of(table.combine_chunks(), layout, lo, hi)

    def _large(self, sql: str, layout: Layout, lo: Tick, hi: Tick, work: Work) -> Run | None:
        path = self.new_path()
        self.views.large.sql(sql).write.option("compression", COMPRESSION).parquet(path.as_uri())
        crash_point("state.run_written")
        rows = count_rows(path)
        work.rows += rows
        if rows == 0:
            remove(path)
            return None
        return self.loaded(path, layout, lo, hi, rows)

    def loaded(self, path: Path, layout: Layout, lo: Tick, hi: Tick, rows: int) -> Run:
        """A run of Parquet files that are there; few rows are taken to the driver.  No job."""
        small = self.run_of(pq.read_table(path), layout, lo, hi) if rows <= self.small_rows else None
        return self.open(path, layout, lo, hi, rows) if small is None else replace(small, path=path)

    def open(self, path: Path, layout: Layout, lo: Tick, hi: Tick, rows: int) -> Run:
        """A run of Parquet files that are there.  No job: the schema is ours, nothing is inferred."""

        def add() -> str:
            return self.views.add(self.views.large.read.schema(layout.ddl).parquet(path.as_uri()))

        return Run(lo=lo, hi=hi, rows=rows, name=ViewName(lambda: self._add_lasting(add)), path=path)

    def spill(self, run: Run, layout: Layout) -> Run:
        """The same run as a Parquet file.  No job."""
        opened = self.open(run.path or self.save(run), layout, run.lo, run.hi, run.rows)
        self._drop_views([run])
        self.lookups.prepare(opened, arrow_schema(layout.ddl))
        return replace(opened, is_settled=run.is_settled, positive=run.positive)

    def save(self, run: Run) -> Path:
        """The rows of an Arrow run in a file, for a checkpoint.  No job."""
        assert run.table is not None
        path = self.new_path()
        write_table(run.table, path)
        return path

    def new_path(self) -> Path:
        name = uuid.uuid4().hex
        if self._apart.paths is not None:
            self._apart.paths.add(name)
        return self.directory / "runs" / name

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Runs that are replaced meanwhile stay readable until the end."""
        with self._lock:
            self._readers += 1
        try:
            yield
        finally:
            with self._lock:
                self._readers -= 1
            self.retire([])

    def held(self) -> ExitStack:
        """Whatever texts of this thread's scratch mention stays readable until it is closed, by whatever thread."""
        held = ExitStack()
        held.enter_context(self.reading())
        held.callback(self.views.keep_scratch())
        return held

    def retired(self) -> list[Run]:
        """Runs that somebody may still be reading."""
        with self._lock:
            return list(self._retired)

    def retire(self, runs: list[Run]) -> None:
        """These runs are part of no trace any more.  Their views go when nobody reads; files are the checkpoint's."""
        with self._lock:
            self._retired.extend(runs)
            if self._readers:
                return
            gone, self._retired = self._retired, []
        self._drop_views(gone)

    def close(self) -> None:
        """Takes its views out of Spark, which may go on without us."""
        for trace in list(self.traces.values()):
            self._drop_views(trace.runs)
        self._drop_views(self.retired())
        self.lookups.close()

    def _drop_views(self, runs: list[Run]) -> None:
        self.lookups.forget(runs)
        for run in runs:
            if run.name.made is not None:
                self.views.drop(run.name.made)
