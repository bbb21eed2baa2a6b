"""What a change touches is found on the driver, or by Spark, and is the same either way."""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tailrace.ivm.rules.sums import before_and_after
from tailrace.ivm.tables import arrow_schema
from tailrace.ivm.views import Views
from tailrace.state import lookup, matching
from tailrace.state.compaction import Compactor
from tailrace.state.layout import Layout
from tailrace.state.replaced import replaced
from tailrace.state.store import Store
from tailrace.state.trace import Trace
from tailrace.types.core import BEGINNING, INTEGER, TEXT, Column, Tick

LAYOUT = Layout.of((Column("k", INTEGER), Column("v", TEXT)), [("a0_0", "decimal(38,0)")])
LARGE = 3000


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> Store:
    return Store(views=Views(spark), directory=tmp_path, small_rows=LARGE // 2)


def rows(chance: random.Random, count: int, keys: int) -> pa.Table:
    """Several keys share a hash."""
    k = [None if chance.random() < 0.01 else chance.randrange(keys) for _ in range(count)]
    schema = arrow_schema(LAYOUT.ddl)
    columns = {
        "h": [-1 if key is None else (key // 2) * 7919 - 10_000 for key in k],
        "c0": k,
        "c1": [chance.choice(["x", "é", "", None]) for _ in k],
        "weight": [chance.choice([-1, 1, 2]) for _ in k],
        "a0_0": [Decimal(10**20 * (key or 0)) for key in k],
    }
    return pa.table({name: pa.array(columns[name], schema.field(name).type) for name in schema.names})


def filled(store: Store, chance: random.Random, small: int = 40) -> Trace:
    """A large run of files, then small ones."""
    trace = store.trace("t", LAYOUT)
    large = store.run_of(rows(chance, LARGE, 500), LAYOUT, BEGINNING, Tick(1))
    assert large is not None
    opened = store.open(store.save(large), LAYOUT, BEGINNING, Tick(1), LARGE)
    trace.append(Tick(1), opened)
    for t in range(2, 6):
        trace.append(Tick(t), store.run_of(rows(chance, small, 500), LAYOUT, trace.upper, Tick(t)))
    return trace


def test_a_large_run_that_spark_has_written_gets_an_index(store: Store) -> None:
    """Arrow must be able to read large pages as Spark compresses them: here of a dictionary."""
    row = "CAST(id AS int) AS c0, CAST(id AS string) AS c1, 1L AS weight, CAST(0 AS decimal(38, 0)) AS a0_0"
    sql = f"SELECT xxhash64(id) AS h, {row} FROM (SELECT id DIV 10 AS id FROM range(0, 600000, 1, 1))"
    run = store.materialize(sql, LAYOUT, BEGINNING, Tick(1), rows=600_000)
    assert run is not None
    store.lookups.prepare(run, arrow_schema(LAYOUT.ddl))
    assert store.lookups.of(run, arrow_schema(LAYOUT.ddl)) is not None


def expected(trace: Trace, t: int, touched: pa.Table) -> Counter[tuple[object, ...]]:
    hashes = set(touched["h"].to_pylist())
    runs = [run for run in trace.runs if run.hi <= t]
    tables = [run.table if run.table is not None else pq.read_table(run.path) for run in runs]
    return Counter(
        tuple(row[name] for name in touched.schema.names)
        for table in tables
        for row in table.to_pylist()
        if row["h"] in hashes
    )


def weights(rows: Counter[tuple[object, ...]]) -> dict[tuple[object, ...], int]:
    sums: Counter[tuple[object, ...]] = Counter()
    for row, count in rows.items():
        sums[row[:3]] += int(str(row[3])) * count
    return {row: weight for row, weight in sums.items() if weight}


def found(store: Store, sql: str | None) -> Counter[tuple[object, ...]]:
    if sql is None:
        return Counter()
    return Counter(tuple(row.values()) for row in store.views.large.sql(sql).toArrow().to_pylist())


@pytest.mark.parametrize("how", ["scanned", "looked up", "merged first"])
def test_rows_under_the_hashes_of_a_change_are_found(store: Store, how: str) -> None:
    chance = random.Random(3)
    trace = filled(store, chance, 600 if how == "merged first" else 40)
    before = expected(trace, 4, trace.runs[-1].table)
    with store.views.scratch():
        if how == "looked up":
            store.matching(trace, Tick(4), trace.runs[-1:])
            store.lookups.settle()
        if how == "merged first":
            trace.allow_compaction(Tick(4))
            Compactor(store).compact(trace)
    with store.views.scratch():
        match = store.matching(trace, Tick(4), trace.runs[-1:])
        assert match.is_here == (how != "scanned")
        if how == "merged first":
            total = found(store, LAYOUT.consolidated(str(match.sql)))
            assert {row[:3]: row[3] for row in total if row[3]} == weights(before)
        else:
            assert found(store, match.sql) == before


def test_nothing_is_looked_up_where_nobody_drops_the_views(store: Store) -> None:
    trace = filled(store, random.Random(4))
    assert not store.matching(trace, Tick(4), trace.runs[-1:]).is_here


def test_too_many_rows_are_left_to_spark(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = filled(store, random.Random(5))
    for run in trace.runs:
        store.lookups.prepare(run, arrow_schema(LAYOUT.ddl))
    with store.views.scratch():
        assert store.matching(trace, Tick(4), trace.runs[-1:]).is_here
    monkeypatch.setattr(matching, "MOST_FOUND", 3)
    with store.views.scratch():
        match = store.matching(trace, Tick(4), trace.runs[-1:])
        assert not match.is_here
        assert found(store, match.sql) == expected(trace, 4, trace.runs[-1].table)


def test_a_run_too_large_is_not_copied(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "MOST_ROWS", LARGE - 1)
    trace = filled(store, random.Random(6))
    with store.views.scratch():
        store.matching(trace, Tick(4), trace.runs[-1:])
    store.lookups.settle()
    assert not (store.directory / "lookup").exists()


def test_a_dropped_trace_leaves_no_index(store: Store) -> None:
    trace = filled(store, random.Random(7))
    store.lookups.prepare(trace.runs[0], arrow_schema(LAYOUT.ddl))
    assert len(list((store.directory / "lookup").iterdir())) == 1
    store.drop("t")
    assert list((store.directory / "lookup").iterdir()) == []


def test_sums_before_and_after_are_the_same_here_and_in_spark(store: Store) -> None:
    trace = filled(store, random.Random(8))
    store.lookups.prepare(trace.runs[0], arrow_schema(LAYOUT.ddl))
    in_spark = before_and_after(store, trace, Tick(3), Tick(5))  # in no scratch: nothing is looked up
    with store.views.scratch():
        here = before_and_after(store, trace, Tick(3), Tick(5))
        assert in_spark is not None
        assert here is not None
        assert (in_spark.is_here, here.is_here) == (False, True)
        moved = {row for row in found(store, here.sql) if row[2] != row[3]}
        assert moved == {row for row in found(store, in_spark.sql) if row[2] != row[3]}
        assert moved


def test_a_new_row_takes_the_place_of_the_old_one_with_its_key_only(store: Store) -> None:
    layout = Layout.of((Column("k", INTEGER), Column("v", TEXT)))
    schema = arrow_schema(layout.ddl)

    def table(*entries: tuple[int, int | None, str, int]) -> pa.Table:
        columns = zip(*entries, strict=True)
        return pa.table(dict(zip(schema.names, (pa.array(list(c)) for c in columns), strict=True))).cast(schema)

    trace = store.trace("u", layout)
    old = table((7, 1, "old", 1), (7, 2, "shares its hash", 1), (9, None, "null", 1), (11, 5, "stays", 1))
    trace.append(Tick(1), store.run_of(old, layout, BEGINNING, Tick(1)))
    fresh = store.run_of(table((7, 1, "new", 1), (9, None, "gone", 0)), layout, BEGINNING, BEGINNING)
    assert fresh is not None
    with store.views.scratch():
        change = replaced(fresh, store.matching(trace, Tick(1), [fresh]), (0,), layout)
    assert change is not None
    assert {tuple(row.values())[1:] for row in change.to_pylist() if row["weight"]} == {
        (1, "new", 1),
        (1, "old", -1),
        (None, "null", -1),
    }
    twice = store.run_of(table((7, 1, "new", 1), (7, 2, "new", 1)), layout, BEGINNING, BEGINNING)
    assert twice is not None
    with store.views.scratch():
        assert replaced(twice, store.matching(trace, Tick(1), [twice]), (0,), layout) is None


def test_a_second_look_at_the_store_leaves_its_indexes_alone(store: Store) -> None:
    """EXPLAIN makes a store of its own over the same directory."""
    trace = filled(store, random.Random(9))
    store.lookups.prepare(trace.runs[0], arrow_schema(LAYOUT.ddl))
    before = list((store.directory / "lookup").iterdir())
    Store(views=store.views, directory=store.directory, traces=dict(store.traces))
    assert before
    assert list((store.directory / "lookup").iterdir()) == before
