"""Sinks through a real REST catalog: it is restarted, its answers are lost, and Amazon's wants signatures."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.errors import Fenced, SqlError, Unavailable
from tailrace.secret import Secret
from tailrace.sinks.iceberg import IcebergSink
from tailrace.sinks.iceberg_connection import IcebergConnection
from tailrace.sinks.iceberg_definition import Defences
from tailrace.sinks.s3_connection import S3Connection
from tailrace.testing.iceberg_rest import IcebergRest
from tailrace.testing.proxy import Proxy
from tailrace.ticks.loop import Pace
from tailrace.types.core import Tick
from targets.iceberg_tables import definition_of, fresh, rows_of, until
from targets.postgres_sink_of import zset

T1, T2, T3 = Tick(10), Tick(20), Tick(30)
CHANGE = ((1, "a", -1), (2, "b", 1))


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02, retry=0.2)) as opened:
        yield opened


@pytest.fixture(scope="module")
def rest(iceberg_rest: IcebergRest) -> IcebergRest:
    iceberg_rest.catalog.create_namespace_if_not_exists("n")
    return iceberg_rest


def connection_to(port: int) -> IcebergConnection:
    return IcebergConnection(name="lake", catalog_type="rest", url=f"http://127.0.0.1:{port}")


def test_a_table_of_a_rest_catalog_is_the_view_also_after_the_catalog_was_killed(
    engine: Engine, rest: IcebergRest
) -> None:
    name = fresh("r")
    engine.sql(
        f"CREATE CONNECTION lake TO ICEBERG CATALOG (CATALOG TYPE = 'rest', URL = '{rest.url}');"
        f"CREATE TABLE {name} (item text NOT NULL, n int, PRIMARY KEY (item)); INSERT INTO {name} VALUES ('a', 1);"
        f"CREATE SINK {name}_out FROM {name} INTO ICEBERG CATALOG CONNECTION lake (NAMESPACE 'n', TABLE '{name}')"
        " KEY (item) MODE UPSERT WITH (COMMIT INTERVAL '1s')"
    )
    until(lambda: rest.catalog.table_exists(f"n.{name}") and rows_of(rest.catalog, name) == [("a", 1)])
    rest.kill()
    engine.sql(f"UPDATE {name} SET n = 2; INSERT INTO {name} VALUES ('b', 1)")
    status = "SELECT status, error FROM mz_internal.mz_sink_statuses"
    until(lambda: engine.sql(status).to_pylist()[0]["status"] == "stalled")
    with pytest.raises(Unavailable, match="catalog connection errored"):
        engine.sql("VALIDATE CONNECTION lake")
    with pytest.raises(Unavailable, match="ICEBERG sink validation: catalog connection errored"):
        engine.sql(
            f"CREATE SINK late FROM {name} INTO ICEBERG CATALOG CONNECTION lake (NAMESPACE 'n', TABLE 'late')"
            " KEY (item) MODE UPSERT WITH (COMMIT INTERVAL '1s')"
        )
    rest.start()
    until(lambda: rows_of(rest.catalog, name) == [("a", 2), ("b", 1)])
    engine.sql(f"DROP SINK {name}_out")


def lose_an_answer(rest: IcebergRest, spark: SparkSession, defences: Defences) -> list[tuple[int, str]]:
    """The catalog commits, the answer is lost, the sink asks and goes on from there."""
    with Proxy(rest.port) as proxy:
        sink = definition_of(connection_to(proxy.port))
        writer = IcebergSink(sink, spark, defences=defences)
        writer.progress()
        writer.write(T1, zset((1, "a", 1)))
        proxy.lose_answer_to(f"POST /v1/namespaces/n/tables/{sink.table}".encode())
        with pytest.raises(Unavailable):
            writer.write(T2, zset(*CHANGE))
        assert proxy.lost == 1
        if writer.progress().tick != T2:
            writer.write(T2, zset(*CHANGE))
        writer.write(T3, zset((3, "c", 1)))
    assert len(rest.catalog.load_table(f"n.{sink.table}").metadata.snapshots) == 3
    return rows_of(rest.catalog, sink.table)


def test_a_commit_whose_answer_was_lost_is_not_repeated(rest: IcebergRest, spark: SparkSession) -> None:
    assert lose_an_answer(rest, spark, Defences()) == [(2, "b"), (3, "c")]


def test_without_the_tick_in_the_summary_nobody_knows_what_a_lost_answer_said(
    rest: IcebergRest, spark: SparkSession
) -> None:
    with pytest.raises(SqlError, match="inconsistent state"):
        lose_an_answer(rest, spark, Defences(progress_record=False))


def test_a_connection_that_is_reset_at_the_commit_has_committed_nothing(
    rest: IcebergRest, spark: SparkSession
) -> None:
    with Proxy(rest.port) as proxy:
        sink = definition_of(connection_to(proxy.port))
        writer = IcebergSink(sink, spark)
        writer.progress()
        writer.write(T1, zset((1, "a", 1)))
        proxy.reset_at(f"POST /v1/namespaces/n/tables/{sink.table}".encode())
        with pytest.raises(Unavailable):
            writer.write(T2, zset(*CHANGE))
        assert proxy.lost == 1
        assert writer.progress().tick == T1
        writer.write(T2, zset(*CHANGE))
    assert rows_of(rest.catalog, sink.table) == [(2, "b")]


def come_late(rest: IcebergRest, spark: SparkSession, defences: Defences) -> list[tuple[int, str]]:
    """Two writers have read the same table; each writes the same tick."""
    sink = definition_of(connection_to(rest.port))
    older, newer = (IcebergSink(sink, spark, defences=defences) for _ in range(2))
    older.progress()
    newer.progress()
    newer.write(T1, zset((1, "a", 1)))
    with contextlib.suppress(Fenced):
        older.write(T1, zset((1, "a", 1)))
    return rows_of(rest.catalog, sink.table)


def test_a_writer_that_comes_too_late_is_refused(rest: IcebergRest, spark: SparkSession) -> None:
    assert come_late(rest, spark, Defences()) == [(1, "a")]


def test_without_the_condition_it_writes_the_tick_again(rest: IcebergRest, spark: SparkSession) -> None:
    assert come_late(rest, spark, Defences(conditional_commit=False)) == [(1, "a"), (1, "a")]


def test_requests_to_s3_tables_are_signed(rest: IcebergRest) -> None:
    """The catalog does not ask for it; that signatures are good, tests/unit/sinks/test_aws_signing.py has checked."""
    files = S3Connection(name="a", access_key_id=Secret("AKID"), secret_access_key=Secret("hidden"))
    with Proxy(rest.port) as proxy:
        catalog = IcebergConnection(
            name="lake",
            catalog_type="s3tablesrest",
            url=f"http://127.0.0.1:{proxy.port}",
            warehouse="arn:aws:s3tables:eu-west-3:111122223333:bucket/lake",
            files=files,
        ).open()
        assert ("n",) in catalog.list_namespaces()
        asked = [each.decode() for each in proxy.asked]
    signature = r"AWS4-HMAC-SHA256 Credential=AKID/\d{8}/eu-west-3/s3tables/aws4_request, SignedHeaders="
    assert len(asked) == 2
    assert all(re.search(signature, each) and "hidden" not in each for each in asked)


def test_a_bucket_elsewhere_is_refused(engine: Engine) -> None:
    engine.sql("CREATE SECRET nowhere AS 'x'")
    engine.sql("CREATE CONNECTION us TO AWS (ACCESS KEY ID 'k', SECRET ACCESS KEY SECRET nowhere, REGION 'us-east-1')")
    with pytest.raises(SqlError, match="S3 Tables connection region mismatch") as refused:
        engine.sql(
            "CREATE CONNECTION tables TO ICEBERG CATALOG (CATALOG TYPE 's3tablesrest', AWS CONNECTION us,"
            " URL 'https://s3tables.eu-west-3.amazonaws.com/iceberg',"
            " WAREHOUSE 'arn:aws:s3tables:eu-west-3:111122223333:bucket/lake')"
        )
    assert "eu-west-3" in (refused.value.detail or "")
