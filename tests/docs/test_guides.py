"""What the guides say, works: each one's SQL runs against real servers, and the target then holds what it says."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.server import Scram
from tailrace.server.listener import Server
from tailrace.sql.parser import split
from tailrace.testing import postgres as pg
from tailrace.testing import redis as rd
from tailrace.testing import s3 as bucket
from tailrace.testing.broker import Broker
from tailrace.testing.postgres import Postgres
from tailrace.testing.redis import Redis
from tailrace.testing.s3 import S3
from tailrace.testing.topics import create_topic, produce, read_committed

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
BLOCK = re.compile(r"```sql\n(.*?)```", re.DOTALL)


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark) as opened:
        yield opened


def follow(engine: Engine, guide: str, addresses: dict[str, str]) -> None:
    """Runs the guide with the addresses and secrets of the test's servers in place of the reader's."""
    text = "\n".join(BLOCK.findall((GUIDES / guide).read_text()))
    for written, real in addresses.items():
        assert written in text, f"{guide} does not say {written}"
        text = text.replace(written, real)
    engine.sql(text)
    engine.settle()


def test_postgres(engine: Engine, postgres: Postgres) -> None:
    follow(engine, "postgres.md", {"'secret'": f"'{pg.PASSWORD}'", "PORT 5432": f"PORT {postgres.port}"})
    with postgres.connect() as connection:
        found = connection.execute("SELECT * FROM totals ORDER BY item").fetchall()
        connection.execute("DROP TABLE totals")
    assert found == [("nut", 1, 1), ("tea", 2, 12)]


def test_kafka(engine: Engine, broker: Broker) -> None:
    topic = f"guide_{uuid.uuid4().hex[:8]}"
    follow(engine, "kafka.md", {"localhost:9092": broker.bootstrap, "'totals'": f"'{topic}'"})
    told = [json.loads(each.value or b"") for each in read_committed(broker.bootstrap, topic)]
    assert sorted((row["item"], row["total"]) for row in told[:2]) == [("nut", 1), ("tea", 5)]
    assert told[2:] == [{"item": "tea", "total": 1200}]


def test_flink(engine: Engine, broker: Broker) -> None:
    produce(broker.bootstrap, create_topic(broker.bootstrap, "guide_orders"), [(None, '{"item": "tea", "amount": 12}')])
    seen = ('{"page": "/", "visited": "2024-07-03 12:00:59"}', '{"page": "/", "visited": "2024-07-03 12:01:05"}')
    produce(broker.bootstrap, create_topic(broker.bootstrap, "guide_visits"), [(None, each) for each in seen])
    addresses = {"localhost:9092": broker.bootstrap, "'orders'": "'guide_orders'", "'visits'": "'guide_visits'"}
    follow(engine, "flink.md", addresses)
    answer = engine.sql("SELECT * FROM totals")
    assert answer is not None
    assert answer.to_pylist() == [{"item": "tea", "total": 12}]
    answer = engine.sql("SELECT page, visits FROM visits_per_minute")
    assert answer is not None
    assert answer.to_pylist() == [{"page": "/", "visits": 1}]
    told = read_committed(broker.bootstrap, "totals_by_item")
    assert [(each.key, each.value) for each in told] == [(b'{"item":"tea"}', b'{"item":"tea","total":12}')]


@pytest.mark.slow
def test_sources(engine: Engine, broker: Broker) -> None:
    orders, prices = (create_topic(broker.bootstrap, f"guide_of_sources_{name}") for name in ("orders", "prices"))
    sent = ('{"id": 1, "at": "2024-07-03 12:00:05"}', '{"id": 2, "at": "2024-07-03 12:50:00"}', "{")
    produce(broker.bootstrap, orders, [("tea", each) for each in sent])
    known = ('{"price": 3, "since": "2024-07-03 12:00:00"}', '{"price": 4, "since": "2024-07-03 12:30:00"}')
    produce(broker.bootstrap, prices, [("tea", each) for each in known])
    addresses = {"localhost:9092": broker.bootstrap, "'orders'": f"'{orders}'", "'prices'": f"'{prices}'"}
    follow(engine, "sources.md", addresses)

    def answers(query: str) -> list[tuple[Any, ...]]:
        answer = engine.sql(query)
        assert answer is not None
        return [tuple(row.values()) for row in answer.to_pylist()]

    assert answers("SELECT * FROM ordered_now ORDER BY id") == [(1, 4), (2, 4)]
    assert answers("SELECT * FROM ordered_then ORDER BY id") == [(1, 3), (2, 4)]
    assert answers("SELECT * FROM soon ORDER BY id, price") == [(1, 3), (2, 3), (2, 4)]
    assert answers("SELECT item, orders FROM sessions") == [("tea", 1), ("tea", 1)]
    assert [row[:3] for row in answers("SELECT * FROM broken_orders")] == [(0, 2, b"{")]
    assert answers('SELECT partition::text, "offset" FROM lines_progress') == [("[0,0]", 3)]


def test_redis(engine: Engine, redis: Redis) -> None:
    follow(engine, "redis.md", {"'secret'": f"'{rd.PASSWORD}'", "PORT 6379": f"PORT {redis.port}"})
    with redis.connect() as client:
        assert json.loads(client.get("totals:ann:tea")) == {"customer": "ann", "item": "tea", "amount": 12}
        assert len(client.keys("totals:*")) == 2
        client.flushdb()


@pytest.fixture
def storage(s3: S3) -> dict[str, str]:
    """A bucket that only this test uses, and what stands for it in the guides."""
    name = s3.make_bucket(f"guide{uuid.uuid4().hex[:8]}")
    return {"'secret'": f"'{bucket.SECRET_KEY}'", "'key'": f"'{bucket.ACCESS_KEY}'", "s3://bucket": f"s3://{name}"}


def files(s3: S3, addresses: dict[str, str], prefix: str) -> list[str]:
    name = addresses["s3://bucket"].removeprefix("s3://")
    return [str(path) for key, path in s3.objects(name).items() if key.startswith(prefix)]


def test_s3(engine: Engine, s3: S3, storage: dict[str, str]) -> None:
    follow(engine, "s3.md", {**storage, "REGION =": f"ENDPOINT = '{s3.endpoint}', REGION ="})
    orders = duckdb.sql(f"SELECT * FROM read_parquet({files(s3, storage, 'orders/')}) ORDER BY ALL").fetchall()
    assert orders == [("nut", None), ("tea", 5), ("tea", 7)]
    totals = duckdb.sql(f"SELECT * FROM read_csv({files(s3, storage, 'totals/')}, header=false) ORDER BY ALL")
    assert totals.fetchall() == [("nut", None), ("tea", 12)]


def test_s3_compatible(engine: Engine, s3: S3, storage: dict[str, str]) -> None:
    follow(engine, "s3-compatible.md", {**storage, "https://storage.googleapis.com": s3.endpoint})
    orders = duckdb.sql(f"SELECT * FROM read_csv({files(s3, storage, 'orders/')}, header=false) ORDER BY ALL")
    assert orders.fetchall() == [("nut", 1), ("tea", 5)]


def test_snowflake(engine: Engine, s3: S3, storage: dict[str, str]) -> None:
    follow(engine, "snowflake.md", {**storage, "REGION =": f"ENDPOINT = '{s3.endpoint}', REGION ="})
    totals = duckdb.sql(f"SELECT * FROM read_parquet({files(s3, storage, 'snowflake/')}) ORDER BY ALL").fetchall()
    assert totals == [("nut", 1), ("tea", 5)]


def test_iceberg(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "warehouse").mkdir()
    url, warehouse = f"sqlite:///{tmp_path}/catalog.db", f"file://{tmp_path}/warehouse"
    catalog = SqlCatalog("default", uri=url, warehouse=warehouse)
    catalog.create_namespace("shop")
    follow(engine, "iceberg.md", {"sqlite:////data/catalog.db": url, "file:///data/warehouse": warehouse})
    rows = catalog.load_table("shop.totals").scan().to_arrow().to_pylist()
    assert sorted(rows, key=str) == [{"item": "nut", "total": 1}, {"item": "tea", "total": 12}]


def test_census(engine: Engine) -> None:
    """What such a tool does: it lists schemas, tables and columns, and reads a view in pieces."""
    follow(engine, "census.md", {"'secret'": "'census-password'"})
    server = Server(host="127.0.0.1", port=0, open_session=engine.open_session, authenticator=Scram(engine.verifier_of))
    server.start()
    try:
        dsn = f"host=127.0.0.1 port={server.port} user=census password=census-password dbname=materialize"
        with psycopg.connect(dsn) as tool:
            tables = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema = 'public'"
            assert ("public", "customers") in tool.execute(tables).fetchall()
            columns = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s ORDER BY 1"
            assert tool.execute(columns, ("customers",)).fetchall() == [
                ("external_id", "integer"),
                ("orders", "bigint"),
                ("spent", "bigint"),
            ]
            with tool.cursor(name="pieces") as cursor:
                cursor.itersize = 1
                cursor.execute("SELECT external_id, orders, spent FROM customers")
                assert sorted(cursor) == [(1, 2, 12), (2, 1, 3)]
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                tool.execute("SELECT * FROM orders")
    finally:
        server.stop(5.0)


def test_troubleshooting(engine: Engine, postgres: Postgres) -> None:
    create, repair, progress = BLOCK.findall((GUIDES / "troubleshooting.md").read_text())
    create = create.replace("'secret'", f"'{pg.PASSWORD}'").replace("PORT 5432", f"PORT {postgres.port}")
    *statements, status = [statement.text for statement in split(create)]
    engine.sql(";".join(statements))
    [stalled] = until(engine, status, lambda rows: rows[0]["status"] == "stalled")
    assert '"materialize.public.orders_out" has more than one row of key (item) = (tea)' in stalled["error"]
    engine.sql(repair)
    until(engine, status, lambda rows: rows[0]["status"] == "running")
    [told] = until(engine, progress, lambda rows: rows[0]["messages_committed"] == 2)
    assert told["name"] == "orders_out"
    with postgres.connect() as connection:
        found = connection.execute("SELECT * FROM guide_orders ORDER BY item").fetchall()
        connection.execute("DROP TABLE guide_orders")
    assert found == [("nut", 1), ("tea", 7)]


def until(engine: Engine, query: str, holds: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    """The rows of a query, asked again and again until they are as wanted."""
    deadline = time.monotonic() + 60
    while True:
        answer = engine.sql(query)
        assert answer is not None
        rows: list[dict[str, Any]] = answer.to_pylist()
        if holds(rows):
            return rows
        assert time.monotonic() < deadline, rows
        time.sleep(0.1)


def test_every_guide_is_followed_by_a_test() -> None:
    here = Path(__file__).read_text()
    with_sql = [guide for guide in GUIDES.glob("*.md") if BLOCK.search(guide.read_text())]
    assert all(f'"{guide.name}"' in here for guide in with_sql)
