"""Traces: what is appended can be read between any two ticks, before and after compaction and a restart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tailrace.errors import InternalError
from tailrace.ivm.operator import absorb
from tailrace.ivm.views import Views
from tailrace.ivm.zset import ZSet
from tailrace.state import checkpoint, compaction
from tailrace.state.compaction import Compactor
from tailrace.state.consolidate import consolidate
from tailrace.state.layout import Layout
from tailrace.state.run import Run
from tailrace.state.store import SMALL_ROWS, Store
from tailrace.state.trace import Trace
from tailrace.types.core import BEGINNING, INTEGER, TEXT, Column, Tick

Merge: TypeAlias = Callable[[Store, Trace, Sequence[Run]], list[Run]]

LAYOUT = Layout.of((Column("item", TEXT), Column("price", INTEGER)))


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> Store:
    return Store(views=Views(spark), directory=tmp_path)


def rows(*entries: tuple[str, int, int]) -> pa.Table:
    names, prices, weights = (list(values) for values in zip(*entries, strict=True))
    return pa.table(
        {
            "h": pa.array([hash(name) % 100 for name in names], pa.int64()),
            "c0": pa.array(names, pa.string()),
            "c1": pa.array(prices, pa.int32()),
            "weight": pa.array(weights, pa.int64()),
        }
    )


def append(store: Store, trace: Trace, t: int, *entries: tuple[str, int, int]) -> None:
    trace.append(Tick(t), store.run_of(rows(*entries), LAYOUT, trace.upper, Tick(t)))


def content(store: Store, trace: Trace, lo: int, hi: int) -> dict[tuple[str, int], int]:
    change = trace.between(Tick(lo), Tick(hi))
    if change.sql is None:
        return {}
    found = store.views.small.sql(LAYOUT.consolidated(change.sql)).toArrow().to_pylist()
    return {(row["c0"], row["c1"]): row["weight"] for row in found}


def filled(store: Store) -> Trace:
    trace = store.trace("t", LAYOUT)
    append(store, trace, 10, ("tea", 3, 1), ("cup", 7, 1))
    append(store, trace, 20, ("tea", 3, -1), ("tea", 4, 1))
    trace.append(Tick(30), None)
    append(store, trace, 40, ("cup", 7, 1))
    return trace


def test_a_change_between_two_ticks_is_the_sum_of_the_runs_between_them(store: Store) -> None:
    trace = filled(store)
    assert content(store, trace, 10, 30) == {("tea", 3): -1, ("tea", 4): 1}
    assert content(store, trace, 0, 40) == {("tea", 4): 1, ("cup", 7): 2}
    assert trace.between(Tick(20), Tick(30)).is_empty


def test_compaction_keeps_the_content_and_forgets_the_ticks(store: Store) -> None:
    trace = filled(store)
    for t in range(50, 60):
        append(store, trace, t, ("pot", t, 1))
    before = content(store, trace, 0, 59)
    trace.allow_compaction(Tick(55))
    Compactor(store).compact(trace)
    assert content(store, trace, 0, 59) == before
    assert len(trace.runs) < 12
    assert content(store, trace, 55, 59) == {("pot", t): 1 for t in range(56, 60)}
    with pytest.raises(InternalError):
        trace.between(Tick(10), Tick(59))


def test_rows_that_cancel_leave_nothing(store: Store) -> None:
    table = consolidate(rows(("tea", 3, 1), ("tea", 3, -1), ("cup", 1, 2), ("cup", 1, 3)), LAYOUT)
    assert table.select(["c0", "c1", "weight"]).to_pylist() == [{"c0": "cup", "c1": 1, "weight": 5}]


def test_large_runs_are_files_and_read_the_same(store: Store) -> None:
    trace = store.trace("t", LAYOUT)
    sql = f"SELECT id % 7 AS h, concat('x', id) AS c0, CAST(id AS int) AS c1, 1L AS weight FROM range({SMALL_ROWS + 5})"
    trace.append(Tick(10), store.materialize(sql, LAYOUT, BEGINNING, Tick(10), SMALL_ROWS + 5))
    [run] = trace.runs
    assert run.path is not None
    assert run.rows == SMALL_ROWS + 5
    assert len(content(store, trace, 0, 10)) == SMALL_ROWS + 5


def test_a_checkpoint_brings_everything_back(store: Store) -> None:
    trace = filled(store)
    trace.allow_compaction(Tick(20))
    checkpoint.write(store, Tick(40), {"u9": (Tick(40), Tick(20))})
    append(store, trace, 50, ("lost", 1, 1))
    again = Store(views=store.views, directory=store.directory)
    tick, frontiers = checkpoint.load(again)
    restored = again.traces["t"]
    assert tick == 40
    assert frontiers == {"u9": (40, 20)}
    assert content(again, restored, 0, 40) == {("tea", 4): 1, ("cup", 7): 2}
    assert content(again, restored, 20, 40) == {("cup", 7): 1}


def test_a_checkpoint_takes_a_busy_trace_as_it_was(store: Store) -> None:
    trace = filled(store)
    before = {trace.id: trace.freeze()}
    append(store, trace, 50, ("half", 1, 1))
    checkpoint.write(store, Tick(40), {}, before)
    again = Store(views=store.views, directory=store.directory)
    checkpoint.load(again)
    assert again.traces["t"].upper == 40
    assert content(again, again.traces["t"], 0, 40) == {("tea", 4): 1, ("cup", 7): 2}


def test_files_of_a_step_that_is_under_way_are_nobodys_leavings(store: Store) -> None:
    filled(store)
    with store.apart():
        path = store.new_path()
        path.mkdir(parents=True)
        checkpoint.write(store, Tick(40), {})
        assert path.exists()
    checkpoint.write(store, Tick(40), {})
    assert not path.exists()


def test_files_that_no_checkpoint_names_are_removed_at_the_next_start(store: Store) -> None:
    filled(store)
    checkpoint.write(store, Tick(40), {})
    stray = store.new_path()
    stray.mkdir(parents=True)
    checkpoint.load(Store(views=store.views, directory=store.directory))
    assert not stray.exists()


def test_a_checkpoint_writes_what_is_new_and_leaves_the_rest(store: Store) -> None:
    trace = filled(store)
    checkpoint.write(store, Tick(40), {})
    before = {path: path.stat().st_mtime_ns for path in (store.directory / "runs").rglob("*.parquet")}
    append(store, trace, 50, ("pot", 1, 1))
    checkpoint.write(store, Tick(50), {})
    after = {path: path.stat().st_mtime_ns for path in (store.directory / "runs").rglob("*.parquet")}
    assert before.items() <= after.items()
    assert len(after) == len(before) + 1


@pytest.mark.parametrize("small_rows", [SMALL_ROWS, 1], ids=["on the driver", "in files"])
@pytest.mark.parametrize("merge", [compaction._merge_here, compaction._merge_by_spark])
def test_a_merged_run_takes_nothing_away_only_if_none_of_its_parts_does(
    store: Store, merge: Merge, small_rows: int
) -> None:
    store.small_rows = small_rows
    trace = store.trace("t", LAYOUT)
    for t, weight in ((10, 1), (20, 1), (30, -1)):
        sql = f"SELECT 0L AS h, 'tea' AS c0, {t} AS c1, {weight}L AS weight"
        change = ZSet(arity=2, sql=sql, rows=2, positive=weight > 0)
        absorb(store, trace, Tick(t), change, consolidated=True)
    assert [run.positive for run in trace.runs] == [True, True, False]
    growing, mixed = (merge(store, trace, runs) for runs in (trace.runs[:2], trace.runs[1:]))
    assert [run.positive for run in (*growing, *mixed)] == [True, False]
    assert trace.between(Tick(0), Tick(20)).positive
    assert not trace.between(Tick(10), Tick(30)).positive
    checkpoint.write(store, Tick(30), {})
    again = Store(views=store.views, directory=store.directory)
    checkpoint.load(again)
    assert [run.positive for run in again.traces["t"].runs] == [True, True, False]


@pytest.mark.usefixtures("little_room")
def test_what_was_thought_to_be_little_and_is_too_much_for_the_driver_becomes_a_file(store: Store) -> None:
    many = "SELECT id AS h, concat('item', id) AS c0, CAST(id AS int) AS c1, 1L AS weight FROM range(200000)"
    run = store.materialize(many, LAYOUT, BEGINNING, Tick(1), 10, consolidated=False)
    assert run is not None
    assert run.path is not None
    assert run.rows == 200_000


def test_many_rows_do_not_stay_on_the_driver(spark: SparkSession, tmp_path: Path) -> None:
    store = Store(views=Views(spark), directory=tmp_path, small_rows=2)
    entries = [(f"n{i}", i, 1) for i in range(11)]
    few, many = (store.settled_run(rows(*part), LAYOUT, BEGINNING, Tick(1)) for part in (entries[:10], entries))
    assert few is not None
    assert few.table is not None
    assert many is not None
    assert many.table is None
    assert many.is_settled
    assert sorted(spark.sql(f"SELECT c0, c1, weight FROM {many.view}").collect()) == sorted(entries)
