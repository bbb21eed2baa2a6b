"""Views in Iceberg tables: what pyiceberg and DuckDB read there is the view at the tick that the snapshot names."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import IntegerType

from tailrace.engine.engine import Engine
from tailrace.errors import Fenced, KeyViolation, SqlError, TailraceError, Unavailable
from tailrace.ivm.zset import ZSet
from tailrace.sinks.iceberg import IcebergSink
from tailrace.sinks.iceberg_definition import Defences, Partition
from tailrace.testing.s3 import ACCESS_KEY, S3, SECRET_KEY
from tailrace.types.core import INTEGER, Column, Tick
from targets.iceberg_tables import Warehouse, definition_of, fresh, until
from targets.postgres_sink_of import numbers, zset


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return Warehouse(tmp_path_factory.mktemp("iceberg"))


@pytest.fixture(scope="module")
def connection(engine: Engine, warehouse: Warehouse) -> str:
    engine.sql(
        "CREATE CONNECTION lake TO ICEBERG CATALOG (CATALOG TYPE = 'sql',"
        f" URL = '{warehouse.url}', WAREHOUSE = '{warehouse.path}')"
    )
    return "lake"


@pytest.fixture
def name(connection: str) -> str:
    return fresh("t")


def test_an_upsert_table_is_the_view(engine: Engine, warehouse: Warehouse, name: str) -> None:
    engine.sql(f"CREATE TABLE {name} (item text NOT NULL, price int)")
    engine.sql(f"INSERT INTO {name} VALUES ('tea', 10), ('tea', 2), ('nut', 5)")
    engine.sql(f"CREATE MATERIALIZED VIEW {name}_v AS SELECT item, sum(price) AS total FROM {name} GROUP BY item")
    engine.sql(
        f"CREATE SINK {name}_out FROM {name}_v INTO ICEBERG CATALOG CONNECTION lake (NAMESPACE 'n', TABLE '{name}')"
        " KEY (item) MODE UPSERT WITH (COMMIT INTERVAL = '1s')"
    )
    until(lambda: warehouse.catalog.table_exists(f"n.{name}") and len(warehouse.rows(name)) == 2)
    assert warehouse.rows(name) == [("nut", 5), ("tea", 12)]
    engine.sql(f"INSERT INTO {name} VALUES ('tea', 1), ('rye', 7); DELETE FROM {name} WHERE item = 'nut'")
    until(lambda: warehouse.rows(name) == [("rye", 7), ("tea", 13)])
    table = warehouse.table(name)
    assert [(f.name, f.required) for f in table.schema().fields] == [("item", True), ("total", False)]
    assert table.schema().identifier_field_names() == {"item"}
    summary = table.current_snapshot().summary.additional_properties  # type: ignore[union-attr]
    assert json.loads(summary["mz-frontier"])[0] > 0
    assert summary["mz-sink-version"] == "0"


def test_an_append_table_holds_every_change(engine: Engine, warehouse: Warehouse, name: str) -> None:
    engine.sql(f"CREATE TABLE {name} (item text NOT NULL, n int, PRIMARY KEY (item))")
    engine.sql(f"INSERT INTO {name} VALUES ('a', 1)")
    engine.sql(
        f"CREATE SINK {name}_out FROM {name} INTO ICEBERG CATALOG CONNECTION lake (NAMESPACE 'n', TABLE '{name}')"
        " MODE APPEND WITH (COMMIT INTERVAL = '1s')"
    )
    until(lambda: warehouse.catalog.table_exists(f"n.{name}") and len(warehouse.rows(name)) == 1)
    engine.sql(f"UPDATE {name} SET n = 2 WHERE item = 'a'")
    until(lambda: len(warehouse.rows(name)) == 3)
    changes = [(item, n, diff) for item, n, diff, _ in warehouse.rows(name)]
    assert changes == [("a", 1, -1), ("a", 1, 1), ("a", 2, 1)]
    times = {(n, diff): t for _, n, diff, t in warehouse.rows(name)}
    assert times[1, -1] == times[2, 1] > times[1, 1]


def test_the_interval_holds_changes_back_until_it_is_altered(engine: Engine, warehouse: Warehouse, name: str) -> None:
    engine.sql(f"CREATE TABLE {name} (item text NOT NULL, n int, PRIMARY KEY (item))")
    engine.sql(f"INSERT INTO {name} VALUES ('a', 1)")
    engine.sql(
        f"CREATE SINK {name}_out FROM {name} INTO ICEBERG CATALOG CONNECTION lake (NAMESPACE 'n', TABLE '{name}')"
        " KEY (item) MODE UPSERT WITH (COMMIT INTERVAL = '1 hour')"
    )
    until(lambda: warehouse.catalog.table_exists(f"n.{name}") and len(warehouse.rows(name)) == 1)
    engine.sql(f"INSERT INTO {name} VALUES ('b', 1)")
    engine.sql(f"UPDATE {name} SET n = 2 WHERE item = 'b'")
    engine.settle()
    assert warehouse.rows(name) == [("a", 1)]
    with pytest.raises(SqlError, match="must specify COMMIT INTERVAL"):
        engine.sql(f"ALTER SINK {name}_out RESET (COMMIT INTERVAL)")
    engine.sql(f"ALTER SINK {name}_out SET (COMMIT INTERVAL = '2 hours')")
    assert "COMMIT INTERVAL = '2 hours'" in str(engine.sql(f"SHOW CREATE SINK {name}_out").to_pylist())  # type: ignore[union-attr]
    until(lambda: warehouse.rows(name) == [("a", 1), ("b", 2)])
    assert len(warehouse.table(name).metadata.snapshots) == 2  # two ticks, one commit
    engine.sql(f"ALTER TABLE {name} ADD COLUMN note text; ALTER SINK {name}_out SET FROM {name}")
    engine.sql(f"INSERT INTO {name} VALUES ('c', 1, 'new'); ALTER SINK {name}_out SET (COMMIT INTERVAL '1s')")
    until(lambda: ("c", 1, "new") in warehouse.rows(name))  # a relation with more columns: the table gets them too
    assert [row for row in warehouse.rows(name) if row[0] != "c"] == [("a", 1, None), ("b", 2, None)]


def test_the_files_may_be_in_a_bucket(engine: Engine, s3: S3, tmp_path: Path, name: str) -> None:
    url, bucket = f"sqlite:///{tmp_path}/catalog.db", s3.make_bucket(f"lake-{name}")
    SqlCatalog("default", uri=url, warehouse="s3://unused").create_namespace("n")
    engine.sql(
        f"CREATE SECRET key_{name} AS '{SECRET_KEY}';"
        f"CREATE CONNECTION bucket_{name} TO AWS (ACCESS KEY ID = '{ACCESS_KEY}', REGION = 'us',"
        f" SECRET ACCESS KEY = SECRET key_{name}, ENDPOINT = '{s3.endpoint}');"
        f"CREATE CONNECTION lake_{name} TO ICEBERG CATALOG (CATALOG TYPE = 'sql', URL = '{url}',"
        f" WAREHOUSE = 's3://{bucket}/tables', AWS CONNECTION = bucket_{name});"
        f"CREATE TABLE {name} (item text NOT NULL, n int, PRIMARY KEY (item)); INSERT INTO {name} VALUES ('a', 1);"
        f"CREATE SINK {name}_out FROM {name} INTO ICEBERG CATALOG CONNECTION lake_{name}"
        f" (NAMESPACE 'n', TABLE 't') KEY (item) MODE UPSERT WITH (COMMIT INTERVAL '1s')"
    )
    with pytest.raises(SqlError, match="depended upon"):
        engine.sql(f"DROP CONNECTION bucket_{name}")
    files = {"s3.endpoint": s3.endpoint, "s3.access-key-id": ACCESS_KEY, "s3.secret-access-key": SECRET_KEY}
    reader = SqlCatalog("default", uri=url, warehouse=f"s3://{bucket}/tables", **files, **{"s3.region": "us"})
    until(lambda: reader.table_exists("n.t") and reader.load_table("n.t").current_snapshot() is not None)
    assert reader.load_table("n.t").scan().to_arrow().to_pylist() == [{"item": "a", "n": 1}]
    assert all(key.startswith("tables/n/t/") for key in s3.objects(bucket))
    # The sink needs the catalog, that needs the bucket, and that the secret: a new one reaches the sink all the same.
    engine.sql(f"ALTER SECRET key_{name} AS 'wrong'; INSERT INTO {name} VALUES ('b', 2)")
    status = f"SELECT status FROM mz_internal.mz_sink_statuses WHERE name = '{name}_out'"
    until(lambda: engine.sql(status).to_pylist()[0]["status"] == "stalled")  # type: ignore[union-attr]
    engine.sql(f"ALTER SECRET key_{name} AS '{SECRET_KEY}'")
    until(lambda: len(reader.load_table("n.t").scan().to_arrow()) == 2)


def test_a_sink_may_reach_the_files_by_a_connection_of_its_own(
    engine: Engine, s3: S3, tmp_path: Path, name: str
) -> None:
    url, bucket = f"sqlite:///{tmp_path}/catalog.db", s3.make_bucket(f"own-{name}")
    SqlCatalog("default", uri=url, warehouse="s3://unused").create_namespace("n")
    engine.sql(
        f"CREATE SECRET key_{name} AS '{SECRET_KEY}'; CREATE SECRET other_{name} AS 'wrong';"
        f"CREATE CONNECTION bad_{name} TO AWS (ACCESS KEY ID = '{ACCESS_KEY}', REGION = 'us',"
        f" SECRET ACCESS KEY = SECRET other_{name}, ENDPOINT = '{s3.endpoint}');"
        f"CREATE CONNECTION good_{name} TO AWS (ACCESS KEY ID = '{ACCESS_KEY}', REGION = 'us',"
        f" SECRET ACCESS KEY = SECRET key_{name}, ENDPOINT = '{s3.endpoint}');"
        f"CREATE CONNECTION lake_{name} TO ICEBERG CATALOG (CATALOG TYPE = 'sql', URL = '{url}',"
        f" WAREHOUSE = 's3://{bucket}/tables', AWS CONNECTION = bad_{name});"
        f"CREATE TABLE {name} (item text NOT NULL, n int, PRIMARY KEY (item)); INSERT INTO {name} VALUES ('a', 1);"
        f"CREATE SINK {name}_out FROM {name} INTO ICEBERG CATALOG CONNECTION lake_{name}"
        f" (NAMESPACE 'n', TABLE 't') USING AWS CONNECTION good_{name} KEY (item) MODE UPSERT"
        " WITH (COMMIT INTERVAL '1s')"
    )
    until(lambda: any(key.endswith(".parquet") for key in s3.objects(bucket)))


TYPES = {
    "a": ("boolean", "true"),
    "b": ("smallint", "-5"),
    "f": ("numeric(38,2)", "12.5"),
    "g": ("numeric", "0.125"),
    "h": ("text", "'ü'"),
    "k": ("bytea", "'\\x00ff'"),
    "l": ("date", "'2024-07-03'"),
    "m": ("time", "'18:43:05.312456'"),
    "n": ("timestamp", "'2024-07-03 18:43:05.3'"),
    "o": ("timestamptz", "'2024-07-03 18:43:05+00'"),
    "p": ("interval", "'1 day'"),
    "q": ("jsonb", "'{}'"),
    "r": ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"),
    "s": ("text list", "LIST['a', NULL]"),
    "t": ("uint8", "18446744073709551615"),
    "v": ("daterange", "'[2024-07-03,]'"),
    "u": ("map[text=>int]", "'{a=>1}'"),
}
EXPECTED = (
    "boolean int decimal(38, 2) decimal(38, 10) string binary date time timestamp timestamptz string string fixed[16]"
)


def test_every_type_has_its_place(engine: Engine, warehouse: Warehouse, name: str) -> None:
    columns = ", ".join(f"{column} {type}" for column, (type, _) in TYPES.items())
    engine.sql(f"CREATE TABLE {name} (id int NOT NULL, {columns}, PRIMARY KEY (id))")
    values = ", ".join(f"({value})::{type}" for type, value in TYPES.values())
    engine.sql(f"INSERT INTO {name} VALUES (1, {values}), (2{', NULL' * len(TYPES)})")
    engine.sql(
        f"CREATE SINK {name}_out FROM {name} INTO ICEBERG CATALOG CONNECTION lake (NAMESPACE 'n', TABLE '{name}')"
        " KEY (id) MODE UPSERT WITH (COMMIT INTERVAL = '1s')"
    )
    until(lambda: warehouse.catalog.table_exists(f"n.{name}") and len(warehouse.rows(name)) == 2)
    types = [str(field.field_type) for field in warehouse.table(name).schema().fields][1:]
    assert " ".join(types[:13]) == EXPECTED
    one, two = warehouse.rows(name)
    assert one[1:3] == (True, -5)
    flags = {"lower_inclusive": True, "upper_inclusive": False, "empty": False}
    endless = {"lower": datetime.date(2024, 7, 3), "upper": None, **flags}
    assert one[-4:] == (["a", None], 18446744073709551615, endless, [("a", 1)])
    assert set(two[1:]) == {None}


@pytest.mark.usefixtures("little_room")
def test_a_change_that_was_thought_small_and_does_not_fit_the_driver_is_written_by_tasks(
    engine: Engine, warehouse: Warehouse
) -> None:
    sink = definition_of(warehouse.connection)
    writer = IcebergSink(sink, engine.spark)
    writer.progress()
    text = "SELECT CAST(id AS int) AS c0, repeat('{}', 100) AS c1, {}L AS weight FROM range({})"
    snapshot = ZSet(arity=2, sql=text.format("a", 1, 30_000), rows=3, positive=True)
    assert writer.write(Tick(10), snapshot).messages == 30_000
    changed = f"{text.format('a', -1, 20_000)} UNION ALL {text.format('b', 1, 20_000)}"
    assert writer.write(Tick(20), ZSet(arity=2, sql=changed, rows=3)).messages == 40_000
    rows = warehouse.rows(sink.table)
    assert [k for k, _ in rows] == list(range(30_000))
    assert [v[0] for _, v in rows] == ["b"] * 20_000 + ["a"] * 10_000


def test_an_older_writer_cannot_commit_on_top_of_a_newer_one(engine: Engine, warehouse: Warehouse) -> None:
    sink = definition_of(warehouse.connection)
    older, newer = IcebergSink(sink, engine.spark), IcebergSink(sink, engine.spark)
    older.progress()
    older.write(Tick(10), zset((1, "a", 1)))
    assert newer.progress().tick == 10
    newer.write(Tick(20), zset((1, "a", -1), (1, "b", 1)))
    with pytest.raises(Fenced, match="modified by another writer"):
        older.write(Tick(20), zset((1, "a", -1), (1, "b", 1)))
    assert older.progress().tick == 20
    assert warehouse.rows(sink.table) == [(1, "b")]


def test_a_table_that_a_newer_program_has_written_is_left_to_it(engine: Engine, warehouse: Warehouse) -> None:
    sink = definition_of(warehouse.connection)
    writer = IcebergSink(sink, engine.spark)
    writer.progress()
    writer.write(Tick(10), zset((1, "a", 1)))
    table = warehouse.table(sink.table)
    said = {"mz-frontier": "[21]", "mz-sink-version": "7", "mz-sink-id": sink.id}
    table.append(table.scan().to_arrow().slice(0, 0), snapshot_properties=said)
    with pytest.raises(SqlError, match="Fenced off by newer sink version: resume_version 7, sink_version 0"):
        writer.progress()


def test_without_the_tick_in_the_summary_nobody_knows_what_it_holds(engine: Engine, warehouse: Warehouse) -> None:
    sink = definition_of(warehouse.connection)
    writer = IcebergSink(sink, engine.spark, defences=Defences(progress_record=False))
    writer.progress()
    writer.write(Tick(10), zset((1, "a", 1)))
    with pytest.raises(SqlError, match="inconsistent state"):
        IcebergSink(sink, engine.spark).progress()


def test_keys_of_several_columns_and_null_are_deleted(engine: Engine, warehouse: Warehouse) -> None:
    sink = definition_of(warehouse.connection, key=(0, 1))
    writer = IcebergSink(sink, engine.spark)
    writer.progress()
    writer.write(Tick(10), zset((1, "a", 1), (1, None, 1), (2, "a", 1), (2, None, 1)))
    writer.write(Tick(20), zset((1, None, -1), (2, "a", -1)))
    assert writer.progress().tick == 20
    rows = warehouse.table(sink.table).scan().to_arrow().to_pylist()
    assert sorted((row["k"], row["v"] or "") for row in rows) == [(1, "a"), (2, "")]


def test_a_large_snapshot_is_written_by_tasks(engine: Engine, warehouse: Warehouse) -> None:
    sink = definition_of(warehouse.connection, partition_by=(Partition(transform="bucket[4]", column="k"),))
    writer = IcebergSink(sink, engine.spark, small_rows=1000)
    writer.progress()
    assert writer.write(Tick(10), numbers(20_000)).messages == 20_000
    assert warehouse.rows(sink.table) == [(i, f"v{i}") for i in range(20_000)]
    files = [task.file for task in warehouse.table(sink.table).scan().plan_files()]
    assert {file.partition[0] for file in files} == {0, 1, 2, 3}
    assert all(Path(file.file_path).name.startswith("mz_data") for file in files)
    gone = "SELECT CAST(id AS int) AS c0, concat('v', id) AS c1, -1L AS weight FROM range(0, 20000, 2)"
    writer.write(Tick(20), ZSet(arity=2, sql=gone, rows=10_000))
    assert warehouse.rows(sink.table) == [(i, f"v{i}") for i in range(1, 20_000, 2)]


def test_a_key_that_is_not_unique_stalls_the_sink(engine: Engine, warehouse: Warehouse) -> None:
    sink = definition_of(warehouse.connection, sole=True)
    writer = IcebergSink(sink, engine.spark)
    writer.progress()
    with pytest.raises(KeyViolation, match=r"\(k\) = \(1\)"):
        writer.write(Tick(10), zset((1, "a", 1), (1, "b", 1)))
    writer.progress()
    writer.write(Tick(10), zset((1, "a", 1), (2, "b", 1)))
    with pytest.raises(KeyViolation, match=r"\(k\) = \(2\)"):
        writer.write(Tick(20), zset((1, "a", -1), (1, "c", 1), (2, "d", 1)))
    writer.progress()
    writer.write(Tick(30), zset((1, "a", -1), (2, "b", -1), (2, "d", 1)))
    assert warehouse.rows(sink.table) == [(2, "d")]


def test_a_column_that_may_be_null_is_added_to_the_table(engine: Engine, warehouse: Warehouse) -> None:
    sink = definition_of(warehouse.connection)
    writer = IcebergSink(sink, engine.spark)
    writer.progress()
    writer.write(Tick(10), zset((1, "a", 1)))
    wider = replace(sink, schema=(*sink.schema, Column("n", INTEGER, True)))
    writer = IcebergSink(wider, engine.spark)
    assert writer.progress().tick == 10
    more = "SELECT 2 AS c0, 'b' AS c1, 3 AS c2, 1L AS weight"
    writer.write(Tick(20), ZSet(arity=3, sql=more, rows=1))
    assert warehouse.rows(sink.table) == [(1, "a", None), (2, "b", 3)]
    with pytest.raises(SqlError, match='has no column "m"'):
        IcebergSink(replace(sink, schema=(*sink.schema, Column("m", INTEGER, False))), engine.spark).progress()
    partitioned = replace(sink, partition_by=(Partition(transform="identity", column="k"),))
    with pytest.raises(SqlError, match="partitioned otherwise"):
        IcebergSink(partitioned, engine.spark).progress()


def test_a_table_tells_who_wrote_it(engine: Engine, warehouse: Warehouse) -> None:
    sink = definition_of(warehouse.connection)
    writer = IcebergSink(sink, engine.spark)
    writer.progress()
    writer.write(Tick(10), zset((1, "a", 1)))
    writer.write(Tick(20), zset((2, "b", 1)))
    assert warehouse.table(sink.table).properties["write.metadata.previous-versions-max"] == "100"
    other = replace(sink, id="u8")
    with pytest.raises(SqlError, match="written by another sink, u7"):
        IcebergSink(other, engine.spark).progress()
    assert IcebergSink(replace(other, continues=True), engine.spark).progress().tick is None
    table = warehouse.table(sink.table)
    first = table.metadata.snapshots[0].snapshot_id
    with table.manage_snapshots() as manage:
        manage.rollback_to_snapshot(first)
    assert IcebergSink(sink, engine.spark).progress().tick == 10  # and the engine knows that it has written more


def test_a_column_that_somebody_adds_is_null_and_one_that_is_dropped_stalls_the_sink(
    engine: Engine, warehouse: Warehouse
) -> None:
    sink = definition_of(warehouse.connection)
    writer = IcebergSink(sink, engine.spark)
    writer.progress()
    writer.write(Tick(10), zset((1, "a", 1)))
    with warehouse.table(sink.table).update_schema() as update:
        update.add_column("more", IntegerType())
    with pytest.raises(Fenced, match="modified by another writer"):
        writer.write(Tick(20), zset((2, "b", 1)))
    writer.progress()
    writer.write(Tick(20), zset((2, "b", 1)))
    assert warehouse.rows(sink.table) == [(1, "a", None), (2, "b", None)]
    with warehouse.table(sink.table).update_schema() as update:
        update.delete_column("v")
    with pytest.raises(Fenced):
        writer.write(Tick(30), zset((3, "c", 1)))
    with pytest.raises(SqlError, match=r'column "v" of table "n.* was dropped'):
        writer.progress()


def test_a_table_that_was_written_and_is_gone_is_not_made_again(engine: Engine, warehouse: Warehouse) -> None:
    sink = definition_of(warehouse.connection)
    writer = IcebergSink(sink, engine.spark)
    writer.progress()
    writer.write(Tick(10), zset((1, "a", 1)))
    warehouse.catalog.drop_table(f"n.{sink.table}")
    with pytest.raises(Unavailable):
        writer.write(Tick(20), zset((2, "b", 1)))
    with pytest.raises(SqlError, match="is gone") as refused:
        writer.progress()
    assert refused.value.sqlstate == "42P01"
    assert not warehouse.catalog.table_exists(f"n.{sink.table}")


def test_the_table_is_put_in_order_after_some_commits(engine: Engine, warehouse: Warehouse) -> None:
    sink = definition_of(warehouse.connection)
    writer = IcebergSink(sink, engine.spark, upkeep_after=10)
    writer.progress()
    writer.write(Tick(1), zset((1, "0", 1)))
    for n in range(1, 12):
        writer.write(Tick(n + 1), zset((1, str(n - 1), -1), (1, str(n), 1)))
    assert warehouse.rows(sink.table) == [(1, "11")]
    table = warehouse.table(sink.table)
    assert [s.summary.operation.value for s in table.metadata.snapshots].count("replace") == 1  # type: ignore[union-attr]
    assert len(list(table.scan().plan_files())) <= 3
    assert writer.progress().tick == 12


INTO = "INTO ICEBERG CATALOG CONNECTION lake (NAMESPACE 'n', TABLE 't') "
BY = "INTO ICEBERG CATALOG CONNECTION lake (NAMESPACE 'n', TABLE 't', PARTITION BY ({})) "
EVERY = " WITH (COMMIT INTERVAL '1s')"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (INTO + "KEY (a)" + EVERY, "MODE clause is required"),
        (INTO + "KEY (a) ENVELOPE UPSERT" + EVERY, "ENVELOPE is not supported for Iceberg sinks, use MODE instead"),
        (INTO + "MODE UPSERT" + EVERY, "upsert sinks must specify a key"),
        (INTO + "KEY (a) MODE APPEND" + EVERY, "KEY is not supported for MODE APPEND Iceberg sinks"),
        (INTO + "KEY (a) MODE UPSERT", "Iceberg sink must specify COMMIT INTERVAL"),
        (INTO + "KEY (a) MODE UPSERT WITH (COMMIT INTERVAL '10ms')", "COMMIT INTERVAL must be at least 1 second"),
        ("INTO ICEBERG CATALOG CONNECTION lake (TABLE 't') MODE APPEND" + EVERY, "Iceberg sink must specify NAMESPACE"),
        (INTO + "KEY (f) NOT ENFORCED MODE UPSERT" + EVERY, "cannot be used as an Iceberg equality delete key"),
        (INTO + "MODE APPEND" + EVERY, "conflicts with the system column that MODE APPEND adds"),
        (INTO.replace("lake", "no_lake") + "MODE APPEND" + EVERY, '"no_lake" is not an iceberg catalog connection'),
        (BY.format("day(a)") + "KEY (a) MODE UPSERT" + EVERY, "partitions by day of type int not yet supported"),
        (BY.format("bucket(0, a)") + "KEY (a) MODE UPSERT" + EVERY, "bucket needs a number greater than 0"),
        (BY.format("day(nobody)") + "KEY (a) MODE UPSERT" + EVERY, 'column "nobody" does not exist'),
    ],
)
def test_what_cannot_be_is_refused(text: str, error: str, engine: Engine, connection: str) -> None:
    engine.sql("CREATE TABLE IF NOT EXISTS no_ice (a int NOT NULL, f double precision, _mz_diff int, PRIMARY KEY (a))")
    engine.sql("CREATE CONNECTION IF NOT EXISTS no_lake TO AWS (ASSUME ROLE ARN 'arn:aws:iam::1:role/r')")
    with pytest.raises(TailraceError, match=error):
        engine.sql(f"CREATE SINK nothing FROM no_ice {text}")
