"""How Spark is given Arrow tables: as a part of its plan, or beside it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tailrace.ivm.views import Views


@pytest.mark.parametrize(("count", "scan"), [(100, "LocalTableScan"), (20_000, "Scan ExistingRDD arrow")])
def test_a_table_of_many_rows_is_no_part_of_the_plan_and_yet_known_to_be_small(
    spark: SparkSession, count: int, scan: str
) -> None:
    """So it is sent to where a large relation is, and not the large one shuffled for its sake."""
    views = Views(spark)
    table = pa.table({"k": pa.array(range(count), pa.int64()), "v": [f"v{n}" for n in range(count)]})
    with views.scratch():
        name = views.add_arrow(table, "k bigint, v string")
        many = views.add(spark.range(10**9).toDF("k"))
        text = f"SELECT count(*), max(v) FROM {many} JOIN {name} USING (k)"
        for session in (views.small, views.large):
            plan = session.sql(text)._jdf.queryExecution().executedPlan().toString()
            assert scan in plan
            assert "BroadcastHashJoin" in plan
        assert views.small.sql(f"SELECT * FROM {name}").toArrow().equals(table)  # in their order


@pytest.mark.parametrize("chunks", [1, 7])
def test_a_table_of_many_rows_is_read_by_one_task(spark: SparkSession, chunks: int) -> None:
    """Otherwise a view that takes its time over a small tick would have as many cores as there are, and others none."""
    views = Views(spark)
    table = pa.concat_tables([pa.table({"k": pa.array(range(20_000), pa.int64())})] * chunks)
    with views.scratch():
        rows = views.small.sql(f"SELECT * FROM {views.add_arrow(table, 'k bigint')}")
        assert rows.rdd.getNumPartitions() == 1
        assert rows.toArrow().num_rows == 20_000 * chunks
