"""What a kept plan makes of other rows is what Spark makes of them; what may be otherwise is not kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from tailrace.ivm import kept
from tailrace.ivm.tables import struct
from tailrace.ivm.views import Views, collected, few
from tailrace.plan.data_errors import explain
from unit.ivm.test_planned import DDL, JSON, TYPES, arrow_bytes, documents, jobs, table


@pytest.fixture
def views(spark: SparkSession) -> Views:
    return Views(spark)


def asked(views: Views, text: str, rows: pa.Table, schema: str = DDL) -> tuple[pa.Table | None, pa.Table]:
    """What is kept, and what a job brings."""
    text = text.format(views.add_arrow(rows, schema))
    return views.kept(text), collected(views.small.sql(text))


ROW_BY_ROW = {
    "types": f"SELECT {TYPES} FROM {{0}} WHERE id <> 2",
    "documents": f"SELECT id, CAST(f[0] AS int) AS a, f[1] AS b FROM {{0}} LATERAL VIEW {JSON} WHERE f[0] <> '1'",
    "several": "SELECT id FROM {0} UNION ALL SELECT -id FROM {0} WHERE id > 9 UNION ALL SELECT 7L FROM {0}",
    "interpreted": f"SELECT transform(array(f[1]), x -> x) AS u FROM {{0}} LATERAL VIEW {JSON} WHERE f[0] <> '1'",
    "interpreted first": "SELECT id + 1 AS i FROM {0} WHERE exists(array(id, 3L), x -> x > 2)",
    "nothing": "SELECT id FROM {0} WHERE s = 'never'",
}


PLACE = "row_number() OVER (PARTITION BY s ORDER BY id DESC)"
SEVERAL_ROWS = {
    "groups": "SELECT s, count(*) AS n, max(id) AS most, sort_array(collect_list(id)) AS l FROM {0} GROUP BY s",
    "one group": "SELECT sum(id) AS n FROM {0}",
    "distinct": "SELECT DISTINCT s FROM {0}",  # of one row Spark would leave DISTINCT out
    "distinct in groups": "SELECT s, count(DISTINCT id) AS n, count(DISTINCT id % 3) AS m FROM {0} GROUP BY s",
    "window": "SELECT id, lag(id) OVER (PARTITION BY s ORDER BY id) AS l, count(*) OVER () AS n FROM {0}",
    "first of each": f"SELECT id FROM (SELECT id, {PLACE} AS place FROM {{0}}) WHERE place = 1",
    "first of two": f"SELECT id FROM (SELECT id, {PLACE} AS place FROM (TABLE {{0}} UNION ALL TABLE {{0}}))"
    " WHERE place < 3",
    "sorted": "SELECT id FROM {0} ORDER BY s DESC, id",
    "first": "SELECT id FROM {0} ORDER BY s DESC, id LIMIT 2",
    "some": "SELECT id FROM {0} LIMIT 1",
    "repeated": "SELECT explode(array_repeat(id, CAST(id % 3 AS int))) AS id FROM {0}",
    "joined": "SELECT a.id, b.s FROM {0} a JOIN {0} b ON a.id = b.id + 1",
    "left": "SELECT a.id, b.s FROM {0} a LEFT JOIN {0} b ON a.id = b.id + 1",
    "full": "SELECT a.id, b.id AS other FROM {0} a FULL JOIN {0} b ON a.id = b.id + 1 AND a.id > 1",
    "there": "SELECT id FROM {0} WHERE id IN (SELECT id + 1 FROM {0})",
    "not there": "SELECT id FROM {0} a WHERE NOT EXISTS (SELECT 1 FROM {0} b WHERE b.id = a.id + 1)",
    "either": "SELECT id FROM {0} UNION SELECT id + 2 FROM {0}",
    "except": "SELECT id FROM {0} EXCEPT ALL SELECT id + 2 FROM {0}",
}


@pytest.mark.parametrize("text", [*ROW_BY_ROW.values(), *SEVERAL_ROWS.values()], ids=[*ROW_BY_ROW, *SEVERAL_ROWS])
def test_a_text_that_is_seen_again_is_asked_of_other_rows(views: Views, spark: SparkSession, text: str) -> None:
    assert asked(views, text, documents(3))[0] is None  # seen once
    for rows in (1, 0, 5, 300):
        given = views.add_arrow(documents(rows), DDL)
        before = jobs(spark)
        found = views.kept(text.format(given))
        assert jobs(spark) == before
        expected = collected(views.small.sql(text.format(given)))
        assert found is not None
        assert found.schema == expected.schema
        assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist()))


def test_every_type_goes_in_and_comes_out(views: Views) -> None:
    made = collected(views.small.sql(f"SELECT {TYPES} FROM {views.add_arrow(table(9), DDL)}"))
    schema = views.small.sql(f"SELECT {TYPES} FROM {views.add_arrow(table(9), DDL)}").schema
    ddl = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in schema)
    assert struct(ddl).names == made.column_names
    nulls = pa.Table.from_arrays([pa.nulls(2, field.type) for field in made.schema], schema=_nullable(made.schema))
    rows = pa.concat_tables([made.cast(_nullable(made.schema)), nulls])
    text = "SELECT *, id + 1 AS more FROM {0}"
    asked(views, text, rows, ddl)
    found, expected = asked(views, text, rows, ddl)
    assert found is not None
    assert found.equals(expected)


def _nullable(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_nullable(True) for field in schema])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a.id FROM {0} a JOIN {0} b ON a.id <= b.id",
        "SELECT id, (SELECT max(id) FROM {0}) AS most FROM {0}",
        "SELECT id FROM {0} UNION ALL SELECT id FROM range(3)",
        "SELECT id, uuid() AS u FROM {0}",
        "SELECT id, rand() AS r FROM {0}",
        "SELECT s, max(id) + rand() AS r FROM {0} GROUP BY s",
        "SELECT id, monotonically_increasing_id() AS m FROM {0}",
        "SELECT id, current_timestamp() AS t FROM {0}",
        "SELECT id, now() AS t FROM {0}",
    ],
)
def test_what_needs_other_jobs_or_is_of_its_time_is_not_kept(views: Views, text: str) -> None:
    for _ in range(3):
        found = few(views.small, text.format(views.add_arrow(documents(1), DDL)))
        assert found.num_rows >= 1
        assert views.kept(text.format(views.add_arrow(documents(1), DDL))) is None


def test_more_than_the_driver_should_hold_is_left_to_a_job(views: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SELECT a.id FROM {0} a JOIN {0} b ON a.s = b.s"
    for _ in range(2):
        asked(views, text, documents(3))
    same = pa.table({"id": pa.array(range(200), pa.int64()), "s": ["x"] * 200})
    found, expected = asked(views, text, same)
    assert found is not None
    assert found.num_rows == expected.num_rows == 200 * 200
    monkeypatch.setattr(kept, "_MOST_MADE", 100_000)
    assert asked(views, text, same)[0] is None

    monkeypatch.undo()  # it is not even tried, for some time, if it is as large
    assert asked(views, text, same)[0] is None
    assert asked(views, text, same.slice(0, 100))[0] is not None
    for _ in range(100):
        views.kept(text.format(views.add_arrow(same, DDL)))
    assert asked(views, text, same)[0] is not None


def test_settings_of_the_session_hold(views: Views) -> None:
    """Some expressions look them up when they run, and then in the task."""
    text = "SELECT transform(array(id), x -> map_from_arrays(array(x, x), array(1, 2))) AS m FROM {0}"
    for session in (views.small, views._kept._session):
        session.conf.set("spark.sql.mapKeyDedupPolicy", "LAST_WIN")
    for _ in range(2):
        asked(views, text, documents(1))
    found, expected = asked(views, text, documents(3))
    assert found is not None
    assert found.equals(expected)


def test_a_task_that_fails_gives_its_memory_back(views: Views, spark: SparkSession) -> None:
    text = "SELECT id, CAST(s AS int) + lag(id) OVER (PARTITION BY id % 25 ORDER BY id) AS n FROM {0}"
    memory = spark._jvm.org.apache.spark.SparkEnv.get().memoryManager()
    good = pa.table({"id": pa.array(range(50), pa.int64()), "s": ["1"] * 50})
    for _ in range(2):
        asked(views, text, good)
    taken = memory.executionMemoryUsed(), arrow_bytes(views)
    assert asked(views, text, good)[0] is not None
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        views.kept(text.format(views.add_arrow(documents(50), DDL)))
    assert (memory.executionMemoryUsed(), arrow_bytes(views)) <= taken
    assert spark._jvm.org.apache.spark.TaskContext.get() is None


def test_other_columns_are_another_text(views: Views) -> None:
    text = "SELECT id + 1 AS id FROM {0}"
    for _ in range(2):
        asked(views, text, documents(3))
    found, _ = asked(views, text, pa.table({"id": pa.array([1], pa.int32())}), "id int")
    assert found is None
    found, expected = asked(views, text, pa.table({"id": pa.array([1], pa.int32())}), "id int")
    assert found is not None
    assert found.equals(expected)


def test_tables_in_other_places(views: Views) -> None:
    """Which of two tables is asked for what does not depend on their names."""
    text = "SELECT id FROM {0} UNION ALL SELECT -id FROM {1} UNION ALL SELECT id + 100 FROM {0}"
    for rows in (2, 3, 4):
        one, other = views.add_arrow(documents(rows), DDL), views.add_arrow(documents(1), DDL)
        for places in ((one, other), (other, one)):
            found = views.kept(text.format(*places))
            expected = collected(views.small.sql(text.format(*places)))
            assert found is None or found.equals(expected)
    assert found is not None


RUNS = {
    "alone": "{}",
    "in groups": "SELECT s, sum(id) AS n FROM ({}) GROUP BY s",
    "joined": "SELECT a.id, b.s FROM ({0}) a JOIN ({0}) b ON a.id = b.id + 1",
}


@pytest.mark.parametrize("text", RUNS.values(), ids=list(RUNS))
def test_a_text_is_the_same_for_any_number_of_runs(views: Views, spark: SparkSession, text: str) -> None:
    def runs(count: int) -> str:
        added = [views.add_arrow(documents(count + i), DDL) for i in range(count)]
        return text.format(" UNION ALL ".join(f"SELECT id, s FROM {each}" for each in added))

    for count in (1, 3, 2):
        asking, before = runs(count), jobs(spark)
        found = views.kept(asking)
        assert jobs(spark) == before
        assert (found is None) == (count == 1)  # seen once
        if found is not None:
            expected = collected(views.small.sql(asking))
            assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist()))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM {0} UNION ALL SELECT id FROM {1} WHERE id > 2",
        "SELECT id FROM {0} EXCEPT ALL SELECT id FROM {1} UNION ALL SELECT id FROM {1}",
        "SELECT DISTINCT s FROM {0} UNION ALL SELECT DISTINCT s FROM {1}",
        "SELECT id FROM {0} UNION ALL SELECT id FROM {1} UNION ALL SELECT -id FROM {1}",
        "SELECT id FROM {0} UNION ALL SELECT id FROM {1} ORDER BY id LIMIT 2",
    ],
)
def test_what_is_said_of_one_run_is_not_said_of_all(views: Views, text: str) -> None:
    for _ in range(3):
        asking = text.format(views.add_arrow(documents(4), DDL), views.add_arrow(documents(5), DDL))
        found, expected = views.kept(asking), collected(views.small.sql(asking))
    assert found is not None
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist()))


def test_what_clients_ask_drives_out_nothing_that_ticks_ask(views: Views) -> None:
    for _ in range(2):
        asked(views, ROW_BY_ROW["types"], documents(3))
    given = views.add_arrow(documents(1), DDL)
    for number in range(kept.MOST_TEXTS + 1):
        assert views.asked(f"SELECT {number} AS n FROM {given}") is None
    assert asked(views, ROW_BY_ROW["types"], documents(3))[0] is not None


def test_values_that_are_missing_in_maps_and_lists_stay_so(views: Views) -> None:
    schema = "id bigint, m map<string,int>, l array<int>"
    columns = {
        "id": pa.array([1, 2, 3], pa.int64()),
        "m": pa.array([[("a", 1), ("b", None)], [("b", None), ("a", 1)], None], pa.map_(pa.string(), pa.int32())),
        "l": pa.array([[1, None], [], None], pa.list_(pa.int32())),
    }
    for text in ("SELECT DISTINCT l FROM {0}", "SELECT id, m, l FROM {0}"):
        for _ in range(3):
            found, expected = asked(views, text, pa.table(columns), schema)
        assert found is not None
        assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist()))
    for _ in range(3):  # by the code that Spark generates, b would be 0
        found, _ = asked(views, "SELECT m, count(*) AS n FROM {0} GROUP BY m", pa.table(columns), schema)
    assert found is None


def test_a_large_table_is_left_to_a_task(views: Views) -> None:
    text = "SELECT id FROM {0}"
    for _ in range(3):
        assert views.kept(text.format(views.add_arrow(documents(200_000), DDL))) is None


def test_a_row_that_cannot_be_computed_is_told_as_by_a_job(views: Views) -> None:
    text = f"SELECT CAST(f[1] AS int) AS b FROM {{0}} LATERAL VIEW {JSON}"
    good = pa.table({"id": pa.array([1], pa.int64()), "s": ['{"a": 1, "b": 2}']})
    for _ in range(2):
        asked(views, text, good)
    source = views.add_arrow(documents(3), DDL)
    taken = arrow_bytes(views)
    with pytest.raises(Exception, match="x0") as without_job:
        views.kept(text.format(source))
    assert arrow_bytes(views) <= taken
    with pytest.raises(Exception, match="x0") as by_job:
        collected(views.small.sql(text.format(source)))
    told = [explain(failure.value) for failure in (without_job, by_job)]
    assert (told[0].message, told[0].sqlstate) == (told[1].message, told[1].sqlstate)
    found, expected = asked(views, text, good)  # and it goes on
    assert found is not None
    assert found.equals(expected)


def test_without_our_classes_nothing_is_kept(views: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another Spark may have other insides than they were written for."""

    def nothing(session: SparkSession, class_name: str) -> None:
        raise Py4JError(f"{class_name} has not been compiled")

    monkeypatch.setattr(kept, "instance", nothing)
    for _ in range(3):
        found, expected = asked(views, ROW_BY_ROW["types"], documents(3))
        assert found is None
        assert expected.num_rows == 2


def test_a_text_with_something_new_in_it_is_never_kept(views: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    """To keep it would cost a plan at every tick."""
    monkeypatch.setattr(views._kept, "_kept", lambda *_: pytest.fail("planned to be kept"))
    for tick in range(5):
        assert asked(views, f"SELECT {tick} AS tick, id FROM {{0}}", documents(3))[0] is None


@pytest.mark.parametrize("order", ["", " ORDER BY id"])
def test_many_threads_ask_at_the_same_time(views: Views, order: str) -> None:
    """The variable of a lambda is one for all that run the same code."""
    text = f"SELECT transform(array(id), x -> x + 1)[0] AS id FROM {{0}} WHERE id <> 1{order}"
    for _ in range(2):
        asked(views, text, documents(3))

    def one(number: int) -> bool:
        rows = documents(500 + number)
        found = views.kept(text.format(views.add_arrow(rows, DDL)))
        return found is not None and found["id"].to_pylist() == [i + 1 for i in range(500 + number) if i != 1]

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(one, range(40)))


def test_spark_learns_of_a_table_when_it_is_to_plan_a_text_with_it(views: Views, spark: SparkSession) -> None:
    name = views.add_arrow(documents(2), DDL)
    bare = name.removeprefix("global_temp.")

    def known() -> bool:
        return bool(spark.catalog._jcatalog.tableExists("global_temp", bare))

    assert not known()
    assert views.large.sql(f"SELECT * FROM {name}").count() == 2
    assert known()
    views.drop(name)
    assert not known()
