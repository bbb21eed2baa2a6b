"""Rows that are taken out of their plan are those that a job brings, and no job runs for them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tailrace.errors import DataError
from tailrace.ivm.planned import planned
from tailrace.ivm.views import Views, collected, few
from tailrace.plan.data_errors import explain

DDL = "id bigint, s string"
TYPES = """id, CAST(id AS int) AS i, id % 2 = 0 AS b, date_add(DATE'2024-01-01', CAST(id AS int)) AS d,
    timestamp_seconds(id) AS t, TIMESTAMP_NTZ'1900-01-01 00:00:00.000001' AS n, CAST(id / 8 AS decimal(38,10)) AS x,
    id / 8 AS f, repeat('ä', CAST(id AS int)) AS s, CAST(s AS binary) AS y, array(id, NULL) AS a,
    named_struct('u', id, 'v', s) AS r, map(s, id) AS m, INTERVAL '1 02:03:04.5' DAY TO SECOND AS iv,
    CASE WHEN id > 3 THEN s END AS z"""


@pytest.fixture
def views(spark: SparkSession) -> Views:
    return Views(spark)


def table(rows: int) -> pa.Table:
    return pa.table({"id": pa.array(range(rows), pa.int64()), "s": [f"text {i}" for i in range(rows)]})


def jobs(spark: SparkSession) -> int:
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


@pytest.mark.parametrize("rows", [0, 1, 5, 300])  # of 300 there is more than one packet
def test_rows_made_of_rows_one_by_one(views: Views, spark: SparkSession, rows: int) -> None:
    source = views.add_arrow(table(rows), DDL)
    text = f"SELECT {TYPES} FROM {source} WHERE id <> 2"
    frame = views.small.sql(text)
    before = jobs(spark)
    found = few(views.small, text)
    assert jobs(spark) == before
    assert found.num_rows == rows - (rows > 2)
    assert found.equals(collected(frame))
    assert jobs(spark) == before + 1


def test_all_of_several(views: Views) -> None:
    source = views.add_arrow(table(4), DDL)
    frame = views.small.sql(
        f"SELECT id FROM {source} UNION ALL SELECT -id FROM {source} WHERE id > 9 UNION ALL SELECT 7L FROM {source}"
    )
    found = planned(frame)
    assert found is not None
    assert found["id"].to_pylist() == [0, 1, 2, 3, 7, 7, 7, 7]
    assert found.equals(collected(frame))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT s, count(*) AS n FROM {} GROUP BY s",
        "SELECT DISTINCT s FROM {}",
        "SELECT a.id FROM {0} a JOIN {0} b ON a.id = b.id",
        "SELECT explode(array(id, id)) AS id FROM {}",
        "SELECT id FROM {} UNION ALL SELECT id FROM range(3)",
        "SELECT id, (SELECT max(id) FROM {0}) AS most FROM {0}",
        "SELECT id FROM {0} WHERE id = (SELECT max(id) FROM {0})",
    ],
)
def test_what_is_left_to_run_is_run(views: Views, query: str) -> None:
    text = query.format(views.add_arrow(table(4), DDL))
    assert planned(views.small.sql(text)) is None
    assert few(views.small, text).num_rows > 0


def test_a_larger_table_is_no_part_of_the_plan(views: Views) -> None:
    source = views.add_arrow(table(15_000), DDL)
    assert planned(views.small.sql(f"SELECT id + 1 AS id FROM {source}")) is None


JSON = "explode(array(tailrace_json_fields(CAST(s AS BINARY), X'{}'))) j AS f".format(b"a\0b".hex())


def arrow_bytes(views: Views) -> int:
    """What Spark's Arrow has of the memory outside of Java's heap."""
    utils = getattr(views.small._jvm, "org.apache.spark.sql.util.ArrowUtils")
    return int(utils.rootAllocator().getAllocatedMemory())


def documents(rows: int) -> pa.Table:
    return pa.table({"id": pa.array(range(rows), pa.int64()), "s": [f'{{"a": {i}, "b": "x{i}"}}' for i in range(rows)]})


@pytest.mark.parametrize("rows", [0, 1, 300])
def test_documents_that_are_parsed_once_for_many_looks(views: Views, spark: SparkSession, rows: int) -> None:
    source = views.add_arrow(documents(rows), DDL)
    text = f"SELECT id, CAST(f[0] AS int) AS a, f[1] AS b FROM {source} LATERAL VIEW {JSON} WHERE f[0] <> '1'"
    text += f" UNION ALL SELECT -id, 0, s FROM {source}"
    frame = views.small.sql(text)
    before = jobs(spark)
    found = few(views.small, text)
    assert jobs(spark) == before
    assert found.num_rows == 2 * rows - (rows > 1)
    assert found.equals(collected(frame))


def test_a_row_that_cannot_be_computed_is_told_as_by_a_job(views: Views) -> None:
    source = views.add_arrow(documents(3), DDL)
    frame = views.small.sql(f"SELECT CAST(f[1] AS int) AS b FROM {source} LATERAL VIEW {JSON}")
    taken = arrow_bytes(views)
    with pytest.raises(Exception, match="x0") as without_job:
        planned(frame)
    assert arrow_bytes(views) <= taken  # else a view that stands still would take more whenever it is tried
    with pytest.raises(Exception, match="x0") as by_job:
        collected(frame)
    told = [explain(failure.value) for failure in (without_job, by_job)]
    assert isinstance(told[0], DataError)
    assert (told[0].message, told[0].sqlstate) == (told[1].message, told[1].sqlstate)
