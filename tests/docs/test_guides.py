"""What the guides say, works: each one's SQL runs against real servers, and the target then holds what it says."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
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


def test_every_guide_is_followed_by_a_test() -> None:
    here = Path(__file__).read_text()
    with_sql = [guide for guide in GUIDES.glob("*.md") if BLOCK.search(guide.read_text())]
    assert all(f'"{guide.name}"' in here for guide in with_sql)
