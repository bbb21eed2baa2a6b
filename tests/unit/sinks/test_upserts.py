"""Random Z-sets, not consolidated and with any weights, against the reduction written in plain Python."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tailrace.ivm.zset import ZSet
from tailrace.sinks import upserts

Row = tuple[str, str, int]
ENCODING = upserts.Encoding("c0", "c1", "'gone'")


def zset(rows: list[Row], *, positive: bool = False, is_settled: bool = False) -> ZSet:
    values = ", ".join(f"('{k}', '{r}', {weight}L)" for k, r, weight in rows)
    sql = f"SELECT * FROM VALUES {values} AS t(c0, c1, weight)"
    return ZSet(arity=2, sql=sql, rows=len(rows), positive=positive, is_settled=is_settled)


def by_spark(spark: SparkSession, delta: ZSet) -> pa.Table:
    return spark.sql(upserts.per_key(delta, ENCODING, 3, proven=delta.positive)).toArrow()


def on_the_driver(spark: SparkSession, delta: ZSet) -> pa.Table:
    return upserts.per_key_here(spark.sql(upserts.encoded(delta, ENCODING)).toArrow())


both_ways = pytest.mark.parametrize("reduce", [by_spark, on_the_driver])


def in_plain_python(rows: list[Row]) -> dict[str, tuple[str, int, str]]:
    """For each key: its row, how many came, what became of it."""
    weights: Counter[tuple[str, str]] = Counter()
    for k, r, weight in rows:
        weights[k, r] += weight
    keys: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for (k, r), weight in weights.items():
        if weight:
            keys[k].append((r, weight))
    found = {}
    for k, changes in keys.items():
        new = [r for r, weight in changes if weight > 0]
        came = sum(weight for _, weight in changes if weight > 0)
        net = sum(weight for _, weight in changes)
        change = "d" if came == 0 else "i" if net > 0 else "u"
        found[k] = (max(new or [r for r, _ in changes]), came, change)
    return found


def told(changes: pa.Table) -> dict[str, tuple[str, int, str]]:
    rows = changes.to_pylist()
    found = {row["k"]: (row["r"], row["came"], row["change"]) for row in rows}
    assert len(found) == len(rows)
    return found


@both_ways
@pytest.mark.parametrize("seed", range(2))
def test_each_key_is_told_once(spark: SparkSession, reduce, seed: int) -> None:
    draw = random.Random(seed)
    keys, texts, weights = [f"k{n}" for n in range(40)], ["a", "b", "ü", ""], [-2, -1, 1, 2]
    rows = [(draw.choice(keys), draw.choice(texts), draw.choice(weights)) for _ in range(150)]
    assert told(reduce(spark, zset(rows))) == in_plain_python(rows)


@both_ways
def test_a_snapshot_of_unique_keys_is_insertions(spark: SparkSession, reduce) -> None:
    rows = [(f"k{n}", f"r{n}", 1) for n in range(50)]
    assert told(reduce(spark, zset(rows, positive=True))) == {k: (r, 1, "i") for k, r, _ in rows}


@both_ways
def test_what_cancels_is_not_told(spark: SparkSession, reduce) -> None:
    assert told(reduce(spark, zset([("k", "r", 1), ("k", "r", -1)]))) == {}


@both_ways
@pytest.mark.parametrize("count", [5, 500])
def test_of_rows_that_left_only_the_key_is_encoded_where_nothing_cancels(
    spark: SparkSession, reduce, count: int
) -> None:
    changed = [(f"k{n}", text, weight) for n in range(count) for text, weight in (("old", -1), ("new", 1))]
    left, came = ("left", "r", -1), ("came", "r", 1)
    expected = {f"k{n}": ("new", 1, "u") for n in range(count)} | {"left": ("gone", 0, "d"), "came": ("r", 1, "i")}
    assert told(reduce(spark, zset([*changed, left, came], is_settled=True))) == expected
